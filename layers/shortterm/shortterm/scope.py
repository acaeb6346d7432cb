"""Whose memory it is: one value that is both a cache key and the identity of a row."""

from typing import Literal

from msgspec import Struct

from shortterm.wire import Id

ScopeKind = Literal["user", "server"]


class Scope(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A user's or a server's memory of one channel, kept apart per persona.

    In a thread the channel is the thread itself.
    """

    kind: ScopeKind
    owner_id: Id
    channel_id: Id
    persona_id: Id | None = None

    @property
    def key(self) -> str:
        """The key's text, `shortterm:user:userId:channelId[:personaId]` (seed: Flow and ownership).

        No id can hold the separator, so two scopes never share a key.
        """
        key = f"shortterm:{self.kind}:{self.owner_id}:{self.channel_id}"
        return key if self.persona_id is None else f"{key}:{self.persona_id}"
