"""Rows are read behind the tombstones: memory obeys them before anything is answered."""

from collections.abc import Callable
from typing import TypeVar

from capture.durable import Page
from capture.memory import Memory

P = TypeVar("P", bound=Page)


def obedient(memory: Memory, read: Callable[[int], P]) -> P:
    """Return what `read` finds, once memory has obeyed every tombstone that there is.

    `read` takes the number of the last tombstone that was obeyed. Raises what it raises.
    """
    while True:
        page = read(memory.obeyed)
        memory.obey(page.tombstones)
        if not page.may_be_behind:
            return page
