"""A batch of work in one transaction (design, section 6).

With `notes` below it the only SQL that writes memory rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import Connection

from shortterm.work import Work
from writer import notes
from writer.forgetting import tombstones, without_forgotten
from writer.rows import Change, changes, counting_once, notes_of, turns_of, turns_since_notes

# What one message's content can cause: another message of the batch is not to blame for it.
DATA_ERRORS = (psycopg.DataError, psycopg.IntegrityError)

# The advisory lock between whole batches, which share it, and who must be alone: a batch that is
# applied message by message and locks its rows in no order, and a tombstone that takes its rows
# (migration 0003). "one by o" in ASCII.
_ONE_BY_ONE = 0x6F6E65206279206F

# Arrays travel as text that the server splits, since psycopg takes longer over a list than Postgres
# over the whole statement. No id holds a comma, and none is empty (wire.Id).
_RECORD_TURNS = """
WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(%(gate)s))
INSERT INTO applied_turns (turn_id)
SELECT unnest(string_to_array(%(turn_ids)s, ',')) FROM gate
ON CONFLICT (turn_id) DO NOTHING
RETURNING turn_id
"""

# A placeholder never overwrites what a summary owns; the counter takes what is new; lineage, server
# and parent are filled in once. Whether it is private the latest turn says, and of two at the same
# time the one that says yes; a thread under a private channel is private whatever is said, and
# stays as private as it was when nothing of that channel is known any more. Notes, which have no
# time of a turn, fill in a lineage and no more. A row that would not change is locked, not written.
_WRITE_ROWS = """
INSERT INTO short_term_memories AS held (
    scope, owner_id, channel_id, persona_id, persona_lineage_id,
    server_id, parent_channel_id, is_private, turns_since_refresh, last_turn_at
)
SELECT
    scope, owner_id, channel_id, persona_id, persona_lineage_id,
    server_id, parent_channel_id,
    is_private OR (parent_channel_id IS NOT NULL AND coalesce((
        SELECT parent.is_private
        FROM short_term_memories AS parent
        WHERE parent.channel_id = work.parent_channel_id AND parent.scope = 'server'
        ORDER BY parent.last_turn_at DESC NULLS LAST
        LIMIT 1
    ), false)),
    turns, to_timestamp(last_turn_ms / 1000.0::float8)
FROM unnest(
    string_to_array(%(scope)s, ','),
    string_to_array(%(owner_id)s, ','),
    string_to_array(%(channel_id)s, ','),
    string_to_array(%(persona_id)s, ',', ''),
    string_to_array(%(persona_lineage_id)s, ',', ''),
    string_to_array(%(server_id)s, ',', ''),
    string_to_array(%(parent_channel_id)s, ',', ''),
    string_to_array(%(is_private)s, ',')::boolean[],
    string_to_array(%(turns)s, ',')::integer[],
    string_to_array(%(last_turn_ms)s, ',', '')::bigint[]
) AS work (
    scope, owner_id, channel_id, persona_id, persona_lineage_id,
    server_id, parent_channel_id, is_private, turns, last_turn_ms
)
ON CONFLICT ON CONSTRAINT one_row_per_scope DO UPDATE SET
    turns_since_refresh = held.turns_since_refresh + excluded.turns_since_refresh,
    persona_lineage_id = coalesce(held.persona_lineage_id, excluded.persona_lineage_id),
    server_id = CASE
        WHEN excluded.last_turn_at IS NULL THEN held.server_id
        ELSE coalesce(held.server_id, excluded.server_id)
    END,
    parent_channel_id = CASE
        WHEN excluded.last_turn_at IS NULL THEN held.parent_channel_id
        ELSE coalesce(held.parent_channel_id, excluded.parent_channel_id)
    END,
    is_private = CASE
        WHEN excluded.last_turn_at IS NULL THEN held.is_private
        WHEN held.last_turn_at > excluded.last_turn_at THEN held.is_private
        WHEN held.last_turn_at = excluded.last_turn_at THEN held.is_private OR excluded.is_private
        ELSE excluded.is_private OR (
            held.is_private AND held.parent_channel_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM short_term_memories AS parent
                WHERE parent.channel_id = held.parent_channel_id AND parent.scope = 'server'
            )
        )
    END,
    last_turn_at = greatest(held.last_turn_at, excluded.last_turn_at),
    updated_at = now()
WHERE excluded.turns_since_refresh > 0
    OR held.last_turn_at IS DISTINCT FROM greatest(held.last_turn_at, excluded.last_turn_at)
    OR (held.last_turn_at = excluded.last_turn_at AND excluded.is_private AND NOT held.is_private)
    OR (held.persona_lineage_id IS NULL AND excluded.persona_lineage_id IS NOT NULL)
"""


class Applied(NamedTuple):
    """What became of a batch: turns that were new or repeated, messages with notes, lost scopes.

    `notes` counts also those that changed nothing; `forgotten` the scopes of messages, of either
    kind, that a tombstone covered.
    """

    turns: int = 0
    repeated: int = 0
    notes: int = 0
    forgotten: int = 0

    def plus(self, other: "Applied") -> "Applied":
        """Return what became of both batches."""
        return Applied(*map(sum, zip(self, other, strict=True)))


def apply(connection: Connection[Any], works: Sequence[Work]) -> Applied:
    """Apply `works` in one transaction; return what became of them.

    Applying the same work again changes nothing. Raises what Postgres raises, and then nothing is
    applied; DATA_ERRORS mean that one of `works` is at fault.
    """
    with connection.transaction():
        return _apply(connection, works)


def apply_each(
    connection: Connection[Any], works: Sequence[Work]
) -> tuple[Applied, dict[int, Exception]]:
    """Apply `works` in one transaction, each in a savepoint of its own, in the order of capture.

    Returns what became of them, and the DATA_ERRORS by position of what could not be applied: a bad
    message fails alone and the rest commit. Raises what else Postgres raises, and then nothing is
    applied.
    """
    applied = Applied()
    errors: dict[int, Exception] = {}
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_BY_ONE,))
        for position, work in sorted(enumerate(works), key=lambda it: it[1].known_at):
            try:
                with connection.transaction():
                    applied = applied.plus(_apply(connection, [work]))
            except DATA_ERRORS as error:
                errors[position] = error
    return applied, errors


def _apply(connection: Connection[Any], works: Sequence[Work]) -> Applied:
    """Record the turns, all of them before any row, so that two writers never wait in a circle."""
    turns = turns_of(works)
    turn_ids = sorted({it.turn_id for it in turns})
    recorded = connection.execute(
        _RECORD_TURNS, {"gate": _ONE_BY_ONE, "turn_ids": _joined(turn_ids)}
    ).fetchall()
    # Not within the statement that waited at the gate, whose snapshot is from before: only a later
    # one sees the tombstone that went first. Those behind wait until this batch has committed.
    known = without_forgotten(works, tombstones(connection, works))
    counting = counting_once(known, (turn_id for (turn_id,) in recorded))
    if touched := changes(counting):
        arrays = map(_joined, zip(*touched, strict=True))
        connection.execute(_WRITE_ROWS, dict(zip(Change._fields, arrays, strict=True)))
    if told := [it for it in notes_of(known) if it.scopes]:
        notes.write(connection, told, turns_since_notes(counting))
    return Applied(
        turns=len(recorded),
        repeated=len(turns) - len(recorded),
        notes=len(told),
        forgotten=_scopes(works) - _scopes(known),
    )


def _scopes(works: Sequence[Work]) -> int:
    return sum(len(work.scopes) for work in works)


def _joined(values: Sequence[object]) -> str:
    """Return `values` as the text of an array, None as the empty string.

    Raises ValueError for a value with a comma, which would shift those behind it.
    """
    text = ",".join("" if value is None else str(value) for value in values)
    if text.count(",") != max(len(values) - 1, 0):
        raise ValueError("an id holds a comma")
    return text
