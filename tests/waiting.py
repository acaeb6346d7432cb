"""Waiting for what another process does: as long as it takes, and never for ever."""

import time
from collections.abc import Callable

DEADLINE_S = 30


def until(condition: Callable[[], bool], seen: Callable[[], object] = lambda: None) -> None:
    """Return when `condition` holds; fails with what was `seen` last after the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {DEADLINE_S} s: {seen()}"
        time.sleep(0.02)
