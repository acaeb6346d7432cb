"""The content-free message that capture sends to the writer: which rows a turn touches.

Version 1. It has no field that could carry text or a name, and a reader refuses a version that it
does not know, so that a newer capture never has its work applied wrongly by an older writer.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from shortterm.scope import Scope
from shortterm.wire import Id, Millis, Mismatch, mismatch


class ScopeWork(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One scope of a turn; `live` marks the row whose cadence counter the turn advances."""

    scope: Scope
    persona_lineage_id: Id | None = None
    live: bool = False


class TurnWork(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The durable side of one captured turn; `occurred_at` is in ms since the epoch."""

    version: Literal[1]
    turn_id: Id
    occurred_at: Millis
    scopes: Annotated[tuple[ScopeWork, ...], Meta(min_length=1)]
    server_id: Id | None = None
    parent_channel_id: Id | None = None
    is_private: bool = False

    @property
    def owner_id(self) -> str:
        """Whose turn it is, for a fair queue: the server's, or the user's in a direct message."""
        return next((it.scope.owner_id for it in self.scopes if it.live), self.turn_id)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TurnWork)


def encode(work: TurnWork) -> str:
    """Return `work` as JSON. Every field is an id, a number or a flag, so the text is ASCII.

    Raises UnicodeDecodeError for a value that was built with anything else.
    """
    return _encoder.encode(work).decode("ascii")


def decode(body: str) -> TurnWork:
    """Return the work in `body`.

    Raises Mismatch when it is not JSON, not a work message, or of a version not known here.
    """
    try:
        return _decoder.decode(body)
    except msgspec.ValidationError as error:
        raise mismatch(error, {"version": "version 1"}) from None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise Mismatch("body", "a JSON object") from None
