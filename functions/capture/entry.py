"""What memory holds for a scope, and how a turn, a bot's notes and forgetting change it. Pure."""

from collections.abc import Mapping
from typing import get_args

import msgspec

from capture.dialogue import Line, Role
from shortterm.notes import NOTHING, Notes, join
from shortterm.scope import Scope
from shortterm.wire import Private

_ROLES: tuple[Role, ...] = get_args(Role)
# Who spoke, and of each line its role, speaker, content, timestamp and author: role and author as
# places in a list, since nothing is stored as often as lines are.
_Packed = tuple[tuple[str | None, ...], tuple[tuple[int, str, str, int, int], ...]]

_encoder = msgspec.msgpack.Encoder()
_buffer = bytearray()
_decoder = msgspec.msgpack.Decoder(_Packed)

# When a user was forgotten (ms), by id.
Forgotten = Mapping[str, int]


class Window(Private, frozen=True, eq=False, gc=False):
    """The last lines of a scope and where they were said, as one turn left them.

    Every entry of the turn holds the same window. The lines are packed: text weighs what its UTF-8
    weighs, whatever its script (a string with one emoji takes four bytes a character), and each
    reader unpacks values of its own. `length` counts the lines; times are in ms since the epoch:
    `occurred_at` is the bot's, `captured_at` the container's.
    """

    packed_lines: bytes
    length: int
    occurred_at: int
    captured_at: int
    server_id: str | None = None
    server_name: str | None = None
    channel_name: str | None = None
    parent_channel_id: str | None = None
    is_private: bool = False

    def lines(self, forgotten: Forgotten) -> tuple[Line, ...]:
        """Return the lines, oldest first, without those of authors forgotten since."""
        authors, packed = _decoder.decode(self.packed_lines)
        if forgotten and (gone := self._gone(authors, forgotten)):
            packed = tuple(it for it in packed if it[4] not in gone)
        return tuple(
            Line(_ROLES[role], speaker, content, timestamp)
            for role, speaker, content, timestamp, _ in packed
        )

    def lines_of(self, author_id: str) -> tuple[Line, ...]:
        """Return the lines of one author, oldest first."""
        return tuple(it for it in self._signed_lines() if it.author_id == author_id)

    def without(self, forgotten: Forgotten) -> "Window":
        """Return the window without the lines of authors forgotten since; itself if it has none."""
        if not self._may_name_any(forgotten):
            return self
        authors, _ = _decoder.decode(self.packed_lines)
        gone = {authors[place] for place in self._gone(authors, forgotten)}
        if not gone:
            return self
        left = tuple(it for it in self._signed_lines() if it.author_id not in gone)
        return msgspec.structs.replace(self, packed_lines=pack(left), length=len(left))

    def placed_as(self, other: "Window") -> "Window":
        """Return the window where `other` says that it is, as far as that is unknown or newer.

        Of two at the same time the one stands that says private.
        """
        is_private = self.is_private
        if other.occurred_at > self.occurred_at:
            is_private = other.is_private
        elif other.occurred_at == self.occurred_at:
            is_private = is_private or other.is_private
        server_id = self.server_id or other.server_id
        parent_id = self.parent_channel_id or other.parent_channel_id
        place = (server_id, parent_id, is_private)
        if place == (self.server_id, self.parent_channel_id, self.is_private):
            return self
        return msgspec.structs.replace(
            self, server_id=server_id, parent_channel_id=parent_id, is_private=is_private
        )

    def _gone(self, authors: tuple[str | None, ...], forgotten: Forgotten) -> set[int]:
        """Return the places of the authors that were forgotten after this was captured."""
        return {
            place
            for place, author_id in enumerate(authors)
            if author_id is not None and self.captured_at <= forgotten.get(author_id, -1)
        }

    def _may_name_any(self, forgotten: Forgotten) -> bool:
        # A search in the bytes tells sooner than unpacking them, as long as there are few.
        return len(forgotten) > 4 or any(it.encode() in self.packed_lines for it in forgotten)

    def _signed_lines(self) -> tuple[Line, ...]:
        authors, packed = _decoder.decode(self.packed_lines)
        return tuple(
            Line(_ROLES[role], speaker, content, timestamp, authors[author])
            for role, speaker, content, timestamp, author in packed
        )


def pack(lines: tuple[Line, ...]) -> bytes:
    """Return `lines` as a window holds them."""
    authors = {it.author_id: 0 for it in lines}
    for place, author_id in enumerate(authors):
        authors[author_id] = place
    fields = [
        (_ROLES.index(it.role), it.speaker, it.content, it.timestamp, authors[it.author_id])
        for it in lines
    ]
    # Through a buffer: the bytes that `encode` returns keep up to half as much room to grow.
    _encoder.encode_into((tuple(authors), fields), _buffer)
    return bytes(_buffer)


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

        Of two cadences the one that was refreshed later is newer, else the one that counts more.
        """
        newer = max(self, other, key=_cadence_age)
        return msgspec.structs.replace(
            self,
            window=self.window.placed_as(other.window),
            updated_at=max(self.updated_at, other.updated_at),
            persona_lineage_id=self.persona_lineage_id or other.persona_lineage_id,
            turns_since_refresh=newer.turns_since_refresh,
            last_refreshed_turn=newer.last_refreshed_turn,
            notes=join(self.notes, other.notes),
        )

    def afresh(self) -> "Entry":
        """Return the entry as if its window were the first thing captured."""
        return Entry(
            self.scope,
            self.window,
            updated_at=self.window.captured_at,
            created_at=self.window.captured_at,
            persona_lineage_id=self.persona_lineage_id,
        )


def empty_window(
    captured_at: int,
    *,
    occurred_at: int = 0,
    server_id: str | None,
    parent_channel_id: str | None,
    is_private: bool,
) -> Window:
    """Return a place without lines; any turn replaces it unless it is told to have occurred."""
    return Window(
        _NO_LINES,
        0,
        occurred_at,
        captured_at,
        server_id=server_id,
        parent_channel_id=parent_channel_id,
        is_private=is_private,
    )


def _cadence_age(entry: Entry) -> tuple[int, int]:
    return entry.notes.told_at, entry.turns_since_refresh + entry.last_refreshed_turn


_NO_LINES = pack(())
