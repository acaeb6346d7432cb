"""What became of the requests of a run."""

from collections import Counter
from dataclasses import dataclass, field

from fuzz.contract import HANG_S
from fuzz.shot import Shot
from local.gateway import Answer

# As many of a kind are shown; all are counted.
_SHOWN = 3


@dataclass
class Tally:
    """Counts answers; of each kind of complaint it keeps the first ones in words.

    `held` is the most that a container said it held (bytes).
    """

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    slow: int = 0
    held: int = 0
    complaints: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)
    turns: set[str] = field(default_factory=set)

    def add(self, shot: Shot, answer: Answer, seconds: float, wrong: list[str]) -> None:
        """Count the answer to `shot`."""
        self.requests += 1
        self.statuses[answer.status] += 1
        self.sources[shot.source] += 1
        self.slowest = max(self.slowest, (seconds, f"{shot.source}, {shot.method}"))
        self.slow += seconds > HANG_S
        for it in wrong:
            self.complain(it, _head(shot))

    def add_unanswered(self, shot: Shot, why: str) -> None:
        """Count a request that was not answered."""
        self.requests += 1
        self.complain(f"no answer, {why}", _head(shot))

    def complain(self, kind: str, where: str = "") -> None:
        """Count something that must not be."""
        self.complaints[kind] += 1
        if self.complaints[kind] <= _SHOWN:
            self.shown.append(f"{kind}: {where}" if where else kind)

    def merge(self, other: "Tally") -> None:
        """Count what `other` counted, too."""
        self.requests += other.requests
        self.statuses += other.statuses
        self.sources += other.sources
        self.slowest = max(self.slowest, other.slowest)
        self.slow += other.slow
        self.held = max(self.held, other.held)
        self.complaints += other.complaints
        self.shown += other.shown
        self.turns |= other.turns

    def lines(self) -> list[str]:
        """Return the account, in lines."""
        statuses = ", ".join(
            f"{status}: {count:,}" for status, count in sorted(self.statuses.items())
        )
        sources = ", ".join(f"{it}: {count:,}" for it, count in sorted(self.sources.items()))
        seconds, which = self.slowest
        return [
            f"requests  {self.requests:,}",
            f"statuses  {statuses}",
            f"kinds     {sources}",
            f"slowest   {1000 * seconds:.0f} ms ({which}); over a second, once: {self.slow}",
        ]


def _head(shot: Shot) -> str:
    body = shot.body if shot.encoded is None else shot.encoded
    sent = f"{body[:300]!r}{'…' if len(body) > 300 else ''}"
    return f"{shot.method} {shot.target[:300]} {sent} ({shot.source})"
