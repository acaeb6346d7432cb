"""Remembering turns and asking for them, each with only what the test is about spelled out."""

from typing import Any

import msgspec
from faults import FakeRows
from given import window

from capture import query as wire
from capture.answer import Memories, memories
from capture.container import Container
from capture.memory import Memory
from capture.query import MemoriesQuery
from capture.recall import Question, Recollection, recall
from capture.row import Row
from shortterm.scope import Scope
from shortterm.work import ScopeWork

HERE = Container("box", since=1)


def keep(
    held: Memory,
    channel: str = "c",
    *,
    user: str = "u",
    server: str | None = "s",
    persona: str = "7",
    lineage: str | None = None,
    text: str = "words",
    **fields: Any,
) -> None:
    """Remember a turn of now, in a guild unless there is no server; `fields` are the window's."""
    now = held._clock()
    scopes = [ScopeWork(Scope("user", user, channel, persona), lineage, live=server is None)]
    if server is not None:
        scopes.append(ScopeWork(Scope("server", server, channel, persona), lineage, live=True))
    kept = window(text, occurred_at=now, server_id=server, **fields)
    held.remember(f"{channel}-{user}-{server}-{persona}-{now}", scopes, kept)


def recalled(
    held: Memory,
    *rows: Row | FakeRows,
    withhold: bool = False,
    for_prompt: bool = False,
    **parameters: str | None,
) -> Recollection:
    """What is recalled for user u, server s, channel c and persona 7, unless told otherwise.

    From rows, or from what stands for all of them.
    """
    asked = {"userId": "u", "channelId": "c", "serverId": "s", "personaId": "7"} | parameters
    values = {name: [value] for name, value in asked.items() if value is not None}
    query = wire.decode(values, MemoriesQuery)
    question = Question(query, query.limit, for_prompt=for_prompt, at=held._clock())
    durable = rows[0] if rows and isinstance(rows[0], FakeRows) else FakeRows(*rows)
    return recall(question, held, durable, withhold=withhold)


def answered(held: Memory, *rows: Row | FakeRows, **asked: Any) -> Memories:
    """What `GET /v1/memories` answers."""
    return memories(recalled(held, *rows, **asked), HERE)


def ask(held: Memory, *rows: Row | FakeRows, **asked: Any) -> dict[str, Any]:
    """The same as a bot reads it."""
    return msgspec.json.decode(msgspec.json.encode(answered(held, *rows, **asked)))


def channels(found: dict[str, Any]) -> list[str]:
    """The other channels that were answered, in their order."""
    return [it["channelId"] for it in found["others"]]
