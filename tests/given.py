"""Turns, messages and times for tests, each with only what the test is about spelled out."""

from types import SimpleNamespace
from typing import Any

import msgspec

from capture.dialogue import Line
from capture.entry import Window, pack
from capture.memory import Memory
from capture.turn import Turn
from shortterm.scope import Scope
from shortterm.work import ScopeWork, TurnWork

HOUR = 3_600_000
NOW = 1_796_000_000_000
LAMBDA_CONTEXT = SimpleNamespace(aws_request_id="lambda-request", function_name="capture")


class Clock:
    """A wall clock that stands until it is set; ms since the epoch."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def message(content: str, author: str = "user", **fields: Any) -> dict[str, Any]:
    return {"authorType": author, "authorName": "Ann", "content": content, **fields}


def response(text: str, **fields: Any) -> dict[str, Any]:
    return {"text": text, "personaName": "Mara", **fields}


def turn_fields(**fields: Any) -> dict[str, Any]:
    """A guild turn as JSON: user u, server s, channel c, persona 7, one message and one reply."""
    return {
        "turnId": "t1",
        "userId": "u",
        "channelId": "c",
        "serverId": "s",
        "privacyLevel": "MINIMAL",
        "simplifiedMessages": [message("hello")],
        "personaResponses": [response("hi", personaId="7")],
        **fields,
    }


def turn(**fields: Any) -> Turn:
    return msgspec.convert(turn_fields(**fields), Turn)


def memory(clock: Clock | None = None, max_bytes: int = 2**25) -> Memory:
    return Memory(
        max_bytes=max_bytes, ttl_ms=12 * HOUR, summary_ttl_ms=24 * HOUR, clock=clock or Clock()
    )


def window(*contents: str, occurred_at: int = NOW, **fields: Any) -> Window:
    lines = tuple(Line("user", "Ann", content, occurred_at) for content in contents)
    return Window(pack(lines), len(lines), occurred_at, **fields)


USERS = Scope("user", "u", "c", "7")
SERVERS = Scope("server", "s", "c", "7")


def work(
    turn_id: str = "t1", *, at: int = NOW, lineage: str | None = None, **fields: Any
) -> TurnWork:
    """The work of a guild turn: the user's row, and the server's as the live one."""
    owner = {"user": fields.pop("user", "u"), "server": fields.pop("server", "s")}
    place = (fields.pop("channel", "c"), fields.pop("persona", "7"))
    return TurnWork(
        version=1,
        turn_id=turn_id,
        occurred_at=at,
        scopes=(
            ScopeWork(Scope("user", owner["user"], *place), lineage),
            ScopeWork(Scope("server", owner["server"], *place), lineage, live=True),
        ),
        server_id=owner["server"],
        **fields,
    )
