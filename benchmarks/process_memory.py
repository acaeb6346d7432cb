"""What this process takes of the machine's memory, in bytes."""

import os
import resource


def resident() -> int:
    """Return how much is resident now."""
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def peak() -> int:
    """Return how much was resident at its highest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
