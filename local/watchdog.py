"""Ends the stack's processes when the stack itself is gone; runs alone, as the group's leader."""

import os
import signal
import sys
from pathlib import Path


def _stop_postgres(directory: Path) -> None:
    """Postgres left our process group when it became a server; its pid file names it."""
    try:
        pid = int((directory / "postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(pid, signal.SIGINT)
    except (OSError, ValueError):
        return


def main() -> None:
    # The pipe ends when its writer does, however that came about.
    sys.stdin.buffer.read()
    for directory in sys.argv[1:]:
        _stop_postgres(Path(directory))
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
