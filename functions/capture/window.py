"""The last lines of a scope, packed, and where they were said. Pure."""

from collections.abc import Mapping
from typing import get_args

import msgspec

from capture.dialogue import Line, Role
from shortterm.wire import Private

_ROLES: tuple[Role, ...] = get_args(Role)
# A line's role, speaker, content, timestamp and author: role and author as places in a list, since
# nothing is stored as often as lines are.
_PackedLine = tuple[int, str, str, int, int]
_AUTHOR = 4
# Who spoke, and the lines.
_Packed = tuple[tuple[str | None, ...], tuple[_PackedLine, ...]]

_encoder = msgspec.msgpack.Encoder()
_buffer = bytearray()
_decoder = msgspec.msgpack.Decoder(_Packed)

# When a user was forgotten (ms), by id.
Forgotten = Mapping[str, int]
# For so many users at most a search in the bytes tells sooner than unpacking who is not named.
_FEW_USERS = 4


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
            packed = tuple(it for it in packed if it[_AUTHOR] not in gone)
        return tuple(
            Line(_ROLES[role], speaker, content, timestamp)
            for role, speaker, content, timestamp, _ in packed
        )

    def lines_of(self, author_id: str, forgotten: Forgotten) -> tuple[Line, ...]:
        """Return the lines of one author, oldest first; none if the author was forgotten since."""
        if not self._may_name(author_id) or self._is_forgotten(author_id, forgotten):
            return ()
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
        """Return the places of the authors that were forgotten since."""
        return {
            place
            for place, author_id in enumerate(authors)
            if author_id is not None and self._is_forgotten(author_id, forgotten)
        }

    def _is_forgotten(self, author_id: str, forgotten: Forgotten) -> bool:
        """Tell whether an author was forgotten after this was captured, or in that moment."""
        return self.captured_at <= forgotten.get(author_id, -1)

    def _may_name_any(self, forgotten: Forgotten) -> bool:
        are_many = len(forgotten) > _FEW_USERS
        return are_many or any(map(self._may_name, forgotten))

    def _may_name(self, author_id: str) -> bool:
        return author_id.encode() in self.packed_lines

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


_NO_LINES = pack(())
