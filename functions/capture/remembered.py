"""An entry as it is answered."""

from capture.dialogue import Line
from capture.entry import Entry
from shortterm.scope import ScopeKind
from shortterm.wire import Millis, Private


class Remembered(Private, frozen=True):
    """What is remembered of a scope; times are in ms since the epoch."""

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
    updated_at: Millis


def remembered(entry: Entry, lines: tuple[Line, ...]) -> Remembered:
    """Return `entry` as it is answered, with those of its lines that may be told."""
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
        lines=lines,
        summary=entry.notes.summary,
        categories=entry.notes.by_category,
        turns_since_refresh=entry.turns_since_refresh,
        last_refreshed_turn=entry.last_refreshed_turn,
        updated_at=entry.updated_at,
    )
