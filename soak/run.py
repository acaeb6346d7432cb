"""One run: a stack, bots, a fault plan, and what is left behind."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

from local.functions import CODE
from local.stack import Stack
from soak import outboxes
from soak.answers import Answers
from soak.audit import Run
from soak.bot import Bots
from soak.breakage import Breakage, Say
from soak.closing import Queues, send_what_waits
from soak.faults import Fault, Planned
from soak.interposer import Interposer
from soak.locks import Saboteur, deadlocks
from soak.pace import Pace
from soak.probe import Probe
from soak.sabotage import Sabotage
from soak.stream import Poison, Post, World, script
from soak.tables import Tables
from soak.writers import Writers

CAPTURES = 3
WRITERS = 2
BOTS = 6
VISIBILITY_S = 2
# Outages of the plan take a message some receives: more than this, and it would be a dead letter
# that is no poison.
RECEIVES = 15
_MILESTONES = 10
# Moto reckons its whole queue up for every message that it hands out.
_MOST_IN_QUEUE = 250
_LOOK_EVERY = 20
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to run: `seconds` is how long each fault lasts that lasts at all."""

    turns: int
    seed: int
    plan: Sequence[Planned]
    seconds: float
    state: Path
    code: Path = CODE


class Soak:
    """Runs once. `say` prints a line of progress."""

    def __init__(self, wanted: Wanted, say: Say) -> None:
        self._wanted = wanted
        self._say = say
        self.world = World(wanted.seed)
        self.answers = Answers()
        self.pace = Pace()
        self.poison: set[str] = set()
        self.happened: list[Fault] = []
        self.missed: list[Fault] = []
        self.repeats = 0
        self.deadlocks = 0
        self.copies = 0

    def run(self) -> Run:
        """Return everything that the run left behind."""
        wanted = self._wanted
        with ExitStack() as undo:
            self.interposer = Interposer(wanted.seed)
            undo.callback(self.interposer.stop)
            self._stack = undo.enter_context(self._start_stack())
            self.interposer.connect(self._stack.sqs_endpoint)
            self._tables = Tables(self._stack.database_url)
            self._tables.refuse_poison()
            self.probe = Probe(self._stack.api_url, self.world)
            self._queues = Queues(self._stack, visibility_timeout=VISIBILITY_S)
            self._writers = self._start_writers()
            undo.callback(self._writers.stop)
            self._post_while_it_breaks()
            last = self._settle()
            return self._findings(last)

    def _start_stack(self) -> Stack:
        return Stack(
            state=self._wanted.state,
            containers=CAPTURES,
            writers=WRITERS,
            poller=False,
            visibility_timeout=VISIBILITY_S,
            max_receive_count=RECEIVES,
            settings={"AWS_ENDPOINT_URL_SQS": self.interposer.url},
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

    def _post_while_it_breaks(self) -> None:
        bots = Bots(
            self._stack.api_url,
            self._counted(script(self.world, self._wanted.turns)),
            poison=self._put_poison,
            pace=self.pace,
            answers=self.answers,
            threads=BOTS,
        )
        breakage = self._breakage()
        breakage.start()
        bots.run()
        breakage.join()
        self.happened, self.missed = breakage.happened, breakage.missed

    def _counted(self, items: Iterator[Post | Poison]) -> Iterator[Post | Poison]:
        milestones = {self._wanted.turns * part // _MILESTONES for part in range(1, _MILESTONES)}
        for item in items:
            self.repeats += isinstance(item, Post) and item.again
            if self.pace.begun in milestones:
                milestones.discard(self.pace.begun)
                self._say_how_far()
            if self.pace.begun % _LOOK_EVERY == 0:
                self._let_the_writers_catch_up()
            yield item

    def _let_the_writers_catch_up(self) -> None:
        while self._queues.left() > _MOST_IN_QUEUE:
            time.sleep(_PAUSE_S)

    def _say_how_far(self) -> None:
        self._say(
            f"turn {self.pace.begun:,}: {len(self.interposer.accepted):,} accepted,"
            f" {self._queues.left():,} messages in the queue"
        )

    def _put_poison(self, body: str) -> None:
        self.poison.add(body)
        self._stack.sqs_client.send_message(QueueUrl=self._stack.queue_url, MessageBody=body)

    def _breakage(self) -> Breakage:
        sabotage = Sabotage(
            self._stack,
            interposer=self.interposer,
            writers=self._writers,
            saboteur=Saboteur(self._stack.database_url, self.world.busiest.channel_id),
            answers=self.answers,
            probe=self.probe,
            rng=Random(f"{self._wanted.seed}:sabotage"),
            seconds=self._wanted.seconds,
        )
        return Breakage(self._wanted.plan, sabotage, self.pace, self._say)

    def _settle(self) -> int:
        """Nothing breaks any more: everything under way arrives. Returns the turns posted."""
        self._say(f"all {self.pace.begun:,} turns are posted; what waits is sent")
        last = send_what_waits(self._stack, self.world, self._wanted.turns, self.answers)
        self.interposer.wait_until_quiet()
        self._writers.behave()
        self._say("the writers work the queue off, down to the poison")
        self._queues.drain(len(self.poison))
        self._writers.stop()
        return last

    def _findings(self, posted: int) -> Run:
        self.deadlocks = deadlocks(self._stack.postgres.directory / "log")
        self.copies = self._writers.copies + self._writers.deletes_lost
        turns = (self.world.turn(number) for number in range(posted))
        return Run(
            posted={turn.turn_id: turn for turn in turns},
            captured=self.answers.captured,
            queued=self.answers.queued,
            skipped=self.answers.skipped,
            failed=self.answers.failed,
            accepted=self.interposer.accepted,
            ledger=self._tables.ledger(),
            rows=self._tables.rows(),
            lost_outboxes=self._lost_outboxes(),
            dead=self._queues.dead(),
            poison=self.poison,
            left_in_queue=self._queues.left(),
            open_transactions=self._tables.open_transactions(),
            faults_missed=self.missed,
            dishonest_reads=self.probe.dishonest,
            slowest_recall_ms=self.probe.slowest_ms,
            machine_ms=self.probe.machine_ms,
        )

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
