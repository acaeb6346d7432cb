"""What waited in capture containers that are gone, by the last word of each in its log. Pure."""

import re
from collections.abc import Sequence

# A container's first flush of metrics, and only that, counts its cold start.
_COLD_START = re.compile(r'"ColdStarts": ?\[?1')
_WAITING = re.compile(r'"WorkWaiting": ?\[?(\d+)')


def waiting(log: str) -> list[int]:
    """Return how much work last waited in each container of a slot, by the slot's log.

    The oldest container first; the last one may still live.
    """
    lives: list[int] = []
    for line in log.splitlines():
        if _COLD_START.search(line):
            lives.append(0)
        for count in _WAITING.findall(line):
            if lives:
                lives[-1] = int(count)
    return lives


def lost(slots: Sequence[tuple[str, bool]]) -> list[int]:
    """Return what last waited in each container that is gone.

    `slots` has the log of each slot, and whether its last container lives.
    """
    return [
        count for log, lives in slots for count in (waiting(log)[:-1] if lives else waiting(log))
    ]
