"""The wire model of a read: the query parameters of `GET /v1/memories` (design, section 7)."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from capture.cleaning import encodable
from capture.turn import ServerId, guild
from shortterm.scope import ScopeKind
from shortterm.wire import Id, Mismatch, mismatch

MAX_OTHERS = 200


class Query(Struct, frozen=True, rename="camel"):
    """Who asks for whose memory, and where. `server_id` is None in a direct message."""

    user_id: Id
    channel_id: Id
    server_id: ServerId = None
    persona_id: Id | None = None
    persona_lineage_id: Id | None = None
    is_private_channel: bool = False
    scope: ScopeKind | None = None
    include_other_servers: bool = False
    limit: Annotated[int, Meta(ge=0, le=MAX_OTHERS)] = 50

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


_PARAMETERS = tuple(field.encode_name for field in msgspec.structs.fields(Query))
_CHOICES = {"scope": "server or user"}


def decode(parameters: Mapping[str, Sequence[str]]) -> Query:
    """Return the query in a request's parameters, each with all its values.

    Raises Mismatch for one that is missing, unknown, given twice or of the wrong shape, and for
    server memory without a server.
    """
    for name, values in parameters.items():
        if name not in _PARAMETERS:
            # Not named: an unknown parameter may itself be somebody's words.
            raise Mismatch("query", f"no other parameters than {', '.join(_PARAMETERS)}")
        if len(values) != 1:
            raise Mismatch(name, "one value")
    try:
        query = msgspec.convert(
            {name: encodable(values[0]) for name, values in parameters.items()}, Query, strict=False
        )
    except msgspec.ValidationError as error:
        raise mismatch(error, _CHOICES) from None
    if query.kind == "server" and query.server_id is None:
        raise Mismatch("scope", "user in a direct message, which has no server")
    return query
