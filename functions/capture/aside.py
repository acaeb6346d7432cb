"""Runs an act on a thread of its own, so that its caller need not wait longer than it can.

What a database driver waits for (a name, a handshake, an answer that never comes) has time-outs of
seconds, and some waits have none.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")


class Aside:
    """One act at a time; the thread starts with the first."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="aside")
        self._last: Future[Any] | None = None

    def run(self, act: Callable[[], T], within_s: float) -> T:
        """Return `act()`, or raise what it raises.

        Raises TimeoutError after `within_s` seconds: the act goes on, and what it returns is
        dropped. If by then one from before still went on, the act has not begun and never will.
        """
        ends = time.monotonic() + within_s
        # A frozen container wakes with an act that is about to end: what it waits for is long gone.
        if self._last is not None and wait([self._last], within_s).not_done:
            raise TimeoutError
        outcome = self._thread.submit(act)
        self._last = outcome
        return outcome.result(max(0.0, ends - time.monotonic()))
