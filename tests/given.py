"""Turns, messages and times for tests, each with only what the test is about spelled out."""

import itertools
from types import SimpleNamespace
from typing import Any

import msgspec

from capture.dialogue import Line
from capture.entry import Entry
from capture.memory import Memory
from capture.row import Row
from capture.turn import Turn
from capture.window import Window, empty_window, pack
from shortterm.notes import Category, Notes
from shortterm.scope import Scope
from shortterm.work import NotesWork, ScopeWork, TurnWork, Work, encode

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


def window(
    *contents: str,
    occurred_at: int = NOW,
    captured_at: int | None = None,
    author: str | None = None,
    **fields: Any,
) -> Window:
    """A window of lines that all say what is given; captured when it occurred."""
    lines = tuple(Line("user", "Ann", content, occurred_at, author) for content in contents)
    captured_at = occurred_at if captured_at is None else captured_at
    return Window(pack(lines), len(lines), occurred_at, captured_at, **fields)


def said(window: Window) -> list[str]:
    """What the lines of a window say."""
    return [line.content for line in window.lines({})]


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


def notes(told_at: int = NOW, summary: str | None = None, **categories: str | None) -> Notes:
    """What a bot told at one time; an empty summary takes it away."""
    return Notes(
        summary or None,
        None if summary is None else told_at,
        tuple(Category(name, told_at, text) for name, text in sorted(categories.items())),
    )


_later = itertools.count()


def summarize(
    held: Memory, scope: Scope, summary: str | None = None, **categories: str | None
) -> Entry:
    """Attach notes to a scope, later than any before."""
    now = held._clock()
    place = empty_window(now, server_id="s", parent_channel_id=None, is_private=False)
    told = notes(now + next(_later), summary, **categories)
    start = Entry(scope, place, updated_at=now, created_at=now)
    return held.note(start, lambda entry: entry.with_notes(told, None, now=now))


def attachment(
    told: Notes, *scopes: Scope, at: int = NOW, lineage: str | None = None, **fields: Any
) -> NotesWork:
    """The work of notes on `scopes`, or on the server's row of `work`, captured `at` (ms)."""
    return NotesWork(
        version=1,
        kind="notes",
        captured_at=at,
        scopes=tuple(ScopeWork(it, lineage) for it in scopes or (SERVERS,)),
        notes=told,
        **{"server_id": "s", **fields},
    )


def sqs(*bodies: Work | str) -> dict[str, Any]:
    """An SQS event whose message ids are m0, m1, …"""
    records = [
        {"messageId": f"m{number}", "receiptHandle": "r", "body": body, "attributes": {}}
        for number, body in enumerate(it if isinstance(it, str) else encode(it) for it in bodies)
    ]
    return {"Records": records}


def failures(answer: dict[str, Any]) -> list[str]:
    """The message ids that come back."""
    return [it["itemIdentifier"] for it in answer["batchItemFailures"]]


def row(scope: Scope, *, at: int = NOW, told: Notes | None = None, **fields: Any) -> Row:
    """A row of a guild as a read sees it, last alive at `at`."""
    told = told or Notes()
    given: dict[str, Any] = {
        "kind": scope.kind,
        "owner_id": scope.owner_id,
        "channel_id": scope.channel_id,
        "persona_id": scope.persona_id,
        "server_id": "s",
        "parent_channel_id": None,
        "persona_lineage_id": None,
        "is_private": False,
        "summary": told.summary,
        "summary_told_at": told.summary_told_at,
        "categories": told.by_category,
        "category_times": {it.name: it.told_at for it in told.categories},
        "turns_since_refresh": 0,
        "last_refreshed_turn": 0,
        "last_turn_at": at,
        "live_at": at,
    }
    return Row(**given | fields)
