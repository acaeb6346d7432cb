"""What capture sends to the writer: which rows a turn or a bot's notes touch, and how.

Version 1. A turn's message has no field that could carry text or a name; what a bot writes about a
scope on purpose, its summary and categories, travels in a message of its own kind. A reader refuses
a kind or a version that it does not know, so that a newer capture never has its work applied
wrongly by an older writer.
"""

import json
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from shortterm.notes import Notes
from shortterm.scope import Scope
from shortterm.wire import Id, Millis, Mismatch, Private, mismatch


class ScopeWork(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One scope of a turn; `live` marks the row whose cadence counter the turn advances."""

    scope: Scope
    persona_lineage_id: Id | None = None
    live: bool = False


class TurnWork(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The durable side of one captured turn; times are in ms since the epoch.

    `captured_at` is the container's own clock, which forgetting goes by: None in a message from
    before there was one.
    """

    version: Literal[1]
    turn_id: Id
    occurred_at: Millis
    scopes: Annotated[tuple[ScopeWork, ...], Meta(min_length=1)]
    server_id: Id | None = None
    parent_channel_id: Id | None = None
    is_private: bool = False
    captured_at: Millis | None = None

    @property
    def group(self) -> str:
        """Whose turn it is, for a fair queue: the server's, or the user's in a direct message."""
        return _owner_of_the_live(self.scopes) or self.turn_id

    @property
    def known_at(self) -> int:
        """When this was captured (ms), as far as is known."""
        return self.occurred_at if self.captured_at is None else self.captured_at


class NotesWork(Private, frozen=True, omit_defaults=True):
    """The durable side of the notes that a bot attached to `scopes`; times are in ms."""

    version: Literal[1]
    kind: Literal["notes"]
    captured_at: Millis
    scopes: Annotated[tuple[ScopeWork, ...], Meta(min_length=1)]
    notes: Notes
    server_id: Id | None = None
    parent_channel_id: Id | None = None
    is_private: bool = False

    @property
    def group(self) -> str:
        """Whose notes they are, for a fair queue."""
        return _owner_of_the_live(self.scopes) or self.scopes[0].scope.owner_id

    @property
    def known_at(self) -> int:
        """When this was captured (ms)."""
        return self.captured_at


Work = TurnWork | NotesWork


class _Kind(Struct, frozen=True):
    kind: Literal["turn", "notes"] = "turn"


_encoder = msgspec.json.Encoder()
_kind_decoder = msgspec.json.Decoder(_Kind)
_decoders: dict[str, msgspec.json.Decoder[TurnWork] | msgspec.json.Decoder[NotesWork]] = {
    "turn": msgspec.json.Decoder(TurnWork),
    "notes": msgspec.json.Decoder(NotesWork),
}


def encode(work: Work) -> str:
    """Return `work` as JSON in ASCII, since SQS refuses some of the other characters.

    Raises UnicodeDecodeError for a turn that was built with anything but ids, numbers and flags.
    """
    encoded = _encoder.encode(work)
    if isinstance(work, TurnWork):
        return encoded.decode("ascii")
    return encoded.decode() if encoded.isascii() else json.dumps(json.loads(encoded))


def decode(body: str) -> Work:
    """Return the work in `body`.

    Raises Mismatch when it is not JSON, not a work message, or of a version not known here.
    """
    try:
        return _decoders[_kind_decoder.decode(body).kind].decode(body)
    except msgspec.ValidationError as error:
        raise mismatch(error, {"version": "version 1", "kind": "turn or notes"}) from None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise Mismatch("body", "a JSON object") from None


def _owner_of_the_live(scopes: tuple[ScopeWork, ...]) -> str | None:
    return next((it.scope.owner_id for it in scopes if it.live), None)
