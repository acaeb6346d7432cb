"""Who may see what is remembered (design, section 7). Pure, but for what memory tells."""

from collections import abc

from capture.entry import Entry
from capture.memory import Memory
from capture.query import Asker
from shortterm.scope import Scope


class Sight:
    """What an asker may see of what lives at a time, `at` (ms).

    Private channels are one-way, and what was private on another server stays there. Memory tells
    which channels are; what the rows know beside it is given: channels that are `told_private`, and
    scopes that are `hidden` from this asker.
    """

    def __init__(
        self,
        asker: Asker,
        memory: Memory,
        at: int,
        *,
        told_private: abc.Container[str] = (),
        hidden: abc.Container[Scope] = (),
    ) -> None:
        self._asker = asker
        self._memory = memory
        self._channels = memory.private_channels
        self._at = at
        self._told_private = told_private
        self._hidden = hidden

    def shows(self, entry: Entry) -> bool:
        """Tell whether `entry` may be seen and lives."""
        return (
            entry.scope not in self._hidden
            and self.permits(entry)
            and self._memory.lives(entry, self._at)
        )

    def permits(self, entry: Entry) -> bool:
        """Tell whether `entry` may be seen from where the asker is, alive or not."""
        asker, window = self._asker, entry.window
        same_server = window.server_id == asker.server_id
        if not same_server and not asker.include_other_servers:
            return False
        if same_server and asker.is_private_channel:
            return True
        channel_id, parent_id = entry.scope.channel_id, window.parent_channel_id
        return not (
            window.is_private
            or self._channels.is_private(channel_id, parent_id)
            or channel_id in self._told_private
            or parent_id in self._told_private
        )
