"""What each fault of the plan does to the stack."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from local.container import Container
from local.stack import Stack
from soak import bounds
from soak.answers import Answers
from soak.faults import Fault
from soak.interposer import Interposer, Mode
from soak.locks import DidNotHappen, Saboteur, await_that, deadlocks
from soak.probe import Probe
from soak.writers import Writers

# Longer than a capture container waits for SQS; and so many times as long as other faults last,
# that containers which would try it again and again show.
_HANG_S = 2.5
_HANG_TIMES = 4
_CUTS = 5
_TRIES = 10
# So much work is told to wait, and it waits in containers that serve.
_WAITING = 3
# How long a frozen writer may take to show in pg_stat_activity, and how long it then stands still.
_HALT_S = 1.0
_NOTICED_S = 0.3


class Sabotage:
    """Brings faults about, each for `seconds` where it is one that lasts.

    `captures_killed` counts the capture containers that it took away, `impatient_tries` the tries
    of a hanging queue that were more than the containers' breakers may let through.
    """

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
        self.captures_killed = 0
        self.impatient_tries = 0

    def commit(self, fault: Fault) -> str:
        """Begin the fault and end it; returns what happened. Raises DidNotHappen."""
        return self._acts[fault]()

    @property
    def _acts(self) -> Mapping[Fault, Callable[[], str]]:
        return {
            Fault.SQS_REFUSES: partial(self._break_sqs, Mode.REFUSE),
            Fault.SQS_THROTTLES: partial(self._break_sqs, Mode.THROTTLE),
            Fault.SQS_FAILS_SOME: partial(self._break_sqs, Mode.FAIL_SOME),
            Fault.SQS_HANGS: self._hang_sqs,
            Fault.SQS_CUTS: partial(self._break_sqs, Mode.CUT),
            Fault.POSTGRES_RESTARTED: self._restart_postgres,
            Fault.POSTGRES_KILLED: self._kill_postgres,
            Fault.POSTGRES_HANGS: self._freeze_postgres,
            Fault.CONNECTIONS_CUT: self._cut_connections,
            Fault.DEADLOCK: self._provoke_deadlock,
            Fault.CAPTURE_KILLED: self._kill_capture,
            Fault.CAPTURE_LOST: self._kill_capture_with_work,
            Fault.WRITER_KILLED: self._kill_writer,
            Fault.WRITER_TIMED_OUT: self._time_a_writer_out,
            Fault.WRITER_FROZEN: self._freeze_writer,
        }

    def _break_sqs(self, mode: Mode) -> str:
        return f"{self._requests_that_meet(mode, self._seconds)} requests met it"

    def _hang_sqs(self) -> str:
        seconds = max(self._seconds * _HANG_TIMES, _HANG_S)
        tries = self._requests_that_meet(Mode.HANG, seconds)
        allowed = self._stack.pools["capture"].size * bounds.tries_within(seconds)
        self.impatient_tries += max(0, tries - allowed)
        return f"{tries} tries in {seconds:.0f} s, {allowed} may be"

    def _requests_that_meet(self, mode: Mode, seconds: float) -> int:
        before = self._interposer.broken_requests
        with self._interposer.broken(mode):
            time.sleep(seconds)
            await_that(lambda: self._interposer.broken_requests > before, "nothing was sent")
            return self._interposer.broken_requests - before

    def _restart_postgres(self) -> str:
        self._stack.postgres.restart()
        return "back"

    def _kill_postgres(self) -> str:
        self._connect_captures()
        with self._saboteur.writer_held():
            self._stack.postgres.kill()
        try:
            self._read_without_database()
        finally:
            self._stack.postgres.start()
        return "back"

    def _freeze_postgres(self) -> str:
        self._connect_captures()
        with self._stack.postgres.frozen():
            self._read_without_database()
        return f"back; {len(self._probe.connected)} containers were connected"

    def _connect_captures(self) -> None:
        # A fault before may have Postgres left alone for a while yet.
        await_that(self._probe.connect, "no container could read rows before")

    def _read_without_database(self) -> None:
        began = time.monotonic()
        self._probe.read_without_database()
        time.sleep(max(0.0, self._seconds - (time.monotonic() - began)))

    def _cut_connections(self) -> str:
        await_that(self._saboteur.cut_connections, "nobody was connected")
        for _ in range(_CUTS):
            time.sleep(self._seconds / _CUTS)
            self._saboteur.cut_connections()
        return "again and again"

    def _provoke_deadlock(self) -> str:
        if any(self._a_writer_gives_way() for _ in range(_TRIES)):
            return "a writer gave way"
        raise DidNotHappen("no writer gave way")

    def _a_writer_gives_way(self) -> bool:
        log = self._stack.postgres.directory / "log"
        before = deadlocks(log)
        gave_way = self._saboteur.deadlock()
        await_that(lambda: deadlocks(log) > before, "Postgres told of no deadlock", seconds=5)
        return gave_way

    def _kill_capture(self) -> str:
        """Kill one that waits for SQS. Its bot is told of a 5xx and comes again."""
        before = self._answers.broken
        for _ in range(_TRIES):
            with self._interposer.broken(Mode.SLOW):
                await_that(lambda: self._interposer.under_way > 0, "no capture was busy")
                self.captures_killed += self._kill_one(self._stack.pools["capture"].busy)
            try:
                await_that(lambda: self._answers.broken > before, "no bot was told", seconds=2)
            except DidNotHappen:
                continue
            return "its bot was told, and posts again"
        raise DidNotHappen("no capture was killed while it served a turn")

    def _kill_capture_with_work(self) -> str:
        """Kill them all while SQS refuses: what they could not send is gone, and may be."""
        enough = self._answers.deferred + _WAITING
        with self._interposer.broken(Mode.REFUSE):
            await_that(lambda: self._answers.deferred >= enough, "too little was told to wait")
            containers = self._stack.pools["capture"].containers
            for container in containers:
                container.kill()
        self.captures_killed += len(containers)
        return "what it held may be missing"

    def _kill_writer(self) -> str:
        with self._saboteur.writer_held():
            if not self._kill_one(self._stack.pools["writer"].busy):
                raise DidNotHappen("no writer was busy")
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
                if self._saboteur.writer_stands_still(_NOTICED_S, within_s=_HALT_S):
                    time.sleep(self._seconds)
                    # Another writer would have gone on meanwhile.
                    if self._saboteur.writer_stands_still(self._seconds):
                        return "its transaction stood open"
            finally:
                os.kill(frozen.pid, signal.SIGCONT)
        raise DidNotHappen("no frozen writer was in a transaction")

    def _kill_one(self, containers: list[Container]) -> bool:
        """Kill one of them at random; tells whether there was one."""
        if containers:
            self._rng.choice(containers).kill()
        return bool(containers)
