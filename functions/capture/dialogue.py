"""The lines that a turn leaves to remember: filtered, cleaned, the newest ones. Pure."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from capture.cleaning import clean, clean_name, is_visible
from capture.turn import Message, Turn
from shortterm.wire import Millis, Private

Role = Literal["user", "model"]


class Line(Private, frozen=True, omit_defaults=True):
    """One remembered utterance; `timestamp` is in ms since the epoch.

    `author_id` is whose it is when the author is forgotten; a line that is read back has none.
    """

    role: Role
    speaker: str
    content: str
    timestamp: Millis
    author_id: str | None = None


def lines(turn: Turn, *, limit: int, occurred_at: int) -> tuple[Line, ...]:
    """Return the newest `limit` lines of `turn`, oldest first (design, section 5.2).

    A message without time, and every response, is as old as the turn.
    """
    spoken = list(_spoken(turn, occurred_at))
    # Newest first, so that no more of a long history is cleaned than is kept.
    heard = list(islice(_heard(reversed(turn.simplified_messages), occurred_at), limit))[::-1]
    if not _reports(heard, spoken[-limit:]):
        heard += spoken
    return tuple(heard[-limit:])


def _heard(messages: Iterable[Message], occurred_at: int) -> Iterator[Line]:
    for message in messages:
        if message.author_type not in ("user", "persona"):
            continue
        content = clean(message.content)
        if not is_visible(content):
            continue
        time = occurred_at if message.created_at is None else min(message.created_at, occurred_at)
        if message.author_type == "persona":
            yield Line("model", _persona_name(message), content, time, message.author_id)
        else:
            name = clean_name(message.author_name)
            yield Line("user", name, content, time, message.author_id)


def _spoken(turn: Turn, occurred_at: int) -> Iterator[Line]:
    for response in turn.persona_responses:
        content = clean(response.text)
        if is_visible(content):
            yield Line("model", clean_name(response.persona_name or ""), content, occurred_at)


def _persona_name(message: Message) -> str:
    name = clean_name(message.persona_name or "")
    return name if is_visible(name) else clean_name(message.author_name)


def _reports(heard: list[Line], spoken: list[Line]) -> bool:
    """Tell whether the history already ends with what was just spoken."""
    ending = heard[-len(spoken) :]
    return len(ending) == len(spoken) and all(map(_is_same, ending, spoken))


def _is_same(heard: Line, spoken: Line) -> bool:
    # A response without a name was posted by the bot under whatever name it has there.
    same_speaker = not spoken.speaker or heard.speaker == spoken.speaker
    return heard.role == spoken.role and heard.content == spoken.content and same_speaker
