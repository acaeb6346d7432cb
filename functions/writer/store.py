"""The only SQL that writes memory rows: a batch of work in one transaction (design, section 6)."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import Connection

from shortterm.scope import Scope
from shortterm.work import ScopeWork, TurnWork

# What one message's content can cause: another message of the batch is not to blame for it.
DATA_ERRORS = (psycopg.DataError, psycopg.IntegrityError)

# The advisory lock between whole batches, which share it, and a batch that is applied message by
# message, which locks its rows in no order and so must be alone: "one by o" in ASCII.
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
# time the one that says yes. A row that would not change is not written.
_WRITE_ROWS = """
INSERT INTO short_term_memories AS held (
    scope, owner_id, channel_id, persona_id, persona_lineage_id,
    server_id, parent_channel_id, is_private, turns_since_refresh, last_turn_at
)
SELECT
    scope, owner_id, channel_id, persona_id, persona_lineage_id,
    server_id, parent_channel_id, is_private, turns, to_timestamp(last_turn_ms / 1000.0::float8)
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
    string_to_array(%(last_turn_ms)s, ',')::bigint[]
) AS work (
    scope, owner_id, channel_id, persona_id, persona_lineage_id,
    server_id, parent_channel_id, is_private, turns, last_turn_ms
)
ON CONFLICT ON CONSTRAINT one_row_per_scope DO UPDATE SET
    turns_since_refresh = held.turns_since_refresh + excluded.turns_since_refresh,
    persona_lineage_id = coalesce(held.persona_lineage_id, excluded.persona_lineage_id),
    server_id = coalesce(held.server_id, excluded.server_id),
    parent_channel_id = coalesce(held.parent_channel_id, excluded.parent_channel_id),
    is_private = CASE
        WHEN held.last_turn_at > excluded.last_turn_at THEN held.is_private
        WHEN held.last_turn_at = excluded.last_turn_at THEN held.is_private OR excluded.is_private
        ELSE excluded.is_private
    END,
    last_turn_at = greatest(held.last_turn_at, excluded.last_turn_at),
    updated_at = now()
WHERE excluded.turns_since_refresh > 0
    OR held.last_turn_at IS DISTINCT FROM greatest(held.last_turn_at, excluded.last_turn_at)
    OR (held.last_turn_at = excluded.last_turn_at AND excluded.is_private AND NOT held.is_private)
    OR (held.persona_lineage_id IS NULL AND excluded.persona_lineage_id IS NOT NULL)
"""


class Row(NamedTuple):
    """What a batch does to one row: the turns to add, and what the latest of them says."""

    scope: str
    owner_id: str
    channel_id: str
    persona_id: str | None
    persona_lineage_id: str | None
    server_id: str | None
    parent_channel_id: str | None
    is_private: bool
    turns: int
    last_turn_ms: int


def apply(connection: Connection[Any], works: Sequence[TurnWork]) -> int:
    """Apply `works` in one transaction; return how many of their turns were new.

    Applying the same turn again changes no counter. Raises what Postgres raises, and then nothing
    is applied; DATA_ERRORS mean that one of `works` is at fault.
    """
    with connection.transaction():
        return _apply(connection, works)


def apply_each(
    connection: Connection[Any], works: Sequence[TurnWork]
) -> tuple[int, dict[int, Exception]]:
    """Apply `works` in one transaction, each in a savepoint of its own.

    Returns how many turns were new, and the DATA_ERRORS by position of what could not be applied:
    a bad message fails alone and the rest commit.
    """
    new = 0
    errors: dict[int, Exception] = {}
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_BY_ONE,))
        for position, work in enumerate(works):
            try:
                with connection.transaction():
                    new += _apply(connection, [work])
            except DATA_ERRORS as error:
                errors[position] = error
    return new, errors


def rows(works: Iterable[TurnWork], new_turns: Iterable[str]) -> list[Row]:
    """Return what `works` do to each row, in the one order in which every writer takes its locks.

    Of several works for one row, the turns that are new add up, each once however often it comes;
    the first lineage, server and parent stand, and the latest time and privacy. Pure.
    """
    uncounted = set(new_turns)
    by_scope: dict[Scope, Row] = {}
    for work in sorted(works, key=lambda it: it.occurred_at):
        new = work.turn_id in uncounted
        uncounted.discard(work.turn_id)
        for it in work.scopes:
            by_scope[it.scope] = _row(work, it, by_scope.get(it.scope), turns=int(new and it.live))
    return sorted(by_scope.values(), key=lambda row: (*row[:3], row.persona_id or ""))


def _row(work: TurnWork, it: ScopeWork, earlier: Row | None, *, turns: int) -> Row:
    scope = it.scope
    return Row(
        scope.kind,
        scope.owner_id,
        scope.channel_id,
        scope.persona_id,
        (earlier and earlier.persona_lineage_id) or it.persona_lineage_id,
        (earlier and earlier.server_id) or work.server_id,
        (earlier and earlier.parent_channel_id) or work.parent_channel_id,
        work.is_private or _was_private_then(work, earlier),
        turns + (earlier.turns if earlier else 0),
        work.occurred_at,
    )


def _was_private_then(work: TurnWork, earlier: Row | None) -> bool:
    return earlier is not None and earlier.is_private and earlier.last_turn_ms == work.occurred_at


def _apply(connection: Connection[Any], works: Sequence[TurnWork]) -> int:
    """Record the turns, all of them before any row, so that two writers never wait in a circle."""
    turn_ids = sorted({work.turn_id for work in works})
    recorded = connection.execute(
        _RECORD_TURNS, {"gate": _ONE_BY_ONE, "turn_ids": _joined(turn_ids)}
    ).fetchall()
    columns = zip(*rows(works, (turn_id for (turn_id,) in recorded)), strict=True)
    arrays = map(_joined, columns)
    connection.execute(_WRITE_ROWS, dict(zip(Row._fields, arrays, strict=True)))
    return len(recorded)


def _joined(values: Sequence[object]) -> str:
    """Return `values` as the text of an array, None as the empty string.

    Raises ValueError for a value with a comma, which would shift those behind it.
    """
    text = ",".join("" if value is None else str(value) for value in values)
    if text.count(",") != len(values) - 1:
        raise ValueError("an id holds a comma")
    return text
