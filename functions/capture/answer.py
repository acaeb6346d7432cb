"""What was recalled as a body that Lambda can send."""

from typing import Literal

from msgspec import UNSET, Raw, UnsetType

from capture.recall import MemoryState, Recollection
from capture.room import Room
from shortterm.wire import Private


class Memories(Private, frozen=True):
    """The answer to `GET /v1/memories`; `truncated` is there only if it had to be cut."""

    current: Raw | None
    others: list[Raw]
    memory: MemoryState
    durable: Literal["fresh", "unavailable"]
    truncated: bool | UnsetType = UNSET


def memories(found: Recollection) -> Memories:
    """Return `found`, without the oldest of it if it is too large."""
    room = Room()
    return Memories(
        current=None if found.current is None else room.cut_to_fit(found.current),
        others=room.as_many_as_fit(found.others),
        memory=found.memory,
        durable=found.durable,
        truncated=True if room.truncated else UNSET,
    )
