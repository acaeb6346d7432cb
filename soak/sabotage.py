"""What each fault of the plan does to the stack."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from local.container import Container
from local.stack import Stack
from soak.answers import Answers
from soak.faults import Fault
from soak.interposer import Interposer, Mode
from soak.locks import DidNotHappen, Saboteur, await_that, deadlocks
from soak.probe import Probe
from soak.writers import Writers

# Longer than a capture container waits for SQS.
_HANG_S = 2.5
_CUTS = 5
_TRIES = 10
_PROBES = 5
# So many refused requests, and work waits in every container that serves.
_REFUSED = 3
# How long a frozen writer may take to show in pg_stat_activity.
_HALT_S = 1.0


class Sabotage:
    """Brings faults about, each for `seconds` where it is one that lasts."""

    def __init__(
        self,
        stack: Stack,
        *,
        interposer: Interposer,
        writers: Writers,
        saboteur: Saboteur,
        answers: Answers,
        probe: Probe,
        rng: Random,
        seconds: float,
    ) -> None:
        self._stack = stack
        self._interposer = interposer
        self._writers = writers
        self._saboteur = saboteur
        self._answers = answers
        self._probe = probe
        self._rng = rng
        self._seconds = seconds

    def commit(self, fault: Fault) -> str:
        """Begin the fault and end it; returns what happened. Raises DidNotHappen."""
        return self._acts[fault]()

    @property
    def _acts(self) -> Mapping[Fault, Callable[[], str]]:
        return {
            Fault.SQS_REFUSES: partial(self._break_sqs, Mode.REFUSE),
            Fault.SQS_THROTTLES: partial(self._break_sqs, Mode.THROTTLE),
            Fault.SQS_FAILS_SOME: partial(self._break_sqs, Mode.FAIL_SOME),
            Fault.SQS_HANGS: partial(self._break_sqs, Mode.HANG),
            Fault.SQS_CUTS: partial(self._break_sqs, Mode.CUT),
            Fault.POSTGRES_RESTARTED: self._restart_postgres,
            Fault.POSTGRES_KILLED: self._kill_postgres,
            Fault.CONNECTIONS_CUT: self._cut_connections,
            Fault.DEADLOCK: self._provoke_deadlock,
            Fault.CAPTURE_KILLED: self._kill_capture,
            Fault.CAPTURE_LOST: self._kill_capture_with_work,
            Fault.WRITER_KILLED: self._kill_writer,
            Fault.WRITER_TIMED_OUT: self._time_a_writer_out,
            Fault.WRITER_FROZEN: self._freeze_writer,
        }

    def _break_sqs(self, mode: Mode) -> str:
        before = self._interposer.broken_requests
        seconds = max(self._seconds, _HANG_S) if mode is Mode.HANG else self._seconds
        with self._interposer.broken(mode):
            time.sleep(seconds)
            await_that(lambda: self._interposer.broken_requests > before, "nothing was sent")
        return f"{self._interposer.broken_requests - before} requests met it"

    def _restart_postgres(self) -> str:
        self._stack.postgres.restart()
        return "back"

    def _kill_postgres(self) -> str:
        self._probe.recall()
        with self._saboteur.writer_held():
            self._stack.postgres.kill()
        try:
            began = time.monotonic()
            for _ in range(_PROBES):
                self._probe.recall_without_database()
            time.sleep(max(0.0, self._seconds - (time.monotonic() - began)))
        finally:
            self._stack.postgres.start()
        return "back"

    def _cut_connections(self) -> str:
        cut = 0
        for _ in range(_CUTS):
            cut += self._saboteur.cut_connections()
            time.sleep(self._seconds / _CUTS)
        return f"{cut} cut"

    def _provoke_deadlock(self) -> str:
        log = self._stack.postgres.directory / "log"
        before = deadlocks(log)
        who = self._saboteur.deadlock()
        await_that(lambda: deadlocks(log) > before, "Postgres told of no deadlock", seconds=5)
        return who

    def _kill_capture(self) -> str:
        """Kill one that waits for SQS. Its bot is told of a 5xx and comes again."""
        before = self._answers.broken
        for _ in range(_TRIES):
            with self._interposer.broken(Mode.SLOW):
                await_that(lambda: self._interposer.under_way > 0, "no capture was busy")
                self._kill_one(self._stack.pools["capture"].busy)
            try:
                await_that(lambda: self._answers.broken > before, "no bot was told", seconds=2)
            except DidNotHappen:
                continue
            return "its bot was told, and posts again"
        raise DidNotHappen("no capture was killed while it served a turn")

    def _kill_capture_with_work(self) -> str:
        """Kill them all while SQS refuses: what they could not send is gone, and may be."""
        enough = self._interposer.broken_requests + _REFUSED
        with self._interposer.broken(Mode.REFUSE):
            await_that(lambda: self._interposer.broken_requests >= enough, "too few were refused")
            for container in self._stack.pools["capture"].containers:
                container.kill()
        return "what it held may be missing"

    def _kill_writer(self) -> str:
        with self._saboteur.writer_held():
            self._kill_one(self._stack.pools["writer"].busy)
        return "its batch comes again"

    def _time_a_writer_out(self) -> str:
        self._writers.time_out_next()
        await_that(self._writers.timed_out.is_set, "no batch was committed")
        return "its batch comes again, all of it applied"

    def _freeze_writer(self) -> str:
        """Stop one that waits for a row; when it gets the row its transaction stands open."""
        for _ in range(_TRIES):
            with self._saboteur.writer_held():
                frozen = self._rng.choice(self._stack.pools["writer"].busy)
                os.kill(frozen.pid, signal.SIGSTOP)
            try:
                if self._saboteur.writer_is_halted(_HALT_S):
                    time.sleep(self._seconds)
                    return "its transaction stood open"
            finally:
                os.kill(frozen.pid, signal.SIGCONT)
        raise DidNotHappen("no frozen writer was in a transaction")

    def _kill_one(self, containers: list[Container]) -> None:
        if containers:
            self._rng.choice(containers).kill()
