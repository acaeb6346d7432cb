"""The read use case: what this container remembers for the next prompt (design, section 7)."""

from collections.abc import Iterable
from itertools import islice
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from capture.dialogue import Line
from capture.entry import Entry
from capture.memory import Memory
from capture.query import Query
from shortterm.scope import Scope, ScopeKind
from shortterm.wire import Private

# Lambda answers with 6 MB at most, after the runtime has escaped the body once more.
MAX_ANSWER_BYTES = 5 * 2**20


class Container(Struct, frozen=True):
    """The container that answers: its id, and since when (ms) it remembers."""

    id: str
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
    """The answer; `truncated` is there only if something was left out for its size."""

    current: Raw | None
    others: list[Raw]
    memory: MemoryState
    durable: Literal["fresh", "unavailable"]
    truncated: bool | UnsetType = UNSET


_encode = msgspec.json.Encoder().encode


def recall(query: Query, memory: Memory, container: Container) -> Recollection:
    """Return what `memory` holds for the asked channel and persona, and for the other channels.

    Others come newest first, narrowed to a persona lineage when asked. What was captured in a
    private channel, or in a thread under one that this container has seen, is shown only to a
    private channel, and only of the same server.
    """
    kind, owner_id = query.kind, query.owner_id
    asked = memory.get(Scope(kind, owner_id, query.channel_id, query.persona_id))
    current = asked if asked and _may_see(query, asked, memory) else None
    others = islice(
        (
            entry
            for entry in memory.of_owner(kind, owner_id)
            if _is_another_channel(query, entry) and _may_see(query, entry, memory)
        ),
        query.limit,
    )
    answer = _Answer(MAX_ANSWER_BYTES)
    return Recollection(
        current=answer.cut_to_fit(current) if current else None,
        others=answer.as_many_as_fit(others),
        memory=MemoryState(
            container.id, container.since, "warm" if memory.knows(kind, owner_id) else "cold"
        ),
        durable="unavailable",
        truncated=True if answer.truncated else UNSET,
    )


def _may_see(query: Query, entry: Entry, memory: Memory) -> bool:
    window = entry.window
    same_server = window.server_id == query.server_id
    if not same_server and not query.include_other_servers:
        return False
    if same_server and query.is_private_channel:
        return True
    parent = window.parent_channel_id
    return not (
        window.is_private
        or memory.is_private(entry.scope.channel_id)
        or (parent is not None and memory.is_private(parent))
    )


def _is_another_channel(query: Query, entry: Entry) -> bool:
    lineage_id = query.persona_lineage_id
    return entry.scope.channel_id != query.channel_id and (
        lineage_id is None or entry.persona_lineage_id == lineage_id
    )


class _Answer:
    """Encodes entries for as long as there is room."""

    def __init__(self, room: int) -> None:
        self._room = room
        self.truncated = False

    def cut_to_fit(self, entry: Entry) -> Raw:
        """Return `entry` encoded, without its oldest lines if it is too large with them."""
        remembered = _remembered(entry)
        encoded = _encode(remembered)
        if _weight(encoded) > self._room:
            self.truncated = True
            encoded = _encode(self._without_oldest_lines(remembered))
        self._room -= _weight(encoded)
        return Raw(encoded)

    def as_many_as_fit(self, entries: Iterable[Entry]) -> list[Raw]:
        """Return `entries` encoded, up to the first that does not fit."""
        fitting: list[Raw] = []
        for entry in entries:
            encoded = _encode(_remembered(entry))
            self._room -= _weight(encoded)
            if self._room < 0:
                self.truncated = True
                break
            fitting.append(Raw(encoded))
        return fitting

    def _without_oldest_lines(self, remembered: Remembered) -> Remembered:
        room = self._room - _weight(_encode(msgspec.structs.replace(remembered, lines=())))
        newest: list[Line] = []
        for line in reversed(remembered.lines):
            room -= _weight(_encode(line)) + len(",")
            if room < 0:
                break
            newest.append(line)
        return msgspec.structs.replace(remembered, lines=tuple(reversed(newest)))


def _weight(encoded: bytes) -> int:
    """Return the bytes that `encoded` takes as a string inside the function's own JSON answer."""
    return len(encoded) + encoded.count(b'"') + encoded.count(b"\\")


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
