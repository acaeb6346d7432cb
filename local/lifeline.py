"""Child processes that do not outlive this one, not even when it is killed with SIGKILL."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from local import watchdog


class Lifeline:
    """Starts children in the process group of a watchdog, which ends them when our pipe closes.

    A group of their own also keeps the terminal's Ctrl-C from them: the stack stops them in order.
    """

    def __init__(self, postgres: Path | None = None) -> None:
        """`postgres` is the data directory of a server that is ours to stop as well."""
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__, *([str(postgres)] if postgres else [])],
            stdin=subprocess.PIPE,
            process_group=0,
        )

    def spawn(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path | None
    ) -> "subprocess.Popen[bytes]":
        """A child that writes to the end of `log`, or to our stderr."""
        if log is None:
            return self._start(argv, env, cwd, sys.stderr.fileno())
        with log.open("ab") as output:
            return self._start(argv, env, cwd, output.fileno())

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, output: int
    ) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            process_group=self._watchdog.pid,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End whatever is still running."""
        if self._watchdog.stdin:
            self._watchdog.stdin.close()
        self._watchdog.wait()
