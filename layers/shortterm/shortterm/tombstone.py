"""A user or a channel that was forgotten: nothing captured before may be shown or written again."""

from typing import Literal

from msgspec import Struct

from shortterm.scope import Scope
from shortterm.wire import Id, Millis

Subject = Literal["user", "channel"]


class Tombstone(Struct, frozen=True):
    """Who was forgotten, and when (ms since the epoch, by the database's clock at the latest).

    `number` counts tombstones in the order in which they became visible: whoever knows one knows
    all before it.
    """

    number: int
    subject: Subject
    subject_id: Id
    forgotten_at: Millis

    def covers(self, scope: Scope, captured_at: int) -> bool:
        """Tell whether what was captured of `scope` then (ms) is forgotten."""
        if captured_at > self.forgotten_at:
            return False
        if self.subject == "channel":
            return scope.channel_id == self.subject_id
        return scope.kind == "user" and scope.owner_id == self.subject_id
