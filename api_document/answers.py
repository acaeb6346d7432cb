"""The answers that `capture.app` words itself, and what it answers already encoded, as types."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, UnsetType

from capture.answer import Memories
from capture.export import Export, ExportedMemory, ExportedRow
from capture.remembered import Remembered
from capture.rules import SkipReason
from shortterm.wire import Id, Millis

Count = Annotated[int, Meta(ge=0)]


class Lines(Struct, rename="camel"):
    """A scope that a turn was remembered under, and how many lines its window holds."""

    key: str
    lines: Count


class Captured(Struct, rename="camel", tag_field="status", tag="captured"):
    """The turn is remembered. `queued` tells whether the queue has its durable work."""

    turn_id: Id
    scopes: list[Lines]
    queued: bool


class Skipped(Struct, rename="camel", tag_field="status", tag="skipped"):
    """The turn left no trace, and why."""

    reason: SkipReason


class Failed(Struct, rename="camel", tag_field="status", tag="failed"):
    """The turn was well-formed, and remembering it broke."""


class Noted(Struct, rename="camel"):
    """What now stands of a scope, which may be newer than what was sent."""

    key: str
    summary_characters: Count
    categories: dict[str, str]
    turns_since_refresh: Count
    last_refreshed_turn: Count


class Attached(Struct, rename="camel"):
    """What became of a summary; `superseded` if nothing of what was sent stands.

    `truncated` tells that the summary was cut, `queued` whether the queue has the durable work.
    """

    status: Literal["attached", "superseded"]
    occurred_at: Millis
    truncated: bool
    scopes: list[Noted]
    queued: bool


class Forgotten(Struct, rename="camel"):
    """Done and committed: what was captured until `forgotten_at` (ms) does not come back."""

    status: Literal["forgotten"]
    forgotten_at: Millis


class Health(Struct, rename="camel"):
    """The container that answers and what it holds; `outbox` counts what waits for the queue."""

    status: Literal["ok"]
    container: str
    since: Millis
    entries: Count
    bytes: Count
    outbox: Count


class Problem(Struct, rename="camel", omit_defaults=True):
    """A problem document (RFC 9457), which never holds anything that was sent.

    `field` is the path of what is malformed: `body` for the whole, `query` for a parameter that
    does not exist.
    """

    title: str
    status: int | UnsetType = msgspec.UNSET
    field: str | UnsetType = msgspec.UNSET
    expected: str | UnsetType = msgspec.UNSET


def _spelled_out(kind: type[Struct], **types: Any) -> type[Struct]:
    """Return `kind` with the types of what it holds already encoded."""
    fields = [
        (it.name, types.get(it.name, it.type), it.default) for it in msgspec.structs.fields(kind)
    ]
    return msgspec.defstruct(
        kind.__name__, fields, rename="camel", namespace={"__doc__": kind.__doc__}
    )


MEMORIES = _spelled_out(Memories, current=Remembered | None, others=list[Remembered])
_EXPORTED_MEMORY = _spelled_out(ExportedMemory, entries=list[Remembered], said=list[Remembered])
EXPORT = _spelled_out(Export, rows=list[ExportedRow], memory=_EXPORTED_MEMORY | UnsetType)
