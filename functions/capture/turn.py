"""The wire model of a completed dialogue turn, decoded and validated (design, section 4)."""

import json
import re
from collections import Counter
from typing import Annotated, Any, Literal, NoReturn

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

from capture.cleaning import encodable
from shortterm.wire import Id, Millis, Mismatch, Private, mismatch

PrivacyLevel = Literal["MINIMAL", "PARTIAL", "FULL"]

Text = Annotated[str, Meta(max_length=65_536)]
Name = Annotated[str, Meta(max_length=256)]
# Integers that a JavaScript client cannot have rounded.
PersonaId = Id | Annotated[int, Meta(ge=0, le=2**53 - 1)] | None
ServerId = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{0,64}\Z")] | None

_CHOICES = {"privacyLevel": "MINIMAL, PARTIAL or FULL"}


class Message(Private, frozen=True):
    """One message of the bot's simplified history, oldest first; `created_at` in ms."""

    author_type: Name
    author_name: Name
    content: Text
    persona_name: Name | None = None
    author_id: Id | None = None
    created_at: Millis | None = None


class PersonaResponse(Private, frozen=True):
    """What one persona answered in this turn."""

    text: Text
    persona_id: PersonaId = None
    persona_lineage_id: PersonaId = None
    persona_name: Name | None = None

    @property
    def persona(self) -> str | None:
        """The persona's id; 7 and "7" are the same persona."""
        return None if self.persona_id is None else str(self.persona_id)

    @property
    def lineage(self) -> str | None:
        """The id of the persona's lineage."""
        return None if self.persona_lineage_id is None else str(self.persona_lineage_id)


class Turn(Private, frozen=True):
    """One completed exchange. `server_id` is None in a direct message; `occurred_at` is in ms."""

    user_id: Id
    channel_id: Id
    privacy_level: PrivacyLevel
    simplified_messages: Annotated[tuple[Message, ...], Meta(max_length=1_000)]
    persona_responses: Annotated[tuple[PersonaResponse, ...], Meta(max_length=50)]
    turn_id: Id | None = None
    occurred_at: Millis | None = None
    server_id: ServerId = None
    server_name: Name | None = None
    channel_name: Name | None = None
    parent_channel_id: Id | None = None
    is_private_channel: bool | None = None
    is_stop_response: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "server_id", guild(self.server_id))


def guild(server_id: str | None) -> str | None:
    """Return the server's id, or None where the bot means a direct message."""
    return None if server_id in (None, "", "DM") else server_id


def decode(body: str) -> Turn:
    """Return the turn in a request's body.

    The JSON is read by the standard library, since it sees what a faster decoder hides or refuses:
    a key that is given twice, and a lone surrogate. Raises Mismatch, naming the field.
    """
    try:
        return msgspec.convert(_read(body), Turn)
    except msgspec.ValidationError as error:
        raise mismatch(error, _CHOICES) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose keys are each given once."""
    values = dict(pairs)
    if len(values) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        ((twice, _),) = counts.most_common(1)
        # An unknown key may itself be somebody's words.
        raise Mismatch(twice if twice in _KNOWN_KEYS else "body", "each key once per object")
    return values


def _encodable_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the same with U+FFFD for lone surrogates, in keys and in values."""
    return _once(
        [
            (encodable(key), encodable(value) if isinstance(value, str) else value)
            for key, value in pairs
        ]
    )


def _not_a_number(_: str) -> NoReturn:
    raise Mismatch("body", "JSON, which has neither NaN nor Infinity")


_KNOWN_KEYS = frozenset(
    field.encode_name
    for kind in (Turn, Message, PersonaResponse)
    for field in msgspec.structs.fields(kind)
)
_json = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_not_a_number)
_json_with_surrogates = json.JSONDecoder(
    object_pairs_hook=_encodable_once, parse_constant=_not_a_number
)
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _read(body: str) -> Any:
    reader = _json_with_surrogates if _may_hold_surrogates(body) else _json
    try:
        return reader.decode(body)
    except (json.JSONDecodeError, RecursionError):
        raise Mismatch("body", "a JSON object") from None
    except ValueError:
        # An integer of more digits than Python converts.
        raise Mismatch("body", "JSON with numbers of a sane length") from None


def _may_hold_surrogates(body: str) -> bool:
    """Tell whether `body` holds half of a pair, escaped or not; most hold none, so it is quick."""
    if "\\u" in body and _ESCAPED_SURROGATE.search(body):
        return True
    if body.isascii():
        return False
    try:
        body.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
