"""The read use case: what memory and rows together know for the next prompt (design, section 7)."""

from collections.abc import Iterable
from itertools import islice
from typing import Literal

from msgspec import Struct

from capture.durable import Away, Durable, Reading, Wanted
from capture.entry import Entry
from capture.memory import Memory
from capture.query import Asker
from capture.remembered import Remembered, remembered
from capture.row import Row
from shortterm.scope import Scope
from shortterm.wire import Private

WithoutDatabase = Literal["serve", "withhold"]


class Container(Struct, frozen=True):
    """The container that answers: its id, and since when (ms) it remembers."""

    id: str
    since: int


class MemoryState(Struct, frozen=True):
    """How much the answer can know.

    `cold` if this container holds nothing of the owner, `stale` if a row that is answered saw a
    later turn than this container.
    """

    container: str
    since: int
    state: Literal["warm", "cold", "stale"]


class Recollection(Private, frozen=True):
    """What is remembered, the other channels newest first.

    `turns_since_refresh` is that of the live scope of the asked channel. `durable` is unavailable
    if the rows could not be read.
    """

    current: Remembered | None
    others: tuple[Remembered, ...]
    turns_since_refresh: int
    memory: MemoryState
    durable: Literal["fresh", "unavailable"]


_NOTHING_READ = Reading((), ())


def recall(
    asker: Asker,
    memory: Memory,
    durable: Durable,
    container: Container,
    *,
    limit: int,
    now: int,
    without_database: WithoutDatabase,
) -> Recollection:
    """Return what is known for the asked channel and persona, and for `limit` other channels.

    What memory holds is merged with the rows, also those of scopes that this container never saw.
    Others are narrowed to a persona lineage when asked. What was captured in a private channel, or
    in a thread under one, is shown only to a private channel, and only of the same server. When
    the rows cannot be read, and with them who was forgotten elsewhere, memory alone answers, or
    nothing, as `without_database` says.
    """
    held = _held(asker, memory, limit)
    try:
        reading = durable.read(_wanted(asker, held, memory, limit, now), obeyed=memory.obeyed)
        is_fresh = True
        if reading.tombstones:
            memory.obey(reading.tombstones)
            held = _held(asker, memory, limit)
    except Away:
        reading, is_fresh = _NOTHING_READ, False
        if without_database == "withhold":
            held = {}

    rows = {row.scope: row for row in reading.rows}
    sight = _Sight(asker, memory, reading.private_parents)
    hidden = {scope for scope, row in rows.items() if row.is_hidden}
    known = (_joined(held.get(scope), rows.get(scope)) for scope in held | rows)
    shown = [
        it
        for it in known
        if it.scope not in hidden and sight.may_see(it) and _is_alive(it, memory, now)
    ]
    current = next((it for it in shown if it.scope == asker.asked), None)
    newest_first = sorted(shown, key=lambda it: it.updated_at, reverse=True)
    others = [it for it in newest_first if it.scope != asker.asked][:limit]
    return Recollection(
        current=None if current is None else _remembered(current, memory),
        others=tuple(_remembered(it, memory) for it in others),
        turns_since_refresh=_turns(current, asker, memory, reading.live, sight, now),
        memory=MemoryState(
            container.id, container.since, _state(asker, memory, held, rows, [current, *others])
        ),
        durable="fresh" if is_fresh else "unavailable",
    )


class _Sight:
    """What the asker may see."""

    def __init__(self, asker: Asker, memory: Memory, private_parents: frozenset[str]) -> None:
        self._asker = asker
        self._memory = memory
        self._private_parents = private_parents

    def may_see(self, entry: Entry) -> bool:
        """Tell whether `entry` may be seen (design, section 7).

        Private channels are one-way, and what was private on another server stays there.
        """
        asker, window = self._asker, entry.window
        same_server = window.server_id == asker.server_id
        if not same_server and not asker.include_other_servers:
            return False
        if same_server and asker.is_private_channel:
            return True
        parent_id = window.parent_channel_id
        return not (
            window.is_private
            or self._memory.is_private(entry.scope.channel_id)
            or (parent_id is not None and self._is_private(parent_id))
        )

    def _is_private(self, parent_id: str) -> bool:
        return self._memory.is_private(parent_id) or parent_id in self._private_parents


def _held(asker: Asker, memory: Memory, limit: int) -> dict[Scope, Entry]:
    """Return the entries that answer as far as memory knows, by scope: the asked one first."""
    sight = _Sight(asker, memory, frozenset())
    lineage_id = asker.persona_lineage_id
    others = (
        entry
        for entry in memory.of_owner(asker.kind, asker.owner_id)
        if entry.scope.channel_id != asker.channel_id
        and (lineage_id is None or entry.persona_lineage_id == lineage_id)
        and sight.may_see(entry)
    )
    asked = memory.get(asker.asked)
    entries = {} if asked is None else {asked.scope: asked}
    return entries | {entry.scope: entry for entry in islice(others, limit)}


def _wanted(asker: Asker, held: dict[Scope, Entry], memory: Memory, limit: int, now: int) -> Wanted:
    parents = {it.window.parent_channel_id for it in held.values()}
    return Wanted(
        asked=asker.asked,
        server_id=asker.server_id,
        lineage_id=asker.persona_lineage_id,
        everywhere=asker.include_other_servers,
        sees_private=asker.is_private_channel,
        scopes=tuple(held.keys() | {asker.asked}),
        parent_ids=tuple(it for it in parents if it is not None),
        limit=limit,
        alive_since=now - memory.ttl_ms,
        summary_alive_since=now - memory.summary_ttl_ms,
    )


def _joined(entry: Entry | None, row: Row | None) -> Entry:
    """Return what is known of a scope that memory, a row or both know."""
    if row is None:
        assert entry is not None  # noqa: S101
        return entry
    return row.entry if entry is None else entry.joined(row.entry)


def _is_alive(entry: Entry, memory: Memory, now: int) -> bool:
    life = memory.summary_ttl_ms if entry.notes.summary else memory.ttl_ms
    return entry.updated_at + life > now


def _turns(
    current: Entry | None, asker: Asker, memory: Memory, row: Row | None, sight: _Sight, now: int
) -> int:
    """Return the turns since the refresh of the live scope, as far as the asker may know."""
    if asker.live == asker.asked:
        return 0 if current is None else current.turns_since_refresh
    entry = memory.get(asker.live)
    if entry is None and row is None:
        return 0
    live = _joined(entry, row)
    known = sight.may_see(live) and _is_alive(live, memory, now)
    return live.turns_since_refresh if known else 0


def _state(
    asker: Asker,
    memory: Memory,
    held: dict[Scope, Entry],
    rows: dict[Scope, Row],
    shown: Iterable[Entry | None],
) -> Literal["warm", "cold", "stale"]:
    if not memory.knows(asker.kind, asker.owner_id):
        return "cold"
    for it in shown:
        row = None if it is None else rows.get(it.scope)
        entry = None if it is None else held.get(it.scope)
        seen_at = entry.window.occurred_at if entry else -1
        if row and row.last_turn_at is not None and row.last_turn_at > seen_at:
            return "stale"
    return "warm"


def _remembered(entry: Entry, memory: Memory) -> Remembered:
    return remembered(entry, memory.lines(entry.window))
