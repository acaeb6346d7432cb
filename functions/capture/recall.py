"""The read use case: what this container remembers for the next prompt (design, section 7)."""

from heapq import nlargest
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from capture.dialogue import Line
from capture.entry import Entry
from capture.memory import Memory
from capture.query import Query
from shortterm.scope import Scope, ScopeKind
from shortterm.wire import Private

# Lambda answers with 6 MB at most, after escaping: other channels are left out before that.
MAX_OTHERS_BYTES = 2 * 2**20


class Container(Struct, frozen=True):
    """The container that answers: its id, and since when (ms) it remembers."""

    container: str
    since: int


class MemoryState(Struct, frozen=True):
    """How much the answer can know: `cold` if this container holds nothing of the owner."""

    container: str
    since: int
    state: Literal["warm", "cold"]


class Remembered(Private, frozen=True):
    """An entry as it is answered; times in ms since the epoch."""

    key: str
    scope: ScopeKind
    owner_id: str
    server_id: str | None
    server_name: str | None
    channel_id: str
    channel_name: str | None
    parent_channel_id: str | None
    is_private_channel: bool
    persona_id: str | None
    persona_lineage_id: str | None
    lines: tuple[Line, ...]
    summary: str | None
    categories: dict[str, str]
    turns_since_refresh: int
    last_refreshed_turn: int
    updated_at: int


class Recollection(Private, frozen=True):
    """The answer; `truncated` is there only if channels were left out for their size."""

    current: Remembered | None
    others: list[Raw]
    memory: MemoryState
    durable: Literal["fresh", "unavailable"]
    truncated: bool | UnsetType = UNSET


_encode = msgspec.json.Encoder().encode


def recall(query: Query, memory: Memory, container: Container) -> Recollection:
    """Return what `memory` holds for the asked channel and persona, and for the other channels.

    Others come newest first, narrowed to a persona lineage when asked. What was captured in a
    private channel, or in a thread under one, is shown only to a private channel, and only of the
    same server.
    """
    kind, owner_id = query.kind, query.owner_id
    known = memory.of_owner(kind, owner_id)
    asked = Scope(kind, owner_id, query.channel_id, query.persona_id)
    visible = [entry for entry in known if _may_see(query, entry, memory)]
    current = next((entry for entry in visible if entry.scope == asked), None)
    others = nlargest(
        query.limit,
        (entry for entry in visible if _is_another_channel(query, entry)),
        key=lambda entry: (entry.updated_at, entry.window.occurred_at, entry.scope.key),
    )
    answered, truncated = _within_bounds(others)
    return Recollection(
        current=None if current is None else _remembered(current),
        others=answered,
        memory=MemoryState(container.container, container.since, "warm" if known else "cold"),
        durable="unavailable",
        truncated=True if truncated else UNSET,
    )


def _may_see(query: Query, entry: Entry, memory: Memory) -> bool:
    window = entry.window
    same_server = window.server_id == query.server_id
    if not same_server and not query.include_other_servers:
        return False
    parent = window.parent_channel_id
    private = window.is_private or (parent is not None and memory.is_private(parent))
    return not private or (same_server and query.is_private_channel)


def _is_another_channel(query: Query, entry: Entry) -> bool:
    lineage_id = query.persona_lineage_id
    return entry.scope.channel_id != query.channel_id and (
        lineage_id is None or entry.persona_lineage_id == lineage_id
    )


def _within_bounds(entries: list[Entry]) -> tuple[list[Raw], bool]:
    room = MAX_OTHERS_BYTES
    answered: list[Raw] = []
    for entry in entries:
        encoded = _encode(_remembered(entry))
        room -= len(encoded)
        if room < 0:
            return answered, True
        answered.append(Raw(encoded))
    return answered, False


def _remembered(entry: Entry) -> Remembered:
    scope, window = entry.scope, entry.window
    return Remembered(
        key=scope.key,
        scope=scope.kind,
        owner_id=scope.owner_id,
        server_id=window.server_id,
        server_name=window.server_name,
        channel_id=scope.channel_id,
        channel_name=window.channel_name,
        parent_channel_id=window.parent_channel_id,
        is_private_channel=window.is_private,
        persona_id=scope.persona_id,
        persona_lineage_id=entry.persona_lineage_id,
        lines=window.lines,
        summary=entry.summary,
        categories=dict(entry.categories),
        turns_since_refresh=entry.turns_since_refresh,
        last_refreshed_turn=entry.last_refreshed_turn,
        updated_at=entry.updated_at,
    )
