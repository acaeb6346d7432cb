"""What must be there after a run, against what is there. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from soak.stream import ScopeId, Turn

# The bound is 350 ms; the rest is for a machine that stumbles.
SLOWEST_RECALL_MS = 1_000
# So many ids lead to the log lines of what went wrong.
_FEW = 3


class Row(NamedTuple):
    """What a row says: all turns that it ever counted, and the lineage."""

    turns: int
    lineage_id: str | None


class Run(NamedTuple):
    """Everything that a run left behind.

    `posted` are the well-formed turns by their id, the others are sets of those ids: what bots were
    told, what SQS accepted, what the ledger holds. `rows` may name a scope several times.
    `lost_outboxes` is what last waited in each capture container that is gone. `dead` are bodies in
    the dead-letter queue, `poison` the bodies that belong there. `machine_ms` is what other
    requests took at the most when a read took `slowest_recall_ms`.
    """

    posted: Mapping[str, Turn]
    captured: Set[str]
    queued: Set[str]
    skipped: Set[str]
    failed: Set[str]
    accepted: Set[str]
    ledger: Set[str]
    rows: Sequence[tuple[ScopeId, Row]]
    lost_outboxes: Sequence[int]
    dead: Set[str]
    poison: Set[str]
    left_in_queue: int
    open_transactions: int
    faults_missed: Sequence[str]
    dishonest_reads: int
    slowest_recall_ms: float
    machine_ms: float

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


def _acceptance(run: Run) -> Iterator[str]:
    """What a bot was told is queued, is; and no more is missing than containers took with them."""
    yield from _some(run.queued - run.accepted, "turns told to be queued that SQS never accepted")
    yield from _some(run.accepted - run.posted.keys(), "accepted turns that nobody posted")
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


def expected_rows(turns: Sequence[Turn]) -> dict[ScopeId, Row]:
    """Return the rows that `turns` must leave, each turn given once."""
    counts: Counter[ScopeId] = Counter()
    lineages: dict[ScopeId, str | None] = {}
    for turn in turns:
        counts.update(turn.live)
        for scope, lineage_id in turn.lineages.items():
            lineages[scope] = lineages.get(scope) or lineage_id
    return {scope: Row(counts[scope], lineage_id) for scope, lineage_id in lineages.items()}


def _letters(run: Run) -> Iterator[str]:
    yield from _some(run.poison - run.dead, "poison messages missing in the dead-letter queue")
    yield from _some(run.dead - run.poison, "good messages in the dead-letter queue")


def _remains(run: Run) -> Iterator[str]:
    if run.left_in_queue:
        yield f"{run.left_in_queue:,} messages left in the queue"
    if run.open_transactions:
        yield f"{run.open_transactions:,} open transactions"
    for fault in run.faults_missed:
        yield f"a fault that did not happen: {fault}"
    if run.dishonest_reads:
        yield f"{run.dishonest_reads:,} reads without Postgres that did not say so"
    if run.slowest_recall_ms - run.machine_ms > SLOWEST_RECALL_MS:
        yield f"a read took {run.slowest_recall_ms:,.0f} ms while Postgres was down"


def _first_few(turn_ids: Set[str]) -> str:
    few = sorted(turn_ids)[:_FEW]
    return ", ".join(few) + (", …" if len(turn_ids) > _FEW else "")


def _some(wrong: Set[object], what: str) -> Iterator[str]:
    if wrong:
        yield f"{len(wrong):,} {what}"
