"""Who says what where: the repeatable inputs of the benchmarks."""

import json
import random
import time
from functools import cache
from pathlib import Path
from typing import Any

EVENTS = Path(__file__).parent.parent / "events"
PERSONA = "7"

CHANCE = random.Random(20261130)  # noqa: S311 - repeatable inputs, no secrets

ALPHABETS = {
    "ASCII": "abcdefghijklmnopqrstuvwxyz      ",
    "Cyrillic": "абвгдежзийклмнопрстуфхцчшщыьэюя ",
    "ASCII with one emoji": "abcdefghijklmnopqrstuvwxyz      ",
}


def texts(length: int, script: str = "ASCII", count: int = 500) -> list[str]:
    """Return a stock to draw from: making text costs more than most of what is measured."""
    return [text(length, script) for _ in range(count)]


def text(length: int, script: str = "ASCII") -> str:
    """Return `length` characters that look like words; visible at both ends."""
    inner = "".join(CHANCE.choices(ALPHABETS[script], k=length - 2))
    return f"T{inner}{'🌊' if script.endswith('emoji') else '.'}"


def turn(number: int, user: str, channel: str, server: str, contents: list[str]) -> dict[str, Any]:
    """Return a guild turn as JSON: `contents` are its messages, the last one is the reply."""
    now = time.time_ns() // 1_000_000
    *heard, spoken = contents
    return {
        "turnId": f"13000000{number:011}",
        "occurredAt": now,
        "userId": user,
        "channelId": channel,
        "serverId": server,
        "serverName": "Harbour",
        "channelName": "general",
        "isPrivateChannel": False,
        "isStopResponse": False,
        "privacyLevel": "MINIMAL",
        "simplifiedMessages": [
            {
                "authorType": "user",
                "authorId": user,
                "authorName": "Ann",
                "content": content,
                "createdAt": now - 1_000,
            }
            for content in heard
        ],
        "personaResponses": [
            {
                "text": spoken,
                "personaId": PERSONA,
                "personaLineageId": "3",
                "personaName": "Mara",
            }
        ],
    }


@cache
def _read(name: str) -> str:
    return (EVENTS / f"{name}.json").read_text("utf-8")


def load_event(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(_read(name))
    return event


def recall_event(user: str, channel: str, server: str, **more: str) -> dict[str, Any]:
    """Return the proxy event of `GET /v1/memories` for a guild's channel; `more` is also asked."""
    place = {"userId": user, "channelId": channel, "serverId": server}
    asked = {**place, "personaId": PERSONA, **more}
    return {
        **load_event("guild-turn"),
        "resource": "/v1/memories",
        "path": "/v1/memories",
        "httpMethod": "GET",
        "queryStringParameters": asked,
        "multiValueQueryStringParameters": {name: [value] for name, value in asked.items()},
        "body": None,
    }
