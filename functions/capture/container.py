"""The container that answers, and how much it can know."""

from typing import Literal

from msgspec import Struct

from shortterm.wire import Millis

Knowledge = Literal["warm", "cold", "stale"]


class MemoryState(Struct, frozen=True):
    """How much the answer can know: the container remembers from `since` (ms since the epoch) on.

    `cold` if this container holds nothing of the owner, `stale` if a row that is answered saw a
    later turn than this container.
    """

    container: str
    since: Millis
    state: Knowledge


class Container(Struct, frozen=True):
    """The container that answers: its id, and since when (ms) it remembers."""

    id: str
    since: int

    def knowing(self, state: Knowledge) -> MemoryState:
        """Return how much it can know, as it is answered."""
        return MemoryState(self.id, self.since, state)
