"""The use case: everything that is known about a user, for the user (design, section 4)."""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, UnsetType

from capture.container import Container
from capture.durable import Durable
from capture.entry import Entry
from capture.memory import Memory
from capture.obedience import obedient
from capture.query import ExportQuery
from capture.remembered import Remembered, remembered
from capture.room import MAX_ANSWER_BYTES, Room
from capture.row import Row
from shortterm.wire import Millis, Private

# How many rows one answer has room for; the rest comes with the next.
ROWS = 1_000

NOT_INCLUDED = (
    "the memory of other containers: lines captured there, for as long as their entries live",
    "work on its way to the database: posted within the last seconds, or while it was away",
)


class ExportedRow(Private, frozen=True):
    """A row, whole; times are in ms since the epoch."""

    key: str
    server_id: str | None
    channel_id: str
    parent_channel_id: str | None
    is_private_channel: bool
    persona_id: str | None
    persona_lineage_id: str | None
    summary: str | None
    summary_told_at: Millis | None
    categories: dict[str, str]
    category_told_at: dict[str, Millis]
    turns_since_refresh: int
    last_refreshed_turn: int
    last_turn_at: Millis | None


class ExportedMemory(Private, frozen=True):
    """What the answering container remembers from `since` (ms since the epoch) on.

    `entries` are the user's; `said` is what the user said in the windows of others.
    """

    container: str
    since: Millis
    entries: list[Raw]
    said: list[Raw]


class Export(Private, frozen=True):
    """The answer; `next` is there if there are more rows, `memory` comes with the first ones.

    `exported_at` is in ms since the epoch; `truncated` tells that not all of this container's
    memory had room.
    """

    user_id: str
    exported_at: Millis
    rows: list[Raw]
    not_included: tuple[str, ...]
    memory: ExportedMemory | UnsetType = UNSET
    next: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


def export(
    user_id: str,
    query: ExportQuery,
    memory: Memory,
    durable: Durable,
    container: Container,
    *,
    now: int,
) -> Export:
    """Return what is durable about `user_id`, and what this container remembers.

    Raises Mismatch if `after` is no key of this user's, and Away.
    """
    after = query.scope_after(user_id)
    reading = obedient(
        memory, lambda obeyed: durable.export(user_id, after, most=ROWS + 1, obeyed=obeyed)
    )
    rows = Room(MAX_ANSWER_BYTES // 2).as_many_as_fit(map(_exported, reading.rows[:ROWS]))
    more = len(rows) < len(reading.rows)
    room = Room(MAX_ANSWER_BYTES // 2)
    held = UNSET if after else _memory(user_id, memory, container, room)
    return Export(
        user_id=user_id,
        exported_at=now,
        rows=rows,
        not_included=NOT_INCLUDED,
        memory=held,
        next=reading.rows[len(rows) - 1].scope.key if more else UNSET,
        truncated=True if room.truncated else UNSET,
    )


def _memory(user_id: str, memory: Memory, container: Container, room: Room) -> ExportedMemory:
    entries = (remembered(it, memory.lines(it.window)) for it in memory.of_owner("user", user_id))
    return ExportedMemory(
        container=container.id,
        since=container.since,
        entries=room.as_many_as_fit(entries),
        said=room.as_many_as_fit(_said(user_id, memory)),
    )


def _said(user_id: str, memory: Memory) -> Iterator[Remembered]:
    """Yield the entries of others that the user spoke in, with the user's own lines only.

    Another user's is told as if it were this user's: nobody else is named.
    """
    for entry, lines in memory.lines_of(user_id):
        scope = entry.scope
        if scope.kind == "user":
            scope = msgspec.structs.replace(scope, owner_id=user_id)
        place = Entry(scope, entry.window, entry.updated_at, entry.created_at)
        yield remembered(place, lines)


def _exported(row: Row) -> ExportedRow:
    return ExportedRow(
        key=row.scope.key,
        server_id=row.server_id,
        channel_id=row.channel_id,
        parent_channel_id=row.parent_channel_id,
        is_private_channel=row.is_private,
        persona_id=row.persona_id,
        persona_lineage_id=row.persona_lineage_id,
        summary=row.summary,
        summary_told_at=row.summary_told_at,
        categories=row.categories,
        category_told_at=row.category_times,
        turns_since_refresh=row.turns_since_refresh,
        last_refreshed_turn=row.last_refreshed_turn,
        last_turn_at=row.last_turn_at,
    )
