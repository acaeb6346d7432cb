"""The fault plan: what breaks when, by the seed and by the share of turns done. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from random import Random
from typing import NamedTuple

# One round of all faults for so many turns.
_TURNS_PER_ROUND = 8_000
# Fewer, and the last faults would meet none.
FEWEST_TURNS = 300
# The first faults find rows to lock, and the last ones turns to meet.
_FIRST, _LAST = 0.08, 0.94


class Fault(StrEnum):
    """Each has a start and an end; what breaks all the time is named in THROUGHOUT."""

    SQS_REFUSES = "SQS refuses connections"
    SQS_THROTTLES = "SQS throttles"
    SQS_FAILS_SOME = "SQS fails some entries"
    SQS_HANGS = "SQS hangs"
    SQS_CUTS = "SQS delivers and cuts the answer off"
    POSTGRES_RESTARTED = "Postgres restarted"
    POSTGRES_KILLED = "Postgres killed -9 in a writer's transaction"
    POSTGRES_HANGS = "Postgres hangs"
    CONNECTIONS_CUT = "connections cut"
    DEADLOCK = "deadlock by opposite orders"
    CAPTURE_KILLED = "capture killed in an invocation"
    CAPTURE_LOST = "capture killed with work in its outbox"
    WRITER_KILLED = "writer killed in an invocation"
    WRITER_TIMED_OUT = "writer timed out between commit and answer"
    WRITER_FROZEN = "writer frozen in a transaction"


THROUGHOUT = "turns posted twice, applied messages redelivered, poison, messages out of order"


class Missed(NamedTuple):
    """A fault that could not be brought about, and why not."""

    fault: Fault
    reason: str


class Planned(NamedTuple):
    """A fault, the turn that it begins with, and the turn that the next one begins with."""

    fault: Fault
    begins: int
    share_ends: int


def plan(seed: int, turns: int, faults: Sequence[Fault] = tuple(Fault)) -> list[Planned]:
    """Return each of `faults` once per round, in another order each time, spread over the run."""
    rng = Random(f"{seed}:faults")
    order: list[Fault] = []
    for _ in range(1 + turns // _TURNS_PER_ROUND):
        order += rng.sample(faults, len(faults))
    step = (_LAST - _FIRST) * turns / max(1, len(order))
    starts = [int(_FIRST * turns + step * number) for number in range(len(order) + 1)]
    return [Planned(*it) for it in zip(order, starts[:-1], starts[1:], strict=True)]
