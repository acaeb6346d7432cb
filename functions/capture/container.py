"""Which of several containers answers."""

from msgspec import Struct


class Container(Struct, frozen=True):
    """The container that answers: its id, and since when (ms) it remembers."""

    id: str
    since: int
