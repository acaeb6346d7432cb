"""What bots told of scopes, joined into their rows: the only SQL that writes what notes own."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import msgspec
from psycopg import Connection

from shortterm.notes import Notes, from_columns, join
from shortterm.scope import Scope
from shortterm.work import NotesWork

_READ_NOTES = """
SELECT
    held.scope, held.owner_id, held.channel_id, held.persona_id,
    held.summary, (extract(epoch FROM held.summary_updated_at) * 1000)::bigint,
    held.categories, held.category_times
FROM unnest(
    %(scope)s::text[], %(owner_id)s::text[], %(channel_id)s::text[], %(persona_id)s::text[]
) AS asked (scope, owner_id, channel_id, persona_id)
JOIN short_term_memories AS held
    ON (held.scope, held.owner_id, held.channel_id)
        = (asked.scope, asked.owner_id, asked.channel_id)
    AND held.persona_id IS NOT DISTINCT FROM asked.persona_id
"""

# JSON, not joined text: a summary holds any character. The cadence starts anew with what was told
# later than anything before: its turns move from one counter to the other, and none is lost.
_WRITE_NOTES = """
UPDATE short_term_memories AS held SET
    summary = told.summary,
    summary_updated_at = told.summary_updated_at,
    categories = told.categories,
    category_times = told.category_times,
    last_refreshed_turn = held.last_refreshed_turn + CASE
        WHEN held.refreshed_at >= told.told_at THEN 0
        ELSE held.turns_since_refresh - told.turns_since
    END,
    turns_since_refresh = CASE
        WHEN held.refreshed_at >= told.told_at THEN held.turns_since_refresh
        ELSE told.turns_since
    END,
    refreshed_at = greatest(held.refreshed_at, told.told_at),
    updated_at = now()
FROM jsonb_to_recordset(%(told)s::jsonb) AS told (
    scope text, owner_id text, channel_id text, persona_id text,
    summary text, summary_updated_at timestamptz, categories jsonb, category_times jsonb,
    told_at timestamptz, turns_since integer
)
WHERE (held.scope, held.owner_id, held.channel_id) = (told.scope, told.owner_id, told.channel_id)
    AND held.persona_id IS NOT DISTINCT FROM told.persona_id
"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write(
    connection: Connection[Any], works: Sequence[NotesWork], turns_since: Mapping[Scope, int]
) -> None:
    """Join the notes of `works` into their rows, which the transaction has locked.

    Of the turns that the rows have counted by now, `turns_since` were captured after the notes. A
    row that knew all of it already is not written. Raises what Postgres raises.
    """
    told = told_by_scope(works)
    held = _held(connection, list(told))
    joined = {scope: reduce(join, told[scope], notes) for scope, notes in held.items()}
    changed = [
        _record(scope, it, turns_since.get(scope, 0))
        for scope, it in joined.items()
        if it != held[scope]
    ]
    if changed:
        connection.execute(_WRITE_NOTES, {"told": msgspec.json.encode(changed).decode()})


def told_by_scope(works: Sequence[NotesWork]) -> dict[Scope, list[Notes]]:
    """Return what `works` tell of each scope, in the order of their capture. Pure."""
    told: dict[Scope, list[Notes]] = {}
    for work in sorted(works, key=lambda it: it.captured_at):
        for it in work.scopes:
            told.setdefault(it.scope, []).append(work.notes)
    return told


def _held(connection: Connection[Any], scopes: Sequence[Scope]) -> dict[Scope, Notes]:
    asked = {
        "scope": [it.kind for it in scopes],
        "owner_id": [it.owner_id for it in scopes],
        "channel_id": [it.channel_id for it in scopes],
        "persona_id": [it.persona_id for it in scopes],
    }
    found = connection.execute(_READ_NOTES, asked).fetchall()
    return {Scope(*row[:4]): from_columns(*row[4:]) for row in found}


def _record(scope: Scope, notes: Notes, turns_since: int) -> dict[str, Any]:
    return {
        "scope": scope.kind,
        "owner_id": scope.owner_id,
        "channel_id": scope.channel_id,
        "persona_id": scope.persona_id,
        "summary": notes.summary,
        "summary_updated_at": _timestamp(notes.summary_told_at),
        "categories": notes.by_category,
        "category_times": {it.name: it.told_at for it in notes.categories},
        "told_at": _timestamp(notes.told_at),
        "turns_since": turns_since,
    }


def _timestamp(ms: int | None) -> datetime | None:
    """Return the exact time, which a float of seconds would round."""
    return None if ms is None else _EPOCH + timedelta(milliseconds=ms)
