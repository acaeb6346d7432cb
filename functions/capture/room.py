"""What an answer has room for: what does not fit into what Lambda can send is left out."""

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from capture.dialogue import Line
from capture.remembered import Remembered

# Lambda answers with 6 MB at most, after the runtime has escaped the body once more.
MAX_ANSWER_BYTES = 5 * 2**20

_encode = msgspec.json.Encoder().encode


class Room:
    """What an answer has room for; encodes entries for as long as there is some."""

    def __init__(self, room: int = MAX_ANSWER_BYTES) -> None:
        self._room = room
        self._estimated: list[bytes] = []
        self.truncated = False

    def cut_to_fit(self, entry: Remembered) -> Raw:
        """Return `entry` encoded, without its oldest lines if it is too large with them."""
        encoded = _encode(entry)
        if not self._takes(encoded):
            self.truncated = True
            encoded = _encode(self._without_oldest_lines(entry))
            self._takes(encoded)
        return Raw(encoded)

    def as_many_as_fit(self, entries: Iterable[object]) -> list[Raw]:
        """Return `entries` encoded, up to the first that does not fit."""
        fitting: list[Raw] = []
        for entry in entries:
            encoded = _encode(entry)
            if not self._takes(encoded):
                self.truncated = True
                break
            fitting.append(Raw(encoded))
        return fitting

    def _takes(self, encoded: bytes) -> bool:
        """Take the room that `encoded` needs, if there is enough.

        Escaping doubles it at most. Most answers are so small that nothing need be weighed; what
        was estimated so is weighed when room gets short.
        """
        if 2 * len(encoded) > self._room:
            self._room += sum(2 * len(it) - _weight(it) for it in self._estimated)
            self._estimated.clear()
        if 2 * len(encoded) <= self._room:
            self._estimated.append(encoded)
            self._room -= 2 * len(encoded)
            return True
        weight = _weight(encoded)
        if weight > self._room:
            return False
        self._room -= weight
        return True

    def _without_oldest_lines(self, entry: Remembered) -> Remembered:
        room = self._room - _weight(_encode(msgspec.structs.replace(entry, lines=())))
        newest: list[Line] = []
        for line in reversed(entry.lines):
            room -= _weight(_encode(line)) + len(",")
            if room < 0:
                break
            newest.append(line)
        return msgspec.structs.replace(entry, lines=tuple(reversed(newest)))


def _weight(encoded: bytes) -> int:
    """Return the bytes that `encoded` takes as a string inside the function's own JSON answer."""
    return len(encoded) + encoded.count(b'"') + encoded.count(b"\\")
