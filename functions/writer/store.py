"""The only SQL that writes memory rows: a batch of work in one transaction (design, section 6)."""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import Connection

from shortterm.work import TurnWork

# What one message's content can cause: another message of the batch is not to blame for it.
DATA_ERRORS = (psycopg.DataError, psycopg.IntegrityError)

# One statement, so one round trip. The ledger takes each turn once; the rows then take what the
# turns that were new to it add up to. Both take their locks in the order of their keys, so that two
# writers wait for each other but never in a circle. A row that would not change is not written.
_APPLY = """
WITH fresh AS (
    INSERT INTO applied_turns (turn_id)
    SELECT DISTINCT turn_id FROM unnest(%(turn_id)s::text[]) AS work (turn_id) ORDER BY turn_id
    ON CONFLICT (turn_id) DO NOTHING
    RETURNING turn_id
),
work AS (
    SELECT *
    FROM unnest(
        %(turn_id)s::text[], %(occurred_at)s::bigint[], %(scope)s::text[], %(owner_id)s::text[],
        %(channel_id)s::text[], %(persona_id)s::text[], %(persona_lineage_id)s::text[],
        %(live)s::boolean[], %(server_id)s::text[], %(parent_channel_id)s::text[],
        %(is_private)s::boolean[]
    ) AS work (
        turn_id, occurred_at, scope, owner_id,
        channel_id, persona_id, persona_lineage_id,
        live, server_id, parent_channel_id,
        is_private
    )
),
written AS (
    INSERT INTO short_term_memories AS held (
        scope, owner_id, channel_id, persona_id, persona_lineage_id,
        server_id, parent_channel_id, is_private, turns_since_refresh, last_turn_at
    )
    SELECT
        scope, owner_id, channel_id, persona_id,
        min(persona_lineage_id),
        max(server_id),
        max(parent_channel_id),
        bool_or(is_private),
        count(DISTINCT fresh.turn_id) FILTER (WHERE live),
        to_timestamp(max(occurred_at) / 1000.0)
    FROM work LEFT JOIN fresh USING (turn_id)
    GROUP BY scope, owner_id, channel_id, persona_id
    ORDER BY scope, owner_id, channel_id, persona_id
    ON CONFLICT ON CONSTRAINT one_row_per_scope DO UPDATE SET
        turns_since_refresh = held.turns_since_refresh + excluded.turns_since_refresh,
        persona_lineage_id = coalesce(held.persona_lineage_id, excluded.persona_lineage_id),
        server_id = coalesce(held.server_id, excluded.server_id),
        parent_channel_id = coalesce(held.parent_channel_id, excluded.parent_channel_id),
        is_private = CASE
            WHEN held.last_turn_at > excluded.last_turn_at THEN held.is_private
            ELSE excluded.is_private
        END,
        last_turn_at = greatest(held.last_turn_at, excluded.last_turn_at),
        updated_at = now()
    WHERE excluded.turns_since_refresh > 0
        OR held.last_turn_at IS DISTINCT FROM greatest(held.last_turn_at, excluded.last_turn_at)
        OR (held.persona_lineage_id IS NULL AND excluded.persona_lineage_id IS NOT NULL)
)
SELECT count(*) AS turns FROM fresh
"""


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
        for position, work in enumerate(works):
            try:
                with connection.transaction():
                    new += _apply(connection, [work])
            except DATA_ERRORS as error:
                errors[position] = error
    return new, errors


def _apply(connection: Connection[Any], works: Sequence[TurnWork]) -> int:
    answer = connection.execute(_APPLY, _columns(works)).fetchone()
    return int(answer[0]) if answer else 0


def _columns(works: Sequence[TurnWork]) -> dict[str, list[Any]]:
    """Return the scopes of `works` as one array per column, as `unnest` reads them."""
    rows = [(work, it, it.scope) for work in works for it in work.scopes]
    return {
        "turn_id": [work.turn_id for work, _, _ in rows],
        "occurred_at": [work.occurred_at for work, _, _ in rows],
        "scope": [scope.kind for _, _, scope in rows],
        "owner_id": [scope.owner_id for _, _, scope in rows],
        "channel_id": [scope.channel_id for _, _, scope in rows],
        "persona_id": [scope.persona_id for _, _, scope in rows],
        "persona_lineage_id": [it.persona_lineage_id for _, it, _ in rows],
        "live": [it.live for _, it, _ in rows],
        "server_id": [work.server_id for work, _, _ in rows],
        "parent_channel_id": [work.parent_channel_id for work, _, _ in rows],
        "is_private": [work.is_private for work, _, _ in rows],
    }
