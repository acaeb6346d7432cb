"""How fast the bots go: as fast as they can, but no fault may run out of turns to meet."""

import time
from threading import Condition

# While a fault lasts, what is left of its share of the turns is spent over about this long, so
# ever more slowly, down to a few turns a second.
_SPREAD_S = 3.0
_SLOWEST_S = 0.2


class Pace:
    """Counts the turns that are begun, and holds the bots back while a fault lasts."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self.begun = 0
        self._changed = Condition()
        self._share_ends = 0
        self._next_at = 0.0
        self._ended = False

    def begin_turn(self) -> None:
        """Wait until the next turn may begin."""
        with self._changed:
            while self.fault is not None and (wait := self._next_at - time.monotonic()) > 0:
                self._changed.wait(wait)
            self.begun += 1
            left = max(1, self._share_ends - self.begun)
            self._next_at = time.monotonic() + min(_SPREAD_S / left, _SLOWEST_S)
            self._changed.notify_all()

    def end(self) -> None:
        """There are no more turns."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, turns: int) -> None:
        """Wait until so many turns are begun, or all that there are."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self.begun >= turns)

    def enter(self, fault: str, share_ends: int) -> None:
        """A fault begins, and its share of the turns ends with that many."""
        with self._changed:
            self.fault, self._share_ends = fault, share_ends

    def leave(self) -> None:
        """The fault is over."""
        with self._changed:
            self.fault = None
            self._changed.notify_all()
