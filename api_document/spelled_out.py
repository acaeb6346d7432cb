"""The answers that hold what is already encoded, with the types of what that is."""

from typing import Any

import msgspec
from msgspec import Struct, UnsetType

from capture.answer import Memories
from capture.export import Export, ExportedMemory, ExportedRow
from capture.remembered import Remembered


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
