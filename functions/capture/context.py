"""What was recalled, rendered for a prompt (design, section 7). Pure: same input, same text."""

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Literal

import msgspec
from msgspec import Struct

from capture.cleaning import is_visible
from capture.container import Container, MemoryState
from capture.dialogue import Role
from capture.query import ContextQuery
from capture.recall import Recollection
from capture.remembered import Remembered
from shortterm.clock import DAY_MS, HOUR_MS, MINUTE_MS
from shortterm.wire import Millis, Private

# What a display name could use to speak for somebody else, and that of a channel to end its header.
_NOT_IN_A_SPEAKER = str.maketrans(":[]", " ()")
_NOT_IN_A_PLACE = str.maketrans("[]", "()")
_NAMELESS: dict[Role, str] = {"user": "Somebody", "model": "Persona"}
_GAP = "\n\n"


class SpokenLine(Private, frozen=True):
    """A crude line; `timestamp` is in ms since the epoch, `ago` the same in words."""

    role: Role
    speaker: str
    content: str
    timestamp: Millis
    ago: str


class Channel(Private, frozen=True):
    """What a prompt is told of one channel.

    `updated_at` is in ms since the epoch, `ago` the same in words.
    """

    key: str
    server_id: str | None
    server_name: str | None
    channel_id: str
    channel_name: str | None
    is_private_channel: bool
    persona_id: str | None
    summary: str | None
    categories: dict[str, str]
    lines: tuple[SpokenLine, ...]
    updated_at: Millis
    ago: str

    @property
    def is_noted(self) -> bool:
        """Whether a bot told a summary or categories of it."""
        return bool(self.summary or self.categories)

    @property
    def says_something(self) -> bool:
        """Whether there is anything to tell of it."""
        return self.is_noted or bool(self.lines)


class Nudge(Struct, frozen=True, rename="camel"):
    """Whether the bot should refresh the summary now."""

    due: bool
    turns_since_refresh: int
    refresh_cadence: int


class Context(Private, frozen=True):
    """The answer to `GET /v1/context`: `text`, and what it tells in fields."""

    text: str
    current: Channel | None
    others: tuple[Channel, ...]
    nudge: Nudge
    memory: MemoryState
    durable: Literal["fresh", "unavailable"]


def render(found: Recollection, query: ContextQuery, container: Container, now: int) -> Context:
    """Return the asked channel and up to `max_channels` others as a prompt wants them.

    Each with its newest `max_lines` lines, unless `supersede` has a summary or categories stand for
    them. Of a text of more than `max_chars` characters the oldest lines are dropped whole; of
    summaries and categories that alone are more, those of the remotest channels. `now` is in ms.
    """
    current = None if found.current is None else _channel(found.current, query, now)
    others = [_channel(it, query, now) for it in found.others]
    telling = _one_per_channel(others, query.persona_id)[: query.max_channels]
    if current is not None:
        telling.insert(0, current)
    here = None if current is None else current.key
    kept = _within(query.max_chars, telling, here)
    return Context(
        text=_text(kept, here),
        current=next((it for it in kept if it.key == here), None),
        others=tuple(it for it in kept if it.key != here),
        nudge=Nudge(
            found.turns_since_refresh >= query.refresh_cadence,
            found.turns_since_refresh,
            query.refresh_cadence,
        ),
        memory=container.knowing(found.state),
        durable=found.durable,
    )


def ago(then: int, now: int) -> str:
    """Return in words how long before `now` (ms) `then` was: in whole units, rounded down."""
    age = max(0, now - then)
    for unit_ms, unit in ((DAY_MS, "day"), (HOUR_MS, "hour"), (MINUTE_MS, "minute")):
        if count := age // unit_ms:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def _one_per_channel(others: Iterable[Channel], persona_id: str | None) -> list[Channel]:
    """Return what there is to tell of each channel, the newest first.

    By the asked persona if it has something to tell, else by the one that was there last.
    """
    chosen: dict[str, Channel] = {}
    for it in others:
        if it.says_something and (it.channel_id not in chosen or it.persona_id == persona_id):
            chosen[it.channel_id] = it
    return sorted(chosen.values(), key=lambda it: it.updated_at, reverse=True)


def _channel(it: Remembered, query: ContextQuery, now: int) -> Channel:
    superseded = query.render_mode == "supersede" and (it.summary or it.categories)
    newest = () if superseded or not query.max_lines else it.lines[-query.max_lines :]
    return Channel(
        key=it.key,
        server_id=it.server_id,
        server_name=it.server_name,
        channel_id=it.channel_id,
        channel_name=it.channel_name,
        is_private_channel=it.is_private_channel,
        persona_id=it.persona_id,
        summary=it.summary,
        categories=it.categories,
        lines=tuple(
            SpokenLine(
                line.role,
                line.speaker if is_visible(line.speaker) else _NAMELESS[line.role],
                line.content,
                line.timestamp,
                ago(line.timestamp, now),
            )
            for line in newest
        ),
        updated_at=it.updated_at,
        ago=ago(it.updated_at, now),
    )


def _within(limit: int, channels: list[Channel], here: str | None) -> list[Channel]:
    """Return as much of `channels`, the nearest first, as a text of `limit` characters can tell."""
    room = limit + len(_GAP)
    heads = {it.key: len(_head(it, here)) + len(_GAP) for it in channels}
    noted = [it.key for it in channels if it.is_noted]
    while sum(heads[key] for key in noted) > room:
        noted.pop()
    room -= sum(heads[key] for key in noted)
    counts = dict.fromkeys(noted, 0)
    for it in _newest_line_first(it for it in channels if it.key in counts or not it.is_noted):
        line = it.lines[-1 - counts.get(it.key, 0)]
        room -= len(_told(line)) + len("\n") + (0 if it.key in counts else heads[it.key])
        if room < 0:
            break
        counts[it.key] = counts.get(it.key, 0) + 1
    return [
        msgspec.structs.replace(it, lines=it.lines[len(it.lines) - counts[it.key] :])
        for it in channels
        if it.key in counts
    ]


def _newest_line_first(channels: Iterable[Channel]) -> Iterator[Channel]:
    """Yield each line's channel, from the newest line on; of the same age, the nearest first."""
    near = list(channels)
    ages = ([(it.timestamp, -n) for it in reversed(near[n].lines)] for n in range(len(near)))
    return (near[-n] for _, n in merge(*ages, reverse=True))


def _text(channels: Iterable[Channel], here: str | None) -> str:
    return _GAP.join("\n".join([_head(it, here), *map(_told, it.lines)]) for it in channels)


def _head(it: Channel, here: str | None) -> str:
    which = "This" if it.key == here else "Another"
    lines = [f"[{which} {_named(it).translate(_NOT_IN_A_PLACE)}, {it.ago}]"]
    if it.summary:
        lines.append(f"Summary: {_indented(it.summary)}")
    lines += [f"{name}: {_indented(text)}" for name, text in it.categories.items()]
    return "\n".join(lines)


def _named(it: Channel) -> str:
    name = f"#{it.channel_name}" if it.channel_name else it.channel_id
    if it.server_id is None:
        return f"direct message {name}" if it.channel_name else "direct message"
    return f"channel {name} on {it.server_name}" if it.server_name else f"channel {name}"


def _told(line: SpokenLine) -> str:
    return f"{line.speaker.translate(_NOT_IN_A_SPEAKER)} ({line.ago}): {_indented(line.content)}"


def _indented(text: str) -> str:
    """Return `text` so that nobody can write a line that looks like another speaker's."""
    return "\n    ".join(text.splitlines())
