"""What memory holds for a scope, and how a turn, a bot's notes and forgetting change it. Pure."""

import msgspec

from capture.window import Window, empty_window
from shortterm.notes import NOTHING, Notes, join
from shortterm.scope import Scope
from shortterm.wire import Private


class Entry(Private, frozen=True, gc=False):
    """A scope's window, notes and cadence; times are in ms since the epoch, by the container.

    No line in it was captured, and nothing here told, before `created_at`.
    """

    scope: Scope
    window: Window
    updated_at: int
    created_at: int
    persona_lineage_id: str | None = None
    turns_since_refresh: int = 0
    last_refreshed_turn: int = 0
    notes: Notes = NOTHING

    @property
    def says_nothing(self) -> bool:
        """Whether there is no line here, and neither a summary nor a category."""
        return not (self.window.length or self.notes.summary or self.notes.by_category)

    @property
    def is_bare(self) -> bool:
        """Whether this says nothing and saw no turn: it only knows what was taken away."""
        return self.says_nothing and not self.window.occurred_at

    def with_turn(self, window: Window, lineage_id: str | None, *, turns: int, now: int) -> "Entry":
        """Return the entry after a turn at `now` (ms): notes and cadence stay.

        `turns` is what the turn adds to the cadence. A turn that occurred before the newest one
        held here is too late to change the window (design, section 5.5).
        """
        # A clock that stepped back left a window from the future: now is new enough.
        in_time = window.occurred_at >= min(self.window.occurred_at, now)
        return msgspec.structs.replace(
            self,
            window=window if in_time else self.window,
            updated_at=now if in_time else self.updated_at,
            # A clock that stepped back must not hide from a tombstone what it captured.
            created_at=min(self.created_at, window.captured_at),
            persona_lineage_id=self.persona_lineage_id or lineage_id,
            turns_since_refresh=self.turns_since_refresh + turns,
        )

    def with_notes(self, told: Notes, lineage_id: str | None, *, now: int) -> "Entry":
        """Return the entry after a bot told `told` at `now` (ms): the cadence starts anew, once.

        The newest telling of each part stands, whatever comes first. Taking something away is no
        sign of life: the entry keeps its age.
        """
        notes = join(self.notes, told)
        is_news = notes != self.notes and bool(told.summary or told.by_category)
        turns = self.turns_since_refresh if told.told_at > self.notes.told_at else 0
        return msgspec.structs.replace(
            self,
            notes=notes,
            updated_at=now if is_news else self.updated_at,
            # As with a turn: a clock that stepped back must not hide it from a tombstone.
            created_at=min(self.created_at, now),
            persona_lineage_id=self.persona_lineage_id or lineage_id,
            turns_since_refresh=self.turns_since_refresh - turns,
            last_refreshed_turn=self.last_refreshed_turn + turns,
        )

    def joined(self, other: "Entry") -> "Entry":
        """Return the entry with what is newer in `other`: notes, cadence, privacy; own lines stay.

        Of two cadences the one that was refreshed later is newer, else the one that counts more. A
        bare entry makes the other no younger.
        """
        newer = max(self, other, key=_cadence_age)
        return msgspec.structs.replace(
            self,
            window=self.window.placed_as(other.window),
            updated_at=max(it.updated_at for it in _aging(self, other)),
            persona_lineage_id=self.persona_lineage_id or other.persona_lineage_id,
            turns_since_refresh=newer.turns_since_refresh,
            last_refreshed_turn=newer.last_refreshed_turn,
            notes=join(self.notes, other.notes),
        )

    def bared(self, *, now: int) -> "Entry":
        """Return what is left to know at `now` (ms) when the entry is over: what was taken away."""
        window = self.window
        place = empty_window(
            now,
            server_id=window.server_id,
            parent_channel_id=window.parent_channel_id,
            is_private=window.is_private,
        )
        return msgspec.structs.replace(self, window=place, updated_at=now)

    def afresh(self) -> "Entry":
        """Return the entry as if its window were the first thing captured."""
        return Entry(
            self.scope,
            self.window,
            updated_at=self.window.captured_at,
            created_at=self.window.captured_at,
            persona_lineage_id=self.persona_lineage_id,
        )


def _aging(*entries: Entry) -> tuple[Entry, ...]:
    return tuple(it for it in entries if not it.is_bare) or entries


def _cadence_age(entry: Entry) -> tuple[int, int]:
    return entry.notes.told_at, entry.turns_since_refresh + entry.last_refreshed_turn
