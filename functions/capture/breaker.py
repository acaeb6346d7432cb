"""Leaves a service alone for a while after it failed, so that not every request waits for it."""

from collections.abc import Callable


class Breaker:
    """Open for `rest_ms` after each failure, unless a success comes first.

    By the wall clock: a frozen container's monotonic clock stands still. `clock` returns ms.
    Failures and successes may be told from another thread than asks.
    """

    def __init__(self, rest_ms: int, clock: Callable[[], int]) -> None:
        self._rest_ms = rest_ms
        self._clock = clock
        self._failed_at: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the service is to be left alone."""
        # Read once: another thread may tell of a success meanwhile.
        failed_at = self._failed_at
        if failed_at is None:
            return False
        # A clock that was set back must not keep it open for longer.
        return 0 <= self._clock() - failed_at < self._rest_ms

    def failed(self) -> None:
        """Leave the service alone from now on."""
        self._failed_at = self._clock()

    def succeeded(self) -> None:
        """Trust the service again."""
        self._failed_at = None
