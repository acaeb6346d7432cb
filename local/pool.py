"""The containers of one function: an idle one serves, the most recently used first."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from local.container import Container
from local.errors import CannotRun
from local.outcome import Failure, Outcome


class Pool:
    """Up to `size` containers, started when all others are busy, replaced when they died."""

    def __init__(self, size: int, start: Callable[[int], Container]) -> None:
        """`start` makes the container of a slot (1 to size)."""
        self.size = size
        self._start = start
        self._lock = threading.Lock()
        self._slots: dict[int, Container] = {}
        self._idle: list[Container] = []
        self._waiting: deque[Future[Container]] = deque()
        self._stopped = False

    @property
    def slots(self) -> dict[int, Container]:
        """Those alive, by their slot."""
        with self._lock:
            return {slot: it for slot, it in sorted(self._slots.items()) if it.alive}

    @property
    def containers(self) -> list[Container]:
        """Those alive, the oldest slot first."""
        return list(self.slots.values())

    @property
    def idle(self) -> int:
        """How many containers wait for an event."""
        with self._lock:
            return sum(container.alive for container in self._idle)

    @property
    def next(self) -> Container | None:
        """The idle container that serves the next event; None if one has yet to start."""
        with self._lock:
            return next((it for it in reversed(self._idle) if it.alive), None)

    @property
    def busy(self) -> list[Container]:
        """Those alive that start or run an event, the oldest slot first."""
        with self._lock:
            started = sorted(self._slots.items())
            return [it for _, it in started if it.alive and it not in self._idle]

    def invoke(self, event: bytes) -> Outcome:
        """Run one event; when all are busy, wait in line. Raises CannotRun once stopped."""
        with self.lease() as container:
            return container.invoke(event)

    def warm(self) -> Failure | None:
        """Start one container ahead of need; the failure if it does not come up."""
        with self.lease() as container:
            return container.wait_until_ready()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            waiting, self._waiting = list(self._waiting), deque()
            containers = list(self._slots.values())
        for turn in waiting:
            turn.set_exception(_stopped())
        for container in containers:
            container.kill()

    @contextmanager
    def lease(self) -> Iterator[Container]:
        """The container that serves next, for as long as the `with` lasts; may wait as `invoke`."""
        container = self._take()
        try:
            yield container
        finally:
            self._give_back(container)

    def _take(self) -> Container:
        with self._lock:
            if self._stopped:
                raise _stopped()
            while self._idle:
                container = self._idle.pop()
                if container.alive:
                    return container
            slot = self._free_slot()
            if slot:
                return self._fill(slot)
            turn: Future[Container] = Future()
            self._waiting.append(turn)
        return turn.result()

    def _give_back(self, container: Container) -> None:
        with self._lock:
            if self._stopped:
                return
            slot = None if container.alive else self._free_slot()
            if self._waiting and (container.alive or slot):
                turn = self._waiting.popleft()
                try:
                    turn.set_result(self._fill(slot) if slot else container)
                except OSError as error:
                    turn.set_exception(error)
            elif container.alive:
                self._idle.append(container)

    def _free_slot(self) -> int | None:
        slots = range(1, self.size + 1)
        return next((n for n in slots if n not in self._slots or not self._slots[n].alive), None)

    def _fill(self, slot: int) -> Container:
        self._slots[slot] = self._start(slot)
        return self._slots[slot]


def _stopped() -> CannotRun:
    return CannotRun("the function's containers have been stopped")
