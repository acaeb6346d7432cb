"""Runs an act on a thread of its own, so that its caller need not wait longer than it can.

What a database driver waits for (a name, a handshake, an answer that never comes) has time-outs of
seconds, and some waits have none.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Busy(Exception):
    """An act from before is still not done."""


class Aside:
    """One act at a time; the thread starts with the first."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aside")
        self._last: Future[Any] | None = None

    def run(self, act: Callable[[], T], within_s: float) -> T:
        """Return `act()`, or raise what it raises.

        Raises TimeoutError after `within_s` seconds: the act goes on, and what it returns is
        dropped. Raises Busy while it does.
        """
        if self._last is not None and not self._last.done():
            raise Busy
        outcome = self._thread.submit(act)
        self._last = outcome
        return outcome.result(within_s)
