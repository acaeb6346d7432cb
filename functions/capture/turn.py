"""The wire model of a completed dialogue turn, decoded and validated (design, section 4)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

from capture.body import Reader
from shortterm.wire import Id, Millis, Private, mismatch

PrivacyLevel = Literal["MINIMAL", "PARTIAL", "FULL"]

Text = Annotated[str, Meta(max_length=65_536)]
Name = Annotated[str, Meta(max_length=256)]
# Integers that a JavaScript client cannot have rounded.
PersonaId = Id | Annotated[int, Meta(ge=0, le=2**53 - 1)]
ServerId = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{0,64}\Z")]

_CHOICES = {"privacyLevel": "MINIMAL, PARTIAL or FULL"}


class Message(Private, frozen=True):
    """One message of the bot's simplified history, oldest first.

    `created_at` is in ms since the epoch.
    """

    author_type: Name
    author_name: Name
    content: Text
    persona_name: Name | None = None
    author_id: Id | None = None
    created_at: Millis | None = None


class PersonaResponse(Private, frozen=True):
    """What one persona answered in this turn."""

    text: Text
    persona_id: PersonaId | None = None
    persona_lineage_id: PersonaId | None = None
    persona_name: Name | None = None

    @property
    def persona(self) -> str | None:
        """The persona's id."""
        return as_text(self.persona_id)

    @property
    def lineage(self) -> str | None:
        """The id of the persona's lineage."""
        return as_text(self.persona_lineage_id)


class Turn(Private, frozen=True):
    """One completed exchange. `server_id` is None in a direct message.

    `occurred_at` is in ms since the epoch.
    """

    user_id: Id
    channel_id: Id
    privacy_level: PrivacyLevel
    simplified_messages: Annotated[tuple[Message, ...], Meta(max_length=1_000)]
    persona_responses: Annotated[tuple[PersonaResponse, ...], Meta(max_length=50)]
    turn_id: Id | None = None
    occurred_at: Millis | None = None
    server_id: ServerId | None = None
    server_name: Name | None = None
    channel_name: Name | None = None
    parent_channel_id: Id | None = None
    is_private_channel: bool | None = None
    is_stop_response: bool | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "server_id", guild(self.server_id))


def guild(server_id: str | None) -> str | None:
    """Return the server's id, or None where the bot means a direct message."""
    return None if server_id in (None, "", "DM") else server_id


def as_text(persona_id: PersonaId | None) -> str | None:
    """Return a persona's id, or a lineage's, as text: 7 and "7" are the same persona."""
    return None if persona_id is None else str(persona_id)


_reader = Reader(Turn, Message, PersonaResponse)


def decode(body: str) -> Turn:
    """Return the turn in a request's body. Raises Mismatch, naming the field."""
    try:
        return msgspec.convert(_reader.read(body), Turn)
    except msgspec.ValidationError as error:
        raise mismatch(error, _CHOICES) from None
