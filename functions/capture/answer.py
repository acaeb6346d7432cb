"""The answers as they go over the wire, made of what the use cases say. Pure."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, UnsetType

from capture import attach, passive_capture
from capture.container import Container, MemoryState
from capture.entry import Entry
from capture.memory import Size
from capture.recall import Recollection
from capture.room import Room
from capture.rules import SkipReason
from capture.settings import WithoutDatabase
from shortterm.wire import Id, Millis, Private

Count = Annotated[int, Meta(ge=0)]


class Lines(Private, frozen=True, kw_only=True):
    """A scope that a turn was remembered under, and how many lines its window holds."""

    key: str
    lines: Count


class Captured(Private, frozen=True, kw_only=True, tag_field="status", tag="captured"):
    """The turn is remembered. `queued` tells whether the queue has its durable work."""

    turn_id: Id
    scopes: list[Lines]
    queued: bool


class Skipped(Private, frozen=True, kw_only=True, tag_field="status", tag="skipped"):
    """The turn left no trace, and why."""

    reason: SkipReason


class Failed(Private, frozen=True, kw_only=True, tag_field="status", tag="failed"):
    """The turn was well-formed, and remembering it broke."""


class Noted(Private, frozen=True, kw_only=True):
    """What now stands of a scope, which may be newer than what was sent.

    All but `key` is missing if the database is away and the stack then withholds what it remembers
    (`RECALL_WITHOUT_DATABASE=withhold`): it may have been forgotten elsewhere.
    """

    key: str
    summary_characters: Count | UnsetType = UNSET
    categories: dict[str, str] | UnsetType = UNSET
    turns_since_refresh: Count | UnsetType = UNSET
    last_refreshed_turn: Count | UnsetType = UNSET


class Attached(Private, frozen=True, kw_only=True):
    """What became of a summary; `superseded` if nothing of what was sent stands.

    `truncated` tells that the summary was cut, `queued` whether the queue has the durable work.
    """

    status: Literal["attached", "superseded"]
    occurred_at: Millis
    truncated: bool
    scopes: list[Noted]
    queued: bool


class Memories(Private, frozen=True, kw_only=True):
    """The answer to `GET /v1/memories`; `truncated` is there only if it had to be cut."""

    current: Raw | None
    others: list[Raw]
    memory: MemoryState
    durable: Literal["fresh", "unavailable"]
    truncated: bool | UnsetType = UNSET


class Forgotten(Private, frozen=True, kw_only=True, tag_field="status", tag="forgotten"):
    """Done and committed: nothing captured until `forgotten_at` (ms since the epoch) comes back."""

    forgotten_at: Millis


class Health(Private, frozen=True, kw_only=True, tag_field="status", tag="ok"):
    """The container that answers and what it holds; `outbox` counts what waits for the queue."""

    container: str
    since: Millis
    entries: Count
    bytes: Count
    outbox: Count


class Problem(Private, frozen=True, kw_only=True):
    """A problem document (RFC 9457), which never holds anything that was sent.

    `field` is the path of what is malformed: `body` for the whole, `query` for a parameter that
    does not exist.
    """

    title: str
    # What the gateway answers by itself may have none.
    status: int | UnsetType = UNSET
    field: str | UnsetType = UNSET
    expected: str | UnsetType = UNSET


def captured(outcome: passive_capture.Captured | passive_capture.Skipped) -> Captured | Skipped:
    """Return what became of a turn."""
    match outcome:
        case passive_capture.Skipped(reason):
            return Skipped(reason=reason)
        case passive_capture.Captured(turn_id, entries, queued):
            scopes = [Lines(key=it.scope.key, lines=it.window.length) for it in entries]
            return Captured(turn_id=turn_id, scopes=scopes, queued=queued)


def attached(outcome: attach.Attached, without_database: WithoutDatabase) -> Attached:
    """Return what became of a summary, and what now stands.

    If the rows could not be read, and with them who was forgotten elsewhere, what memory holds of
    a scope is told or withheld as `without_database` says.
    """
    withheld = without_database == "withhold" and not outcome.is_verified
    return Attached(
        status="attached" if outcome.stands else "superseded",
        occurred_at=outcome.told_at,
        truncated=outcome.is_cut,
        scopes=[Noted(key=it.scope.key) if withheld else _noted(it) for it in outcome.entries],
        queued=outcome.queued,
    )


def _noted(entry: Entry) -> Noted:
    return Noted(
        key=entry.scope.key,
        summary_characters=len(entry.notes.summary or ""),
        categories=entry.notes.by_category,
        turns_since_refresh=entry.turns_since_refresh,
        last_refreshed_turn=entry.last_refreshed_turn,
    )


def memories(found: Recollection, container: Container) -> Memories:
    """Return `found` by `container`, without the oldest of it if it is too large."""
    room = Room()
    return Memories(
        current=None if found.current is None else room.cut_to_fit(found.current),
        others=room.as_many_as_fit(found.others),
        memory=container.knowing(found.state),
        durable=found.durable,
        truncated=True if room.truncated else UNSET,
    )


def health(container: Container, held: Size, waiting: int) -> Health:
    """Return what `container` holds, and how many messages are `waiting` for the queue."""
    return Health(
        container=container.id,
        since=container.since,
        entries=held.entries,
        bytes=held.bytes,
        outbox=waiting,
    )
