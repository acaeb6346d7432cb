"""The read use case: what memory and rows together know for the next prompt (design, section 7)."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Literal, TypeGuard, cast

from msgspec import Struct

from capture.container import Container
from capture.durable import Away, Durable, Reading, Wanted
from capture.entry import Entry
from capture.memory import Memory
from capture.obedience import obedient
from capture.query import Asker
from capture.remembered import Remembered, remembered
from capture.row import Row
from capture.settings import WithoutDatabase
from shortterm.scope import Scope
from shortterm.wire import Private


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


_NOTHING_READ = Reading((), (), frozenset())


def _nobody_knows(_: str) -> bool:
    return False


def recall(
    asker: Asker,
    memory: Memory,
    durable: Durable,
    container: Container,
    *,
    limit: int,
    telling: bool = False,
    now: int,
    without_database: WithoutDatabase,
) -> Recollection:
    """Return what is known for the asked channel and persona, and for `limit` other channels.

    What memory holds is merged with the rows, also those of scopes that this container never saw:
    if `telling`, with a summary or categories. Others are narrowed to a persona lineage when asked.
    What was captured in a private channel, or in a thread under one, is shown only to a private
    channel, and only of the same server. When the rows cannot be read, and with them who was
    forgotten elsewhere, memory alone answers, or nothing, as `without_database` says.
    """
    asked = asker.asked
    held = _held(asker, asked, memory, limit)
    wanted = _wanted(asker, asked, held, memory, limit, telling, now)
    is_private: Callable[[str], bool]
    withheld, obeyed_before = False, memory.obeyed
    try:
        reading = obedient(memory, lambda obeyed: durable.read(wanted, obeyed=obeyed))
    except Away:
        is_fresh, reading = False, _NOTHING_READ
        is_private = memory.was_told_private
        withheld = without_database == "withhold"
        held = {} if withheld else held
    else:
        is_fresh, is_private = True, reading.private_parents.__contains__
        _learn_privacy(asker, wanted, reading, memory)
        held = held if memory.obeyed == obeyed_before else _held(asker, asked, memory, limit)

    hidden = {row.scope for row in reading.rows if row.is_hidden}

    def shows(entry: Entry | None) -> TypeGuard[Entry]:
        return (
            entry is not None
            and entry.scope not in hidden
            and _may_see(asker, entry, memory, is_private)
            and memory.lives(entry, now)
        )

    rows = {row.scope: row for row in reading.rows}
    live_row = None if asker.live == asked else rows.pop(asker.live, None)
    # What memory holds of a row that only others or a lineage brought up belongs to it, too.
    known = (_joined(held.get(it) or memory.get(it), rows.get(it)) for it in held | rows)
    shown = list(filter(shows, known))
    current = next((it for it in shown if it.scope == asked), None)
    newest_first = sorted(shown, key=lambda it: it.updated_at, reverse=True)
    others = [it for it in newest_first if it is not current][:limit]
    live = current
    if asker.live != asked:
        live = None if withheld else _joined(memory.get(asker.live), live_row)
    state = _state(asker, memory, held, rows, others if current is None else [current, *others])
    return Recollection(
        current=None if current is None else _remembered(current, memory),
        others=tuple(_remembered(it, memory) for it in others),
        turns_since_refresh=live.turns_since_refresh if shows(live) else 0,
        memory=MemoryState(container.id, container.since, state),
        durable="fresh" if is_fresh else "unavailable",
    )


def _held(asker: Asker, asked: Scope, memory: Memory, limit: int) -> dict[Scope, Entry]:
    """Return the entries that answer as far as memory knows, by scope."""
    lineage_id = asker.persona_lineage_id
    others = (
        entry
        for entry in memory.of_owner(asked.kind, asked.owner_id)
        if entry.scope.channel_id != asked.channel_id
        and (lineage_id is None or entry.persona_lineage_id == lineage_id)
        and _may_see(asker, entry, memory)
    )
    entry = memory.get(asked)
    held = {} if entry is None else {asked: entry}
    return held | {it.scope: it for it in islice(others, limit)}


def _may_see(
    asker: Asker, entry: Entry, memory: Memory, is_private: Callable[[str], bool] = _nobody_knows
) -> bool:
    """Tell whether `entry` may be seen (design, section 7).

    Private channels are one-way, and what was private on another server stays there. `is_private`
    tells what the rows know of a channel.
    """
    window = entry.window
    same_server = window.server_id == asker.server_id
    if not same_server and not asker.include_other_servers:
        return False
    if same_server and asker.is_private_channel:
        return True
    channel_id, parent_id = entry.scope.channel_id, window.parent_channel_id
    return not (
        window.is_private
        or memory.is_private(channel_id)
        or is_private(channel_id)
        or (parent_id is not None and (memory.is_private(parent_id) or is_private(parent_id)))
    )


def _wanted(
    asker: Asker,
    asked: Scope,
    held: dict[Scope, Entry],
    memory: Memory,
    limit: int,
    telling: bool,
    now: int,
) -> Wanted:
    parents = {it.window.parent_channel_id for it in held.values()} - {None}
    return Wanted(
        asked=asked,
        server_id=asker.server_id,
        lineage_id=asker.persona_lineage_id,
        everywhere=asker.include_other_servers,
        sees_private=asker.is_private_channel,
        telling=telling,
        scopes=tuple(held if asked in held else {asked: None, **held}),
        parent_ids=tuple(cast("set[str]", parents)),
        limit=limit,
        alive_since=now - memory.ttl_ms,
        summary_alive_since=now - memory.summary_ttl_ms,
    )


def _learn_privacy(asker: Asker, wanted: Wanted, reading: Reading, memory: Memory) -> None:
    """Let memory know what the rows tell, for when they cannot be read."""
    told = {parent_id: parent_id in reading.private_parents for parent_id in wanted.parent_ids}
    # To whom may see everything nothing is hidden.
    if not asker.is_private_channel:
        hidden = {row.channel_id for row in reading.rows if row.is_hidden}
        told |= {row.channel_id: row.channel_id in hidden for row in reading.rows}
    memory.learn_privacy(told)


def _joined(entry: Entry | None, row: Row | None) -> Entry | None:
    """Return what is known of a scope that memory, a row or both know."""
    if row is None:
        return entry
    return row.entry if entry is None else entry.joined(row.entry)


def _state(
    asker: Asker,
    memory: Memory,
    held: dict[Scope, Entry],
    rows: dict[Scope, Row],
    shown: Iterable[Entry],
) -> Literal["warm", "cold", "stale"]:
    if not memory.knows(asker.kind, asker.owner_id):
        return "cold"
    for scope in (it.scope for it in shown):
        turned_at = rows[scope].last_turn_at if scope in rows else None
        entry = held.get(scope) or memory.get(scope)
        seen_at = entry.window.occurred_at if entry else -1
        if turned_at is not None and turned_at > seen_at:
            return "stale"
    return "warm"


def _remembered(entry: Entry, memory: Memory) -> Remembered:
    return remembered(entry, memory.lines(entry.window))
