"""What the API told the bots, turn by turn, and how long it took."""

from collections import Counter
from threading import Lock
from typing import Any, NamedTuple

# The gateway's own word for a function that did not answer.
NO_ANSWER = 502


class Latency(NamedTuple):
    """One answered request: how long it took, and which fault lasted when it was sent."""

    ms: float
    fault: str | None


class Answers:
    """Collects what several bots are told; `deferred` counts the turns whose work has to wait."""

    def __init__(self) -> None:
        self.captured: set[str] = set()
        self.queued: set[str] = set()
        self.skipped: set[str] = set()
        self.failed: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self.deferred = 0
        self.latencies: list[Latency] = []
        self._lock = Lock()

    @property
    def broken(self) -> int:
        """How many requests had no answer of the function: their container was killed."""
        with self._lock:
            return self.statuses[NO_ANSWER]

    def add(
        self, turn_id: str, status: int, answer: dict[str, Any], latency: Latency | None
    ) -> None:
        """Note the answer to one request, and what it took if that counts."""
        with self._lock:
            self.statuses[status] += 1
            if latency:
                self.latencies.append(latency)
            if status != 202:
                return
            said = {"captured": self.captured, "skipped": self.skipped}
            said.get(str(answer.get("status")), self.failed).add(turn_id)
            if answer.get("queued") is True:
                self.queued.add(turn_id)
            self.deferred += answer.get("queued") is False
