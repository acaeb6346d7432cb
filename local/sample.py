"""The sample conversation: what a bot posts, and what must be remembered and told of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_USER, _SERVER = "01", "02"
_CHANNEL, _THREAD, _DIRECT, _SECRET = "11", "12", "13", "14"
_NAMES = {_CHANNEL: "travel", _THREAD: "packing"}


@dataclass(frozen=True, slots=True)
class Persona:
    id: str
    lineage_id: str
    name: str


_LUNA = Persona("7", "3", "Luna")
_REX = Persona("8", "4", "Rex")


@dataclass(frozen=True, slots=True)
class Post:
    """One turn as it is posted, and the status that the API must answer with."""

    what: str
    body: dict[str, Any]
    status: str = "captured"


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be held for one scope; None where it must not be known at all."""

    place: str
    kind: str
    owner_id: str
    channel_id: str
    server_id: str | None
    persona: Persona
    lines: int | None
    turns: int | None

    @property
    def key(self) -> str:
        return f"shortterm:{self.kind}:{self.owner_id}:{self.channel_id}:{self.persona.id}"


@dataclass(frozen=True, slots=True)
class Context:
    """What a context is asked for, and what its text must and must not tell."""

    asked: dict[str, str]
    told: Sequence[str]
    untold: Sequence[str]


@dataclass(frozen=True, slots=True)
class Sample:
    """The turns, the summary of them that the bot then attaches, and what must come of it."""

    posts: Sequence[Post]
    summary: dict[str, Any]
    expected: Sequence[Expected]
    context: Context
    owners: Sequence[str]


@dataclass
class _Script:
    """Writes the turns of one run; every id begins with its start, for rows outlive a run."""

    started_ms: int
    posts: list[Post] = field(default_factory=list)

    def id(self, suffix: str) -> str:
        return f"{self.started_ms}{suffix}"

    def place(self, channel: str) -> dict[str, str]:
        place = {"userId": self.id(_USER), "channelId": self.id(channel)}
        return place if channel == _DIRECT else place | {"serverId": self.id(_SERVER)}

    def turn(
        self,
        what: str,
        channel: str,
        said: Sequence[tuple[Persona | None, str]],
        replies: Sequence[tuple[Persona, str]],
        *,
        status: str = "captured",
        **more: Any,
    ) -> None:
        number = len(self.posts)
        body = {
            "turnId": self.id(f"9{number}"),
            "occurredAt": self.started_ms + number,
            **self.place(channel),
            "serverName": None if channel == _DIRECT else "Harbour",
            "channelName": _NAMES.get(channel),
            "privacyLevel": "MINIMAL",
            "simplifiedMessages": [_message(persona, text) for persona, text in said],
            "personaResponses": [_response(persona, text) for persona, text in replies],
            **more,
        }
        self.posts.append(Post(what, body, status))

    def again(self) -> None:
        last = self.posts[-1]
        self.posts.append(Post(f"{last.what}, posted again", last.body))


def sample(started_ms: int) -> Sample:
    """The conversation of a run that began then (ms since the epoch; it must lie in the past)."""
    script = _Script(started_ms)
    morning = [(None, "Good morning! <:wave:42>"), (_LUNA, "Good morning, early bird.")]
    plan = [(None, "What do we need for the trip?"), (_LUNA, "Maps, tea and patience.")]
    script.turn("guild channel", _CHANNEL, morning[:1], [(_LUNA, morning[1][1])])
    script.turn("guild channel", _CHANNEL, [*morning, plan[0]], [(_LUNA, plan[1][1])])
    script.again()
    script.turn(
        "guild channel, two personas",
        _CHANNEL,
        [*morning, *plan, (None, "Who comes along?")],
        [(_LUNA, "I do."), (_REX, "Not without me.")],
    )
    script.turn(
        "thread",
        _THREAD,
        [(None, "The packing list goes here.")],
        [(_LUNA, "Noted.")],
        parentChannelId=script.id(_CHANNEL),
    )
    script.turn("direct message", _DIRECT, [(None, "Just us two?")], [(_LUNA, "Just us two.")])
    script.turn(
        "privacy FULL",
        _SECRET,
        [(None, "Forget this.")],
        [(_LUNA, "Forgotten.")],
        status="skipped",
        privacyLevel="FULL",
    )
    asked = script.place(_CHANNEL) | {"personaId": _LUNA.id}
    summary = "Ada plans a trip. Luna packs maps, tea and patience; Rex comes along."
    return Sample(
        script.posts,
        asked | {"occurredAt": started_ms + len(script.posts), "summary": summary},
        _expected(script),
        Context(
            asked,
            told=(
                "[This channel #travel on Harbour, just now]",
                f"Summary: {summary}",
                "Ada (just now): Who comes along?",
                "Rex (just now): Not without me.",
                "[Another channel #packing on Harbour, just now]",
                "Luna (just now): Noted.",
            ),
            untold=("Just us two", "Forget this"),
        ),
        (script.id(_USER), script.id(_SERVER)),
    )


def _expected(script: _Script) -> list[Expected]:
    """In a guild the server's row counts the turns, in a direct message the user's.

    The summary of the guild channel starts its count anew.
    """
    user, server = script.id(_USER), script.id(_SERVER)

    def guild(
        place: str, channel: str, persona: Persona, lines: int | None, turns: int | None
    ) -> list[Expected]:
        channel_id = script.id(channel)
        idle = None if turns is None else 0
        return [
            Expected(place, "server", server, channel_id, server, persona, lines, turns),
            Expected(place, "user", user, channel_id, server, persona, lines, idle),
        ]

    return [
        *guild("guild channel", _CHANNEL, _LUNA, 7, 0),
        *guild("guild channel", _CHANNEL, _REX, 7, 1),
        *guild("thread", _THREAD, _LUNA, 2, 1),
        Expected("direct message", "user", user, script.id(_DIRECT), None, _LUNA, 2, 1),
        *guild("privacy FULL", _SECRET, _LUNA, None, None),
    ]


def _message(persona: Persona | None, text: str) -> dict[str, Any]:
    if persona is None:
        return {"authorType": "user", "authorName": "Ada", "content": text}
    return {
        "authorType": "persona",
        "authorName": "bot",
        "personaName": persona.name,
        "content": text,
    }


def _response(persona: Persona, text: str) -> dict[str, Any]:
    return {
        "text": text,
        "personaId": persona.id,
        "personaLineageId": persona.lineage_id,
        "personaName": persona.name,
    }
