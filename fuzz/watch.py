"""Watches the capture containers of a stack while they are under fire."""

import threading
from typing import Self

import psutil  # type: ignore[import-untyped]

from local.pool import Pool

_EVERY_S = 0.25


class Watch:
    """The most memory that a container was seen with (RSS, bytes), and which ones there were."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.most_rss = 0
        self.pids: set[int] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_EVERY_S):
            for container in self._pool.containers:
                self.pids.add(container.pid)
                try:
                    rss = psutil.Process(container.pid).memory_info().rss
                except psutil.NoSuchProcess:
                    continue  # it will be missed
                self.most_rss = max(self.most_rss, rss)
