"""The use case: a bot attaches a summary and categories to a scope, and the cadence starts anew."""

from msgspec import Struct

from capture.durable import Durable
from capture.entry import Entry
from capture.memory import Memory
from capture.obedience import obedient
from capture.outbox import Outbox
from capture.patience import Away
from capture.refresh import Refresh
from capture.row import Row
from capture.rules import scopes_of
from capture.window import Window, empty_window
from shortterm.notes import MAX_CATEGORIES, NOTHING, Notes
from shortterm.scope import Scope
from shortterm.wire import Mismatch
from shortterm.work import NotesWork, ScopeWork


class Attached(Struct, frozen=True):
    """The notes are joined into `entries`, as told at `told_at` (ms).

    `stands` is false if everything told was told anew later. `is_verified` is false if the rows
    could not be read: then they may hold what was forgotten elsewhere. `is_cut` tells that the
    summary was too long, `queued` whether SQS has the durable work.
    """

    entries: list[Entry]
    told_at: int
    stands: bool
    is_verified: bool
    is_cut: bool
    queued: bool


def attach(
    refresh: Refresh, memory: Memory, durable: Durable, outbox: Outbox, *, now: int
) -> Attached:
    """Attach what `refresh` says to the user's scope and, in a guild, to the server's.

    The newest telling of each part stands, whatever the order in which requests come or the
    container that they come to. Raises Mismatch if a scope had too many categories then, as far
    as memory and rows tell; nothing is attached then.
    """
    told_at = now if refresh.occurred_at is None else min(refresh.occurred_at, now)
    told = refresh.notes(told_at)
    scopes = scopes_of(
        user_id=refresh.user_id,
        server_id=refresh.server_id,
        channel_id=refresh.channel_id,
        persona_id=refresh.persona,
        lineage_id=refresh.lineage,
    )
    try:
        wanted = [it.scope for it in scopes]
        page = obedient(memory, lambda obeyed: durable.rows_of(wanted, obeyed=obeyed))
        rows, is_verified = {row.scope: row for row in page.rows}, True
    except Away:
        rows, is_verified = {}, False
    for it in scopes:
        _check_categories(told, memory, it.scope, rows.get(it.scope), now)

    place = _place(refresh, memory, now)
    starts = {it: Entry(it.scope, place, now, created_at=now) for it in scopes}
    entries = [
        _note(it, told, start, rows.get(it.scope), memory, now) for it, start in starts.items()
    ]
    queued = outbox.send(_work(scopes, told, place))
    stands = any(it.notes.holds(told) for it in entries)
    return Attached(entries, told_at, stands, is_verified, refresh.is_too_long, queued)


def _check_categories(told: Notes, memory: Memory, scope: Scope, row: Row | None, now: int) -> None:
    entry = memory.get(scope)
    held = NOTHING if entry is None else entry.notes
    # What a read would not show any more does not count: the newest will stand.
    durable = row.notes if row is not None and memory.lives(row.entry, now) else NOTHING
    removed = {it.name for it in told.categories if it.text is None}
    names = durable.by_category.keys() | held.by_category.keys() | told.by_category.keys()
    if len(names - removed) > MAX_CATEGORIES:
        expected = f"no more than {MAX_CATEGORIES} with those that are there; null removes one"
        raise Mismatch("categories", expected)


def _note(
    it: ScopeWork, told: Notes, start: Entry, row: Row | None, memory: Memory, now: int
) -> Entry:
    def change(entry: Entry) -> Entry:
        known = entry if row is None else entry.joined(row.entry)
        noted = known.with_notes(told, it.persona_lineage_id, now=now)
        # An entry may be over without its summary: the row, which shows it yet, must not bring it
        # back until the writer has had this.
        is_over = memory.lives(known, now) and not memory.lives(noted, now)
        return noted.bared(now=now) if is_over else noted

    return memory.note(start, change)


def _place(refresh: Refresh, memory: Memory, now: int) -> Window:
    known = memory.private_channels
    return empty_window(
        now,
        server_id=refresh.server_id,
        parent_channel_id=refresh.parent_channel_id,
        is_private=bool(refresh.is_private_channel)
        or known.is_private(refresh.channel_id, refresh.parent_channel_id),
    )


def _work(scopes: tuple[ScopeWork, ...], told: Notes, place: Window) -> NotesWork:
    return NotesWork(
        version=1,
        kind="notes",
        captured_at=place.captured_at,
        scopes=scopes,
        notes=told,
        server_id=place.server_id,
        parent_channel_id=place.parent_channel_id,
        is_private=place.is_private,
    )
