"""One run: a stack, bots, a fault plan, and what is left behind."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from local.functions import CODE
from local.stack import Stack
from soak import outboxes
from soak.account import percentile
from soak.answers import Answers, Latency
from soak.audit import Run
from soak.bot import Bots
from soak.breakage import Breakage, Say
from soak.closing import Queues, send_what_waits
from soak.faults import Fault, Planned
from soak.interposer import Interposer
from soak.locks import Saboteur
from soak.pace import Pace
from soak.probe import Probe
from soak.sabotage import Sabotage
from soak.stream import Poison, Post, World, script
from soak.tables import Tables
from soak.writers import Writers

# As many containers as bots: Lambda lets nobody wait for one that waits for SQS.
CAPTURES = 4
BOTS = 4
WRITERS = 2
VISIBILITY_S = 2
# Outages of the plan take a message some receives: more than this, and it would be a dead letter
# that is no poison. Without them few are enough.
RECEIVES, RECEIVES_IN_PEACE = 15, 5
_MILESTONES = 10
# Moto goes through its whole queue for every request: bots far ahead of the writers slow all down.
_MOST_IN_QUEUE = 250
_LOOK_EVERY = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to run: `seconds` is how long each fault lasts that lasts at all."""

    turns: int
    seed: int
    plan: Sequence[Planned]
    seconds: float
    state: Path
    code: Path = CODE


class Result(NamedTuple):
    """What a run left behind, and what its requests took."""

    run: Run
    latencies: Sequence[Latency]
    hanging: Sequence[Latency]
    probe: Probe


class Soak:
    """Runs once. `say` prints a line of progress."""

    def __init__(self, wanted: Wanted, say: Say) -> None:
        self._wanted = wanted
        self._say = say
        self._world = World(wanted.seed)
        self._answers = Answers()
        self._pace = Pace()
        self._poison: set[str] = set()
        self._repeats = 0

    def run(self) -> Result:
        """Return everything that the run left behind."""
        began_at = time.time_ns() // 1_000_000
        with ExitStack() as undo:
            self._interposer = Interposer(self._wanted.seed)
            undo.callback(self._interposer.stop)
            self._stack = undo.enter_context(self._start_stack())
            self._interposer.connect(self._stack.sqs_endpoint)
            self._tables = Tables(self._stack.database_url)
            self._tables.refuse_poison()
            self._probe = Probe(self._stack.api_url, self._world)
            self._queues = Queues(self._stack)
            self._writers = self._start_writers()
            undo.callback(self._writers.stop)
            self._sabotage = self._prepare_sabotage()
            breakage = self._post_while_it_breaks()
            return self._findings(breakage, posted=self._settle(), began_at=began_at)

    def _start_stack(self) -> Stack:
        return Stack(
            state=self._wanted.state,
            containers=CAPTURES,
            writers=WRITERS,
            poller=False,
            visibility_timeout=VISIBILITY_S,
            max_receive_count=RECEIVES if self._wanted.plan else RECEIVES_IN_PEACE,
            settings={"AWS_ENDPOINT_URL_SQS": self._interposer.url},
            code=self._wanted.code,
        )

    def _start_writers(self) -> Writers:
        writers = Writers(
            self._stack.pools["writer"],
            self._stack.sqs_client,
            self._stack.queue_url,
            seed=self._wanted.seed,
            pollers=WRITERS,
        )
        writers.start()
        return writers

    def _post_while_it_breaks(self) -> Breakage:
        bots = Bots(
            self._stack.api_url,
            self._counted(script(self._world, self._wanted.turns)),
            poison=self._put_poison,
            pace=self._pace,
            answers=self._answers,
            threads=BOTS,
        )
        breakage = Breakage(self._wanted.plan, self._sabotage, self._pace, self._say)
        breakage.start()
        bots.run()
        breakage.join()
        return breakage

    def _counted(self, items: Iterator[Post | Poison]) -> Iterator[Post | Poison]:
        milestones = {self._wanted.turns * part // _MILESTONES for part in range(1, _MILESTONES)}
        for item in items:
            self._repeats += isinstance(item, Post) and item.again
            if self._pace.begun in milestones:
                milestones.discard(self._pace.begun)
                self._say_how_far()
            if self._pace.begun % _LOOK_EVERY == 0:
                self._queues.fall_to(_MOST_IN_QUEUE)
            yield item

    def _say_how_far(self) -> None:
        self._say(
            f"turn {self._pace.begun:,}: {len(self._interposer.accepted):,} accepted,"
            f" {self._queues.left():,} messages in the queue"
        )

    def _put_poison(self, body: str) -> None:
        self._poison.add(body)
        self._stack.sqs_client.send_message(QueueUrl=self._stack.queue_url, MessageBody=body)

    def _prepare_sabotage(self) -> Sabotage:
        return Sabotage(
            self._stack,
            interposer=self._interposer,
            writers=self._writers,
            saboteur=Saboteur(self._stack.database_url, self._world.busiest.channel_id),
            answers=self._answers,
            probe=self._probe,
            rng=Random(f"{self._wanted.seed}:sabotage"),
            seconds=self._wanted.seconds,
        )

    def _settle(self) -> int:
        """Nothing breaks any more: everything under way arrives. Returns the turns posted."""
        self._say(f"all {self._pace.begun:,} turns are posted; what waits is sent")
        last = send_what_waits(self._stack, self._world, self._wanted.turns, self._answers)
        self._interposer.wait_until_quiet()
        self._writers.behave()
        self._say("the writers work the queue off, down to the poison")
        self._queues.drain(len(self._poison))
        self._writers.stop()
        return last

    def _findings(self, breakage: Breakage, *, posted: int, began_at: int) -> Result:
        turns = (self._world.turn(number) for number in range(posted))
        latencies = self._answers.latencies
        hanging = [it for it in latencies if it.fault == Fault.SQS_HANGS]
        run = Run(
            began_at=began_at,
            posted={turn.turn_id: turn for turn in turns},
            statuses=self._answers.statuses,
            captured=self._answers.captured,
            queued=self._answers.queued,
            skipped=self._answers.skipped,
            failed=self._answers.failed,
            accepted=self._interposer.accepted,
            ledger=self._tables.ledger(),
            rows=self._tables.rows(),
            lost_outboxes=self._lost_outboxes(),
            captures_killed=self._sabotage.captures_killed,
            dead=self._queues.dead(),
            poison=self._poison,
            left_in_queue=self._queues.left(),
            open_transactions=self._tables.open_transactions(),
            happened=breakage.happened,
            missed=breakage.missed,
            repeats=self._repeats,
            redelivered=self._writers.copies + self._writers.deletes_lost,
            late=self._interposer.late,
            dishonest_reads=self._probe.dishonest,
            slow_reads=self._probe.slow,
            impatient_tries=self._sabotage.impatient_tries,
            hanging_ms=percentile(hanging, 0.99) if hanging else None,
        )
        return Result(run, latencies, hanging, self._probe)

    def _lost_outboxes(self) -> list[int]:
        living = self._stack.pools["capture"].slots
        logs = self._wanted.state / "logs"
        names = {slot: logs / f"capture-{slot}.log" for slot in range(1, CAPTURES + 1)}
        return outboxes.lost(
            [
                (log.read_text(errors="replace"), slot in living)
                for slot, log in names.items()
                if log.exists()
            ]
        )
