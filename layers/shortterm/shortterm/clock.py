"""Wall time and its units: everything that a container or a row tells of time is in ms."""

import time

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def now() -> int:
    """Return the wall time in ms since the epoch."""
    return time.time_ns() // 1_000_000
