"""The wire model of a refresh: the summary and categories that a bot attaches to a scope."""

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

from capture.body import Reader
from capture.cleaning import is_visible, storable
from capture.graphemes import cut
from capture.turn import PersonaId, ServerId, Text, as_text, guild
from shortterm.notes import MAX_CATEGORIES, MAX_SUMMARY_CHARACTERS, Category, Notes
from shortterm.wire import Id, Millis, Mismatch, Private, mismatch

MAX_CATEGORY_NAME = 64
CategoryText = Annotated[str, Meta(max_length=500)]
_JOINERS = str.maketrans("", "", "\u200c\u200d")


class Refresh(Private, frozen=True):
    """What a bot says of a scope. `server_id` is None in a direct message.

    `occurred_at` is in ms since the epoch.
    """

    user_id: Id
    channel_id: Id
    server_id: ServerId | None = None
    persona_id: PersonaId | None = None
    persona_lineage_id: PersonaId | None = None
    parent_channel_id: Id | None = None
    is_private_channel: bool | None = None
    occurred_at: Millis | None = None
    summary: Text | None = None
    # More may be removed than may be there.
    categories: Annotated[dict[str, CategoryText | None], Meta(max_length=50)] | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "server_id", guild(self.server_id))

    @property
    def persona(self) -> str | None:
        """The persona's id."""
        return as_text(self.persona_id)

    @property
    def lineage(self) -> str | None:
        """The id of the persona's lineage."""
        return as_text(self.persona_lineage_id)

    @property
    def is_too_long(self) -> bool:
        """Whether the summary has to be cut."""
        return len(_stored(self.summary or "")) > MAX_SUMMARY_CHARACTERS

    def notes(self, told_at: int) -> Notes:
        """Return what is told, at `told_at` (ms): what has nothing visible is taken away."""
        summary = cut(_stored(self.summary or ""), MAX_SUMMARY_CHARACTERS)
        categories = self.categories or {}
        return Notes(
            summary=summary or None,
            summary_told_at=None if self.summary is None else told_at,
            categories=tuple(
                Category(name, told_at, _stored(text or "") or None)
                for name, text in sorted(categories.items())
            ),
        )


_reader = Reader(Refresh)


def decode(body: str) -> Refresh:
    """Return the refresh in a request's body. Raises Mismatch, naming the field."""
    try:
        refresh = msgspec.convert(_reader.read(body), Refresh)
    except msgspec.ValidationError as error:
        raise mismatch(error) from None
    if refresh.summary is None and not refresh.categories:
        raise Mismatch("summary", "text, unless there are categories")
    for name in refresh.categories or {}:
        # Some scripts, and emoji, cannot be written without joiners.
        printable = name.translate(_JOINERS).isprintable() and is_visible(name)
        if len(name) > MAX_CATEGORY_NAME or not printable:
            raise Mismatch("categories", f"names of 1 to {MAX_CATEGORY_NAME} printable characters")
    if len(refresh.notes(told_at=0).by_category) > MAX_CATEGORIES:
        raise Mismatch("categories", f"at most {MAX_CATEGORIES} with a text")
    return refresh


def _stored(text: str) -> str:
    """Return `text` as it is kept, empty if nothing of it can be seen."""
    text = storable(text).strip()
    return text if is_visible(text) else ""
