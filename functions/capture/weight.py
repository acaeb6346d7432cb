"""What memory is accounted with: the text itself, and what Python adds to it.

`make bench` compares with real memory.
"""

from sys import getsizeof

from capture.entry import Entry
from capture.window import Window
from shortterm.notes import NOTHING, Notes

# What an entry and a window weigh beside their text: the structs, their slots in the cache, its
# order and its expiry heap (with what of others that are gone is still in there), and in the
# indexes, of an owner and a channel of its own.
ENTRY_BYTES = 720
WINDOW_BYTES = 520
# Notes and each of their categories, with their times.
NOTES_BYTES = 160
CATEGORY_BYTES = 120


class Account:
    """The bytes of the entries that are held; a window that several of them share counts once."""

    def __init__(self) -> None:
        self.bytes = 0
        self._holders: dict[Window, int] = {}

    def add(self, entry: Entry) -> None:
        """Count `entry`, and its window unless another entry brought it."""
        holders = self._holders.get(entry.window, 0)
        self._holders[entry.window] = holders + 1
        self.bytes += entry_bytes(entry) + (0 if holders else window_bytes(entry.window))

    def remove(self, entry: Entry) -> None:
        """Count `entry` no more, nor its window if no other entry is left that holds it."""
        holders = self._holders.pop(entry.window) - 1
        if holders:
            self._holders[entry.window] = holders
        self.bytes -= entry_bytes(entry) + (0 if holders else window_bytes(entry.window))


def entry_bytes(entry: Entry) -> int:
    """Return what `entry` weighs without its window."""
    scope, notes = entry.scope, entry.notes
    text = 0 if notes is NOTHING else _notes_bytes(notes)
    return ENTRY_BYTES + len(scope.owner_id) + len(scope.channel_id) + text


def _notes_bytes(notes: Notes) -> int:
    texts = sum(getsizeof(it.name) + getsizeof(it.text) for it in notes.categories)
    return NOTES_BYTES + getsizeof(notes.summary) + CATEGORY_BYTES * len(notes.categories) + texts


def window_bytes(window: Window) -> int:
    """Return what `window` weighs, however many entries share it."""
    names = getsizeof(window.server_name) + getsizeof(window.channel_name)
    return WINDOW_BYTES + len(window.packed_lines) + names
