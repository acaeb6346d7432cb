"""What Postgres holds for a scope, as a read sees it."""

from capture.entry import Entry
from capture.window import empty_window
from shortterm.notes import Notes, from_columns
from shortterm.scope import Scope, ScopeKind
from shortterm.wire import Private


class Row(Private, frozen=True, array_like=True):
    """A row of short_term_memories; times are in ms since the epoch.

    `live_at` is its last sign of life: its summary's or its last turn's time. `is_hidden` tells
    that the asker may not see it: it, its channel or the channel above it is private.
    """

    kind: ScopeKind
    owner_id: str
    channel_id: str
    persona_id: str | None
    server_id: str | None
    parent_channel_id: str | None
    persona_lineage_id: str | None
    is_private: bool
    summary: str | None
    summary_told_at: int | None
    categories: dict[str, str]
    category_times: dict[str, int]
    turns_since_refresh: int
    last_refreshed_turn: int
    last_turn_at: int | None
    live_at: int
    is_hidden: bool = False

    @property
    def scope(self) -> Scope:
        """Whose row it is."""
        return Scope(self.kind, self.owner_id, self.channel_id, self.persona_id)

    @property
    def notes(self) -> Notes:
        """Its summary and categories."""
        return from_columns(
            self.summary, self.summary_told_at, self.categories, self.category_times
        )

    @property
    def entry(self) -> Entry:
        """The row as an entry without lines, as old as its last sign of life."""
        window = empty_window(
            self.live_at,
            occurred_at=self.last_turn_at or 0,
            server_id=self.server_id,
            parent_channel_id=self.parent_channel_id,
            is_private=self.is_private,
        )
        return Entry(
            self.scope,
            window,
            updated_at=self.live_at,
            created_at=self.live_at,
            persona_lineage_id=self.persona_lineage_id,
            turns_since_refresh=self.turns_since_refresh,
            last_refreshed_turn=self.last_refreshed_turn,
            notes=self.notes,
        )
