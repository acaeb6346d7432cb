"""What must be there after a run, against what is there. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from soak.answers import NO_ANSWER
from soak.bounds import MACHINE_MS, POST_MS
from soak.faults import Fault, Missed
from soak.stream import ScopeId, Turn

# So many ids lead to the log lines of what went wrong.
_FEW = 3


class Row(NamedTuple):
    """What a row says: all turns that it ever counted, the lineage, and the last turn's time (ms).

    Of what a row must say the time is None if a turn occurred when it was posted.
    """

    turns: int
    lineage_id: str | None
    last_turn_at: int | None


class Run(NamedTuple):
    """Everything that a run left behind.

    `began_at` is in ms. `posted` are the well-formed turns by their id, the others are sets of
    those ids: what bots were told, what SQS accepted, what the ledger holds. `statuses` counts the
    answers. `rows` may name a scope several times. `lost_outboxes` is what last waited in each
    capture container that is gone, `captures_killed` how many the harness took away. `dead` are
    bodies in the dead-letter queue, `poison` the bodies that belong there. `repeats`, `redelivered`
    and `late` count the turns posted again, the messages that came again, and those that came out
    of order. `hanging_ms` is the 99th percentile of posts while SQS hung, if there were any.
    """

    began_at: int
    posted: Mapping[str, Turn]
    statuses: Mapping[int, int]
    captured: Set[str]
    queued: Set[str]
    skipped: Set[str]
    failed: Set[str]
    accepted: Set[str]
    ledger: Set[str]
    rows: Sequence[tuple[ScopeId, Row]]
    lost_outboxes: Sequence[int]
    captures_killed: int
    dead: Set[str]
    poison: Set[str]
    left_in_queue: int
    open_transactions: int
    happened: Sequence[Fault]
    missed: Sequence[Missed]
    repeats: int
    redelivered: int
    late: int
    dishonest_reads: int
    slow_reads: int
    impatient_tries: int
    hanging_ms: float | None

    @property
    def missing(self) -> Set[str]:
        """Turns that a bot was told are captured, and whose work never reached SQS."""
        return self.captured - self.accepted


def audit(run: Run) -> list[str]:
    """Return what is not as it must be, each in a few words; nothing when all is well."""
    return [
        *_answers(run),
        *_acceptance(run),
        *_ledger(run),
        *_rows(run),
        *_letters(run),
        *_remains(run),
        *_faults(run),
        *_bounds(run),
    ]


def _answers(run: Run) -> Iterator[str]:
    """Every well-formed turn got 202 in the end, for the right reason."""
    skips = {turn_id for turn_id, turn in run.posted.items() if turn.is_skipped}
    yield from _some(
        run.posted.keys() - run.captured - run.skipped - run.failed, "turns without 202"
    )
    yield from _some(run.failed, "turns that could not be remembered")
    yield from _some(run.skipped - skips, "turns skipped without a reason")
    yield from _some(run.captured & skips, "turns captured that had to be skipped")
    for status in sorted(run.statuses.keys() - {202, NO_ANSWER}):
        yield f"{run.statuses[status]:,} answers of status {status}"
    unanswered = run.statuses.get(NO_ANSWER, 0)
    if unanswered > run.captures_killed:
        yield f"{unanswered:,} posts without answer, but {run.captures_killed:,} containers killed"


def _acceptance(run: Run) -> Iterator[str]:
    """What a bot was told is queued, is; and no more is missing than containers took with them."""
    yield from _some(run.queued - run.accepted, "turns told to be queued that SQS never accepted")
    yield from _some(run.accepted - run.posted.keys(), "accepted turns that nobody posted")
    if len(run.lost_outboxes) > run.captures_killed:
        yield f"{len(run.lost_outboxes) - run.captures_killed:,} containers that died by themselves"
    missing, excused = len(run.missing), sum(run.lost_outboxes)
    if missing > excused:
        yield f"{missing:,} turns missing, but outboxes of killed containers held {excused:,}"


def _ledger(run: Run) -> Iterator[str]:
    for wrong, what in (
        (run.accepted - run.ledger, "accepted turns missing in the ledger"),
        (run.ledger - run.accepted, "turns in the ledger that SQS never accepted"),
    ):
        if wrong:
            yield f"{len(wrong):,} {what} ({_first_few(wrong)})"


def _rows(run: Run) -> Iterator[str]:
    """One row per scope of an accepted turn, and its counter is the number of its live turns."""
    expected = expected_rows([run.posted[it] for it in run.accepted & run.posted.keys()])
    yield from _some(
        {it for it, count in Counter(scope for scope, _ in run.rows).items() if count > 1},
        "scopes with several rows",
    )
    found = dict(run.rows)
    yield from _some(expected.keys() - found.keys(), "scopes without row")
    yield from _some(found.keys() - expected.keys(), "rows of no accepted turn")
    both = expected.keys() & found.keys()
    more = {it: found[it].turns - expected[it].turns for it in both}
    over, under = ({it: abs(by) for it, by in more.items() if by * sign > 0} for sign in (1, -1))
    if over:
        yield f"{sum(over.values()):,} turns counted too often in {len(over):,} rows"
    if under:
        yield f"{sum(under.values()):,} turns not counted in {len(under):,} rows"
    wrong = {it for it in both if found[it].lineage_id != expected[it].lineage_id}
    yield from _some(wrong, "rows with a wrong lineage or none")
    late = {it for it in both if not _is_time_right(run, found[it], expected[it])}
    yield from _some(late, "rows with another time than their last turn's")


def _is_time_right(run: Run, found: Row, expected: Row) -> bool:
    if expected.last_turn_at is None:
        return found.last_turn_at is not None and found.last_turn_at >= run.began_at
    return found.last_turn_at == expected.last_turn_at


def expected_rows(turns: Sequence[Turn]) -> dict[ScopeId, Row]:
    """Return the rows that `turns` must leave, each turn given once."""
    counts: Counter[ScopeId] = Counter()
    lineages: dict[ScopeId, str | None] = {}
    times: dict[ScopeId, list[int | None]] = {}
    for turn in turns:
        counts.update(turn.live)
        for scope, lineage_id in turn.lineages.items():
            lineages[scope] = lineages.get(scope) or lineage_id
            times.setdefault(scope, []).append(turn.occurred_at)
    return {
        scope: Row(counts[scope], lineage_id, _latest(times[scope]))
        for scope, lineage_id in lineages.items()
    }


def _latest(times: Sequence[int | None]) -> int | None:
    told = [it for it in times if it is not None]
    return max(told) if len(told) == len(times) else None


def _letters(run: Run) -> Iterator[str]:
    yield from _some(run.poison - run.dead, "poison messages missing in the dead-letter queue")
    yield from _some(run.dead - run.poison, "good messages in the dead-letter queue")


def _remains(run: Run) -> Iterator[str]:
    if run.left_in_queue:
        yield f"{run.left_in_queue:,} messages left in the queue"
    if run.open_transactions:
        yield f"{run.open_transactions:,} open transactions"


def _faults(run: Run) -> Iterator[str]:
    """Everything was broken that the plan says: what was not is not proven."""
    for fault, reason in run.missed:
        yield f"a fault that did not happen: {fault} ({reason})"
    if Fault.CAPTURE_LOST in run.happened and not sum(run.lost_outboxes):
        yield "no killed container held any work"
    for count, what in (
        (run.repeats, "no turn was posted twice"),
        (run.redelivered, "no message was redelivered"),
        (run.late, "no message came out of order"),
    ):
        if not count:
            yield what


def _bounds(run: Run) -> Iterator[str]:
    """What hangs or is away delays nobody for longer than is stated."""
    if run.dishonest_reads:
        yield f"{run.dishonest_reads:,} reads without Postgres that did not say so"
    if run.slow_reads:
        yield f"{run.slow_reads:,} reads without Postgres that took too long"
    if run.impatient_tries:
        yield f"{run.impatient_tries:,} tries too many of a queue that hangs"
    if run.hanging_ms is not None and run.hanging_ms > POST_MS + MACHINE_MS:
        yield f"p99 of posts was {run.hanging_ms:,.0f} ms while SQS hung"


def _first_few(turn_ids: Set[str]) -> str:
    few = sorted(turn_ids)[:_FEW]
    return ", ".join(few) + (", …" if len(turn_ids) > _FEW else "")


def _some(wrong: Set[object], what: str) -> Iterator[str]:
    if wrong:
        yield f"{len(wrong):,} {what}"
