"""Leaves a service alone for a while after it failed, so that not every request waits for it."""

from collections.abc import Callable
from typing import NamedTuple


class _Failures(NamedTuple):
    """How many there were in a row, and when (ms) the last one."""

    in_a_row: int = 0
    last_at: int = 0


class Breaker:
    """Open for `rest_ms` after `patience` failures in a row, unless a success comes first.

    With each further failure it rests twice as long, up to `longest_rest_ms`. By the wall clock: a
    frozen container's monotonic clock stands still. `clock` returns ms. Failures and successes may
    be told from another thread than asks.
    """

    def __init__(
        self,
        rest_ms: int,
        clock: Callable[[], int],
        *,
        patience: int = 1,
        longest_rest_ms: int | None = None,
    ) -> None:
        self._rest_ms = rest_ms
        self._clock = clock
        self._patience = patience
        self._longest_rest_ms = longest_rest_ms or rest_ms
        self._failures = _Failures()

    @property
    def is_open(self) -> bool:
        """Whether the service is to be left alone."""
        # Read once: another thread may tell of a success meanwhile.
        failures = self._failures
        surplus = failures.in_a_row - self._patience
        if surplus < 0:
            return False
        # No larger than any rest, and a number that stays small in a long outage.
        rest_ms = min(self._rest_ms << min(surplus, 16), self._longest_rest_ms)
        # A clock that was set back must not keep it open for longer.
        return 0 <= self._clock() - failures.last_at < rest_ms

    def failed(self) -> None:
        """Note another failure in a row."""
        self._failures = _Failures(self._failures.in_a_row + 1, self._clock())

    def succeeded(self) -> None:
        """Trust the service again."""
        self._failures = _Failures()
