"""The use case: a user or a channel is forgotten, everywhere and for good."""

from capture.durable import Durable
from capture.memory import Memory
from shortterm.tombstone import Subject


def forget(subject: Subject, subject_id: str, memory: Memory, durable: Durable, *, now: int) -> int:
    """Forget a user or a channel: its rows, its entries here, and in other containers.

    Returns until when (ms) all is forgotten, once the tombstone is committed. From then on no
    queued work brings a row back, and every other container finds the tombstone with its next read.
    Raises Away if it could not be set: then nothing was forgotten here, either.
    """
    tombstone = durable.forget(subject, subject_id, now=now)
    memory.forget(tombstone)
    return tombstone.forgotten_at
