"""The use case: a completed dialogue turn becomes short-term memory (seed: Flow and ownership)."""

from msgspec import Struct

from capture import dialogue
from capture.cleaning import clean_name
from capture.entry import Entry
from capture.memory import Memory
from capture.outbox import Outbox
from capture.rules import SkipReason, fan_out, skip_reason
from capture.turn import Turn
from capture.window import Window, pack
from shortterm.work import ScopeWork, TurnWork


class Skipped(Struct, frozen=True):
    """The turn left no entry, no message, no row, no count."""

    reason: SkipReason


class Captured(Struct, frozen=True):
    """The turn is remembered under `entries`; `queued` tells whether SQS has its durable work."""

    turn_id: str
    entries: list[Entry]
    queued: bool


def capture(
    turn: Turn, memory: Memory, outbox: Outbox, *, request_id: str, now: int, max_lines: int
) -> Captured | Skipped:
    """Record `turn`, completed at `now` (ms) at the latest, and say what became of it.

    Capture aborts for a stop response, without messages, for a user of full privacy, and when no
    persona said anything. Otherwise the dialogue, cleaned and with the responses appended, is
    remembered under the user's key and, unless it is a direct message, under the server's, one set
    per persona. What an entry already carries stays. The row work goes to the queue without text.
    """
    if reason := skip_reason(turn):
        return Skipped(reason)

    turn_id = turn.turn_id or request_id
    occurred_at = _time_of(turn, turn_id, memory, now)
    lines = dialogue.lines(turn, limit=max_lines, occurred_at=occurred_at)
    window = _window(turn, lines, occurred_at, now, is_private=_is_private(turn, memory))
    scopes = fan_out(turn)

    entries = memory.remember(turn_id, scopes, window)
    queued = outbox.send(_work(turn_id, scopes, window))
    return Captured(turn_id, entries, queued)


def _time_of(turn: Turn, turn_id: str, memory: Memory, now: int) -> int:
    """Return when the turn occurred (ms): as told, or when it first came; never in the future."""
    told = memory.time_of(turn_id) if turn.occurred_at is None else turn.occurred_at
    return now if told is None else min(told, now)


def _is_private(turn: Turn, memory: Memory) -> bool:
    """Tell whether the channel is private, or a thread under a channel that is known to be."""
    known = memory.private_channels
    return bool(turn.is_private_channel) or known.is_private(turn.parent_channel_id)


def _window(
    turn: Turn, lines: tuple[dialogue.Line, ...], occurred_at: int, now: int, *, is_private: bool
) -> Window:
    return Window(
        packed_lines=pack(lines),
        length=len(lines),
        occurred_at=occurred_at,
        captured_at=now,
        server_id=turn.server_id,
        server_name=clean_name(turn.server_name or "") or None,
        channel_name=clean_name(turn.channel_name or "") or None,
        parent_channel_id=turn.parent_channel_id,
        is_private=is_private,
    )


def _work(turn_id: str, scopes: tuple[ScopeWork, ...], window: Window) -> TurnWork:
    return TurnWork(
        version=1,
        turn_id=turn_id,
        occurred_at=window.occurred_at,
        scopes=scopes,
        server_id=window.server_id,
        parent_channel_id=window.parent_channel_id,
        is_private=window.is_private,
        captured_at=window.captured_at,
    )
