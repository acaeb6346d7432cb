"""What memory holds for a scope, and how a turn or a summary changes it. Pure."""

import msgspec

from capture.dialogue import Line, Role
from shortterm.scope import Scope
from shortterm.wire import Private

_encoder = msgspec.msgpack.Encoder()
_buffer = bytearray()
_decoder = msgspec.msgpack.Decoder(tuple[tuple[Role, str, str, int], ...])


class Window(Private, frozen=True, eq=False, gc=False):
    """The last lines of a scope and where they were said, as one turn left them.

    Every entry of the turn holds the same window. The lines are packed: text weighs what its UTF-8
    weighs, whatever its script (a string with one emoji takes four bytes a character), and each
    reader unpacks values of its own. `length` counts the lines; `occurred_at` is in ms since the
    epoch.
    """

    packed_lines: bytes
    length: int
    occurred_at: int
    server_id: str | None = None
    server_name: str | None = None
    channel_name: str | None = None
    parent_channel_id: str | None = None
    is_private: bool = False

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines, oldest first."""
        return tuple(Line(*fields) for fields in _decoder.decode(self.packed_lines))


def pack(lines: tuple[Line, ...]) -> bytes:
    """Return `lines` as a window holds them."""
    fields = [(it.role, it.speaker, it.content, it.timestamp) for it in lines]
    # Through a buffer: the bytes that `encode` returns keep up to half as much room to grow.
    _encoder.encode_into(fields, _buffer)
    return bytes(_buffer)


class Entry(Private, frozen=True, gc=False):
    """A scope's window, summary, categories and cadence; `updated_at` is in ms since the epoch."""

    scope: Scope
    window: Window
    updated_at: int
    persona_lineage_id: str | None = None
    turns_since_refresh: int = 0
    last_refreshed_turn: int = 0
    summary: str | None = None
    categories: tuple[tuple[str, str], ...] = ()

    def with_turn(self, window: Window, lineage_id: str | None, *, turns: int, now: int) -> "Entry":
        """Return the entry after a turn at `now` (ms): summary, categories and cadence stay.

        `turns` is what the turn adds to the cadence. A turn that occurred before the newest one
        held here is too late to change the window (design, section 5.5).
        """
        # A clock that stepped back left a window from the future: now is new enough.
        in_time = window.occurred_at >= min(self.window.occurred_at, now)
        return msgspec.structs.replace(
            self,
            window=window if in_time else self.window,
            updated_at=now if in_time else self.updated_at,
            persona_lineage_id=self.persona_lineage_id or lineage_id,
            turns_since_refresh=self.turns_since_refresh + turns,
        )

    def with_summary(
        self, summary: str | None, categories: tuple[tuple[str, str], ...], *, now: int
    ) -> "Entry":
        """Return the entry with what a refresh at `now` (ms) wrote; the cadence starts anew.

        Taking a summary away is no sign of life: the entry keeps its age.
        """
        return msgspec.structs.replace(
            self,
            summary=summary or None,
            categories=categories,
            updated_at=now if summary else self.updated_at,
            turns_since_refresh=0,
            last_refreshed_turn=self.last_refreshed_turn + self.turns_since_refresh,
        )
