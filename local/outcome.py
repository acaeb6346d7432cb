"""How an invocation ended, as Lambda's Invoke API tells it."""

import json
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Success:
    """The handler returned: `payload` is its JSON."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """The handler raised, took too long, or never came to run."""

    status: Literal["failed", "timed-out", "init"]
    type: str
    message: str
    stack: tuple[str, ...] = ()

    @property
    def payload(self) -> bytes:
        error = {"errorMessage": self.message, "errorType": self.type}
        return json.dumps(error | ({"stackTrace": self.stack} if self.stack else {})).encode()

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


Outcome = Success | Failure


def reported(status: Literal["failed", "init"], body: bytes, error_type: str) -> Failure:
    """The failure that a function reports about itself, in whatever shape its runtime sends."""
    try:
        error = json.loads(body)
    except ValueError:
        error = None
    if not isinstance(error, dict):
        error = {"errorMessage": body.decode(errors="replace")}
    return Failure(
        status,
        str(error.get("errorType") or error_type or "Runtime.Unknown"),
        str(error.get("errorMessage") or ""),
        tuple(str(line) for line in error.get("stackTrace") or ()),
    )


def timed_out(request_id: str, seconds: float) -> Failure:
    message = f"RequestId: {request_id} Error: Task timed out after {seconds:.2f} seconds"
    return Failure("timed-out", "Sandbox.Timedout", message)


def exited(status: Literal["failed", "init"], returncode: int, last_words: str = "") -> Failure:
    """The process ended by itself; `last_words` is the last line that it wrote, if any."""
    how = f"signal: {-returncode}" if returncode < 0 else f"exit status {returncode}"
    message = f"Runtime exited with error: {how}" + (f" ({last_words})" if last_words else "")
    return Failure(status, "Runtime.ExitError", message)
