"""The use case: a user or a channel is forgotten, everywhere and for good."""

from msgspec import Struct

from capture.durable import Durable
from capture.memory import Memory
from shortterm.tombstone import Subject


class Forgotten(Struct, frozen=True, rename="camel"):
    """What was captured until `forgotten_at` (ms) is gone; `entries` were in this container."""

    forgotten_at: int
    entries: int


def forget(
    subject: Subject, subject_id: str, memory: Memory, durable: Durable, *, now: int
) -> Forgotten:
    """Forget a user or a channel: its rows, its entries here, and in other containers.

    Returns once the tombstone is committed. From then on no queued work brings a row back, and
    every other container finds the tombstone with its next read. Raises Away if it could not be
    set: then nothing was forgotten here, either.
    """
    tombstone = durable.forget(subject, subject_id, now=now)
    entries = memory.forget(tombstone)
    return Forgotten(tombstone.forgotten_at, entries)
