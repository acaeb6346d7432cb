"""A guild: what is posted of it, what is asked, and what Postgres holds for each of the readers."""

import asyncio
import json
from typing import Any

import psycopg
from agents.extensions.memory import SQLAlchemySession
from langgraph.store.postgres import PostgresStore
from psycopg import Connection
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks import scene

CHANNELS = 50
LINES = 10
CHARACTERS = 200
SERVER = "guild"
# The one channel that the others hold.
CHANNEL = "channel-0"

# What the writer keeps of a guild turn, and what a bot then told of it.
_ROWS = """
INSERT INTO short_term_memories (
    scope, owner_id, channel_id, persona_id, persona_lineage_id, server_id,
    summary, summary_updated_at, categories, category_times, refreshed_at,
    turns_since_refresh, last_turn_at
)
SELECT
    scope, owner_id, %(channel)s, %(persona)s, '3', %(server)s,
    %(summary)s, told_at, %(categories)s, %(category_times)s, told_at, 3, told_at
FROM
    (VALUES ('server', %(server)s), ('user', %(user)s)) AS owners (scope, owner_id),
    to_timestamp(%(told_ms)s / 1000.0::float8) AS told_at
"""

Turn = dict[str, Any]


def turns() -> list[Turn]:
    """Return one turn for each channel, which fills its window."""
    return [
        scene.turn(
            number,
            f"user-{number}",
            f"channel-{number}",
            SERVER,
            scene.texts(CHARACTERS, count=LINES),
        )
        for number in range(CHANNELS)
    ]


def posted(turn: Turn) -> bytes:
    """Return the event of `POST /v1/turns`."""
    return json.dumps({**scene.load_event("guild-turn"), "body": json.dumps(turn)}).encode()


def asked(turn: Turn, **more: str) -> bytes:
    """Return the event of `GET /v1/memories` by the user and in the channel of `turn`."""
    event = scene.recall_event(turn["userId"], turn["channelId"], turn["serverId"], **more)
    return json.dumps(event).encode()


def fill(database_url: str, turns: list[Turn]) -> None:
    """Keep the rows of `turns`, and one window of as many messages in a session and in a store."""
    window = [{"role": "user", "content": it} for it in scene.texts(CHARACTERS, count=LINES)]
    asyncio.run(_fill_session(database_url, window))
    with PostgresStore.from_conn_string(database_url) as store:
        store.setup()
        store.put(("channels", CHANNEL), "window", {"messages": window})
    with psycopg.connect(database_url, autocommit=True) as connection:
        for turn in turns:
            _keep_rows(connection, turn)
        # Now, not by itself in the middle of the measurement.
        connection.execute("VACUUM ANALYZE")


async def _fill_session(database_url: str, window: list[Any]) -> None:
    engine = create_async_engine(make_url(database_url).set(drivername="postgresql+asyncpg"))
    session = SQLAlchemySession(CHANNEL, engine=engine, create_tables=True)
    await session.add_items(window)
    await engine.dispose()


def _keep_rows(connection: Connection[Any], turn: Turn) -> None:
    """Every second row has categories, all have a summary."""
    told_ms = turn["occurredAt"]
    categories = {"mood": "calm", "plans": scene.text(60)} if scene.CHANCE.random() < 0.5 else {}
    connection.execute(
        _ROWS,
        {
            "channel": turn["channelId"],
            "persona": scene.PERSONA,
            "server": turn["serverId"],
            "user": turn["userId"],
            "summary": scene.text(300),
            "categories": json.dumps(categories),
            "category_times": json.dumps(dict.fromkeys(categories, told_ms)),
            "told_ms": told_ms,
        },
    )
