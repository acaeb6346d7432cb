"""The Lambda Runtime API (2018-06-01) of one container: hands out events, takes back results."""

import json
import queue
import time
import uuid
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from local.loopback import HOST, BadBody, BodyTooLarge, LoopbackHandler, LoopbackServer
from local.outcome import Failure, Outcome, Success, reported

_PREFIX = "/2018-06-01/runtime/"
_NEXT = f"{_PREFIX}invocation/next"
_INIT_ERROR = f"{_PREFIX}init/error"
_JSON = ("Content-Type", "application/json")
# Lambda's own limit for a synchronous response.
_RESPONSE_LIMIT = 6 * 1024 * 1024 + 1024


@dataclass(frozen=True)
class Invocation:
    """One event on its way through the function."""

    event: bytes
    deadline_ms: int
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    outcome: "Future[Outcome]" = field(default_factory=Future)

    @property
    def trace_id(self) -> str:
        spare = uuid.uuid4().hex
        return f"Root=1-{int(time.time()):08x}-{spare[:24]};Parent={spare[:16]};Sampled=0"


class RuntimeApi:
    """Serves one process of one function; `started` tells when it first asked for work."""

    def __init__(self, function_arn: str) -> None:
        self.function_arn = function_arn
        self.started: Future[Failure | None] = Future()
        self._inbox: queue.SimpleQueue[Invocation | None] = queue.SimpleQueue()
        self._running: dict[str, Invocation] = {}
        self._server = LoopbackServer(0, partial(_Handler, self))
        self._server.start()

    @property
    def address(self) -> str:
        return f"{HOST}:{self._server.port}"

    def submit(self, event: bytes, timeout_seconds: float) -> Invocation:
        """Queue one event; its `outcome` resolves when the function answers or is given up."""
        invocation = Invocation(event, int((time.time() + timeout_seconds) * 1000))
        self._running[invocation.request_id] = invocation
        self._inbox.put(invocation)
        return invocation

    def give_up(self, failure: Failure) -> None:
        """The process is gone: nobody will answer what is still open."""
        _settle(self.started, failure)
        for request_id in list(self._running):
            self.settle(request_id, failure)

    def close(self) -> None:
        self._inbox.put(None)
        self._server.stop()

    def next_invocation(self) -> Invocation | None:
        """Wait for the next event; None when there will be none."""
        _settle(self.started, None)
        return self._inbox.get()

    def settle(self, request_id: str, outcome: Outcome) -> bool:
        """Whether this invocation was still open."""
        invocation = self._running.pop(request_id, None)
        return invocation is not None and _settle(invocation.outcome, outcome)


class _Handler(LoopbackHandler):
    def __init__(self, api: RuntimeApi, *arguments: Any) -> None:
        self._api = api
        super().__init__(*arguments)

    def do_GET(self) -> None:  # noqa: N802 (http.server's name)
        if self.path != _NEXT:
            self._refuse(404, "UnknownOperation")
            return
        invocation = self._api.next_invocation()
        if invocation is None:
            self.close_connection = True
            return
        self.answer(
            200,
            invocation.event,
            (
                ("Lambda-Runtime-Aws-Request-Id", invocation.request_id),
                ("Lambda-Runtime-Deadline-Ms", str(invocation.deadline_ms)),
                ("Lambda-Runtime-Invoked-Function-Arn", self._api.function_arn),
                ("Lambda-Runtime-Trace-Id", invocation.trace_id),
                _JSON,
            ),
        )

    def do_POST(self) -> None:  # noqa: N802 (http.server's name)
        try:
            body = self.read_body(_RESPONSE_LIMIT)
        except BadBody:
            self._refuse(400, "InvalidRequestBody")
            return
        except BodyTooLarge:
            body = None
        if self.path == _INIT_ERROR:
            _settle(self._api.started, reported("init", body or b"", self._error_type()))
            self._accept()
            return
        request_id, _, kind = self.path.removeprefix(f"{_PREFIX}invocation/").partition("/")
        outcome = self._outcome(kind, body)
        # A body over the limit is accepted all the same: at a refusal the client ends its process.
        if outcome is None:
            self._refuse(404, "UnknownOperation")
        elif not self._api.settle(request_id, outcome):
            self._refuse(400, "InvalidRequestID")
        else:
            self._accept()

    def _outcome(self, kind: str, body: bytes | None) -> Outcome | None:
        if body is None:
            message = "Response payload size exceeded maximum allowed payload size (6291556 bytes)."
            return Failure("failed", "Function.ResponseSizeTooLarge", message)
        if kind == "response":
            return Success(body)
        if kind == "error":
            return reported("failed", body, self._error_type())
        return None

    def _error_type(self) -> str:
        return str(self.headers.get("Lambda-Runtime-Function-Error-Type", ""))

    def _accept(self) -> None:
        self.answer(202, b'{"status":"OK"}', (_JSON,))

    def _refuse(self, status: int, error_type: str) -> None:
        error = {"errorMessage": error_type, "errorType": error_type}
        self.answer(status, json.dumps(error).encode(), (_JSON,))


def _settle(future: "Future[Any]", value: object) -> bool:
    """Whether the future was still open: a result, a time-out and a death may race."""
    try:
        future.set_result(value)
    except InvalidStateError:
        return False
    return True
