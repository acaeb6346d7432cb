"""Reads the last items of one openai-agents session, by the driver that its documentation names."""

import asyncio
import json
import os
from typing import Any

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy import make_url

WINDOW = 10

# One loop for as long as the container lives: the engine's connections belong to it.
loop = asyncio.new_event_loop()
session = SQLAlchemySession.from_url(
    os.environ["CHANNEL_ID"],
    url=make_url(os.environ["DATABASE_URL"]).set(drivername="postgresql+asyncpg"),
)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    items = loop.run_until_complete(session.get_items(limit=WINDOW))
    return {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json"},
        "body": json.dumps(items),
        "isBase64Encoded": False,
    }
