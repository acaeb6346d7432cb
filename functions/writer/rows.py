"""What a batch of work does to each row: sums, firsts and latests, in one order. Pure."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec.structs import replace

from shortterm.scope import Scope
from shortterm.work import NotesWork, ScopeWork, TurnWork, Work


class Change(NamedTuple):
    """What a batch does to one row: the turns to add, and what the latest of them says.

    `last_turn_ms` is None when no turn of the batch touches the row, only notes.
    """

    scope: str
    owner_id: str
    channel_id: str
    persona_id: str | None
    persona_lineage_id: str | None
    server_id: str | None
    parent_channel_id: str | None
    is_private: bool
    turns: int
    last_turn_ms: int | None


def counting_once(works: Iterable[Work], new_turns: Iterable[str]) -> list[Work]:
    """Return `works` with live scopes in the first captured copy of each new turn only.

    A turn comes more than once when SQS delivers its message again, or when the bot posted it
    again: then its copies may name different scopes.
    """
    once = list(works)
    uncounted = set(new_turns)
    for place, work in sorted(enumerate(once), key=lambda it: it[1].known_at):
        if not isinstance(work, TurnWork):
            continue
        if work.turn_id in uncounted:
            uncounted.remove(work.turn_id)
        else:
            once[place] = replace(work, scopes=tuple(replace(it, live=False) for it in work.scopes))
    return once


def changes(works: Iterable[Work]) -> list[Change]:
    """Return what `works` do to each row, in the one order in which every writer takes its locks.

    Of several works for one row, the turns that it is the live scope of add up; the first lineage,
    server and parent stand, and the latest time and privacy. Notes add nothing but a lineage to a
    row that is there.
    """
    works = list(works)
    by_scope: dict[Scope, Change] = {}
    for turn in sorted(turns_of(works), key=lambda it: it.occurred_at):
        for it in turn.scopes:
            by_scope[it.scope] = _turned(turn, it, by_scope.get(it.scope))
    # Turns before notes, whatever came first: a turn says where a row is, notes only guess.
    for notes in sorted(notes_of(works), key=lambda it: it.captured_at):
        for it in notes.scopes:
            by_scope[it.scope] = _noted(notes, it, by_scope.get(it.scope))
    return sorted(by_scope.values(), key=lambda row: (*row[:3], row.persona_id or ""))


def turns_since_notes(works: Iterable[Work]) -> dict[Scope, int]:
    """Return how many turns were captured after the newest notes of their live scope.

    A batch holds them in any order: notes start the cadence anew for what went before only.
    """
    works = list(works)
    newest: dict[Scope, NotesWork] = {}
    for notes in sorted(notes_of(works), key=lambda it: (-it.notes.told_at, it.captured_at)):
        for it in notes.scopes:
            newest.setdefault(it.scope, notes)
    since: dict[Scope, int] = {}
    for turn in turns_of(works):
        for it in turn.scopes:
            if it.live and it.scope in newest:
                later = turn.known_at > newest[it.scope].captured_at
                since[it.scope] = since.get(it.scope, 0) + int(later)
    return since


def turns_of(works: Iterable[Work]) -> list[TurnWork]:
    """Return the turns among `works`."""
    return [it for it in works if isinstance(it, TurnWork)]


def notes_of(works: Iterable[Work]) -> list[NotesWork]:
    """Return the notes among `works`."""
    return [it for it in works if isinstance(it, NotesWork)]


def _turned(work: TurnWork, it: ScopeWork, earlier: Change | None) -> Change:
    return _change(
        it.scope,
        persona_lineage_id=(earlier and earlier.persona_lineage_id) or it.persona_lineage_id,
        server_id=(earlier and earlier.server_id) or work.server_id,
        parent_channel_id=(earlier and earlier.parent_channel_id) or work.parent_channel_id,
        is_private=work.is_private or _was_private_then(work, earlier),
        turns=(earlier.turns if earlier else 0) + int(it.live),
        last_turn_ms=work.occurred_at,
    )


def _was_private_then(work: TurnWork, earlier: Change | None) -> bool:
    return earlier is not None and earlier.is_private and earlier.last_turn_ms == work.occurred_at


def _noted(work: NotesWork, it: ScopeWork, earlier: Change | None) -> Change:
    if earlier is not None:
        return earlier._replace(
            persona_lineage_id=earlier.persona_lineage_id or it.persona_lineage_id
        )
    return _change(
        it.scope,
        persona_lineage_id=it.persona_lineage_id,
        server_id=work.server_id,
        parent_channel_id=work.parent_channel_id,
        is_private=work.is_private,
        turns=0,
        last_turn_ms=None,
    )


def _change(scope: Scope, **said: Any) -> Change:
    return Change(scope.kind, scope.owner_id, scope.channel_id, scope.persona_id, **said)
