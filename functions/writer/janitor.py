"""What nobody needs any more is deleted, in small batches that no writer waits for long."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from psycopg import Connection

from shortterm import telemetry
from shortterm.clock import DAY_MS
from shortterm.database import Database
from shortterm.telemetry import Metric
from writer.settings import Settings

BATCH = 1_000
# Enough for a statement to run into its time-out, and to answer.
RESERVE_MS = 12_000

# The row's hour starts up to an hour before its last sign of life: it must be over, too. A row that
# a writer holds is in use: the next run may look at it again.
_TIDY_ROWS = """
DELETE FROM short_term_memories
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM short_term_memories
    WHERE summary IS NULL AND categories = '{}'
        AND live_hour < date_trunc('hour', to_timestamp(%(before)s / 1000) AT TIME ZONE 'UTC')
        AND updated_at < to_timestamp(%(before)s / 1000)
    ORDER BY live_hour
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
))
"""
_TIDY_LEDGER = """
DELETE FROM applied_turns
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM applied_turns
    WHERE applied_at < to_timestamp(%(before)s / 1000)
    ORDER BY applied_at
    LIMIT %(batch)s
    FOR UPDATE SKIP LOCKED
))
"""
_TIDY_TOMBSTONES = """
DELETE FROM tombstones
WHERE number = ANY (ARRAY(
    SELECT number FROM tombstones
    WHERE forgotten_at < to_timestamp(%(before)s / 1000)
    ORDER BY number
    LIMIT %(batch)s
))
"""


class Tidied(NamedTuple):
    """How much was deleted of each, and whether nothing was left that time ran out for."""

    rows: int
    ledger: int
    tombstones: int
    complete: bool


class _Task(NamedTuple):
    statement: str
    before: int
    metric: Metric


def tidy(
    database: Database,
    settings: Settings,
    now: int,
    remaining_ms: Callable[[], int],
    batch: int = BATCH,
) -> Tidied:
    """Delete what was past its retention at `now` (ms), `batch` rows to a transaction.

    Stops when fewer than RESERVE_MS are left, with `complete` False; another run goes on from
    there. Raises Unavailable and what Postgres raises: what was deleted until then is counted.
    """
    tidied = {it.metric: _tidy(database, it, remaining_ms, batch) for it in _tasks(settings, now)}
    deleted = {metric: total for metric, (total, _) in tidied.items()}
    return Tidied(
        rows=deleted[Metric.ROWS_TIDIED],
        ledger=deleted[Metric.LEDGER_TIDIED],
        tombstones=deleted[Metric.TOMBSTONES_TIDIED],
        complete=all(is_done for _, is_done in tidied.values()),
    )


def _tasks(settings: Settings, now: int) -> Iterator[_Task]:
    """Say what goes, from when: a tombstone outlives the entries that it keeps away."""
    tombstones_ms = max(
        settings.tombstone_retention_days * DAY_MS,
        settings.memory_ttl_ms,
        settings.summary_ttl_ms,
    )
    rows_ms, ledger_ms = (
        settings.row_retention_days * DAY_MS,
        settings.ledger_retention_days * DAY_MS,
    )
    # Rows last: a backlog of them must not keep the others from their turn.
    yield _Task(_TIDY_LEDGER, now - int(ledger_ms), Metric.LEDGER_TIDIED)
    yield _Task(_TIDY_TOMBSTONES, now - int(tombstones_ms), Metric.TOMBSTONES_TIDIED)
    yield _Task(_TIDY_ROWS, now - int(rows_ms), Metric.ROWS_TIDIED)


def _tidy(
    database: Database, task: _Task, remaining_ms: Callable[[], int], batch: int
) -> tuple[int, bool]:
    """Return how many rows are gone, and whether they are all."""

    def delete(connection: Connection[Any]) -> int:
        parameters = {"before": task.before, "batch": batch}
        return connection.execute(task.statement, parameters).rowcount

    total = 0
    try:
        while remaining_ms() >= RESERVE_MS:
            deleted = database.run(delete)
            total += deleted
            if deleted < batch:
                return total, True
        return total, False
    finally:
        telemetry.count(task.metric, total)
