"""The wire models of what is asked: the query parameters of memories, context and exports."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from capture.cleaning import encodable
from capture.turn import ServerId, guild
from shortterm.scope import Scope, ScopeKind
from shortterm.wire import Id, Mismatch, Private, mismatch

MAX_OTHERS = 200

RenderMode = Literal["supersede", "crude_summary"]

_KEY_FIELDS = ("kind", "ownerId", "channelId", "personaId")


class Asker(Struct, frozen=True, rename="camel"):
    """Who asks for whose memory, and where. `server_id` is None in a direct message."""

    user_id: Id
    channel_id: Id
    server_id: ServerId | None = None
    persona_id: Id | None = None
    persona_lineage_id: Id | None = None
    is_private_channel: bool = False
    scope: ScopeKind | None = None
    include_other_servers: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "server_id", guild(self.server_id))

    @property
    def kind(self) -> ScopeKind:
        """Whose entries are read: the server's in a guild, unless the user's are asked for."""
        return self.scope or ("user" if self.server_id is None else "server")

    @property
    def owner_id(self) -> str:
        """The id of the user or server whose entries are read."""
        return self.user_id if self.kind == "user" else str(self.server_id)

    @property
    def asked(self) -> Scope:
        """The scope that is asked for."""
        return Scope(self.kind, self.owner_id, self.channel_id, self.persona_id)

    @property
    def live(self) -> Scope:
        """The scope whose cadence the turns of this channel advance (design, section 3)."""
        if self.server_id is None:
            return Scope("user", self.user_id, self.channel_id, self.persona_id)
        return Scope("server", self.server_id, self.channel_id, self.persona_id)


class MemoriesQuery(Asker, frozen=True, rename="camel"):
    """The parameters of `GET /v1/memories`."""

    limit: Annotated[int, Meta(ge=0, le=MAX_OTHERS)] = 50


class ContextQuery(Asker, frozen=True, rename="camel"):
    """The parameters of `GET /v1/context`."""

    render_mode: RenderMode = "crude_summary"
    max_channels: Annotated[int, Meta(ge=0, le=50)] = 3
    max_lines: Annotated[int, Meta(ge=0, le=100)] = 6
    max_chars: Annotated[int, Meta(ge=1, le=200_000)] = 8_000
    refresh_cadence: Annotated[int, Meta(ge=1, le=10_000)] = 5


class ExportQuery(Private, frozen=True):
    """The parameters of an export: `after` is the `next` of the answer before."""

    after: str | None = None

    def scope_after(self, user_id: str) -> Scope | None:
        """Return the scope that the asked rows come after, or None for the first ones.

        Raises Mismatch if it is none of this user's.
        """
        if self.after is None:
            return None
        parts = self.after.split(":")
        if parts[:3] == ["shortterm", "user", user_id] and len(parts) in (4, 5):
            fields = zip(_KEY_FIELDS, parts[1:], strict=False)
            # Nothing but ids: what Postgres refuses would look like a database that is away.
            with suppress(msgspec.ValidationError):
                return msgspec.convert(dict(fields), Scope)
        raise Mismatch("after", "the `next` of an answer for this user")


A = TypeVar("A", bound=Asker)
Q = TypeVar("Q", bound=Struct)

_CHOICES = {"scope": "server or user", "renderMode": "supersede or crude_summary"}


def decode(parameters: Mapping[str, Sequence[str]], kind: type[Q]) -> Q:
    """Return the query of `kind` in a request's parameters, each with all its values.

    Raises Mismatch for one that is missing, unknown, given twice or of the wrong shape.
    """
    known = _names(kind)
    for name, values in parameters.items():
        if name not in known:
            # Not named: an unknown parameter may itself be somebody's words.
            raise Mismatch("query", f"no other parameters than {', '.join(known)}")
        if len(values) != 1:
            raise Mismatch(name, "one value")
    try:
        return msgspec.convert(
            {name: encodable(values[0]) for name, values in parameters.items()}, kind, strict=False
        )
    except msgspec.ValidationError as error:
        raise mismatch(error, _CHOICES) from None


def decode_asker(parameters: Mapping[str, Sequence[str]], kind: type[A]) -> A:
    """Return who asks and for what, as `decode` does.

    Raises Mismatch for the same, and for server memory without a server.
    """
    query = decode(parameters, kind)
    if query.kind == "server" and query.server_id is None:
        raise Mismatch("scope", "user in a direct message, which has no server")
    return query


def refuse_all(parameters: Mapping[str, Sequence[str]]) -> None:
    """Raise Mismatch if a request has any parameters: for where nothing can be asked."""
    if parameters:
        raise Mismatch("query", "no parameters")


@cache
def _names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(field.encode_name for field in msgspec.structs.fields(kind))
