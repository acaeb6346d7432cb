"""Replays the sample conversation and compares what memory and Postgres then hold and tell."""

import http.client
import json
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from local.sample import Context, Expected, Post, Sample, sample
from local.sqs import depth
from local.table import table

if TYPE_CHECKING:
    from local.stack import Stack

_WAIT_S = 15
_ROWS = """
    SELECT scope, owner_id, channel_id, persona_id, turns_since_refresh
      FROM short_term_memories
     WHERE owner_id = ANY(%s)
"""

Lines = dict[str, int]
Turns = dict[str, int]


def replay(stack: "Stack", *, rows: bool) -> list[str]:
    """Post the sample, print what is held and told, and return what is not as it must be.

    Without `rows` (nothing drains the queue) only memory is looked at.
    """
    script = sample(int(time.time() * 1000) - 1000)
    connection = http.client.HTTPConnection(urlsplit(stack.api_url).netloc, timeout=30)
    try:
        mismatches = [line for post in script.posts for line in _post(connection, post)]
        # The summary is of turns that are counted by now, whatever order the queue delivers in.
        mismatches += _drain(stack) if rows else []
        mismatches += _attach(connection, script.summary)
        mismatches += _drain(stack) if rows else []
        lines = _read_memory(connection, script.expected)
        text = _read_context(connection, script.context)
    finally:
        connection.close()
    turns = _read_rows(stack.database_url, script) if rows else {}
    print(_table(script.expected, lines, turns if rows else None))
    print(
        "\nA guild's turns count in the server's row, a direct message's in the user's;"
        " a summary starts the count anew."
    )
    print("\nWhat a prompt is told of it in the guild channel\n")
    print(textwrap.indent(text, "  "))
    mismatches += _compare_text(script.context, text)
    mismatches += _compare(script.expected, lines, "lines in memory", lambda it: it.lines)
    if rows:
        mismatches += _compare(script.expected, turns, "turns in the row", lambda it: it.turns)
        unexpected = turns.keys() - {it.key for it in script.expected}
        mismatches += [f"{key}: a row that nothing asked for" for key in sorted(unexpected)]
    return mismatches


def _post(connection: http.client.HTTPConnection, post: Post) -> Iterator[str]:
    """Nothing when the API answers as it must."""
    status, answer = _request(connection, "POST", "/v1/turns", post.body)
    said = answer.get("status")
    if status != 202 or said != post.status:
        yield f"{post.what}: expected 202 {post.status}, got {status} {said}"
    elif said == "captured" and answer.get("queued") is not True:
        yield f"{post.what}: the work was not queued"


def _attach(connection: http.client.HTTPConnection, summary: dict[str, Any]) -> Iterator[str]:
    status, answer = _request(connection, "PUT", "/v1/summaries", summary)
    if (status, answer.get("status"), answer.get("queued")) != (200, "attached", True):
        yield f"summary: expected 200 attached and queued, got {status}"


def _read_context(connection: http.client.HTTPConnection, context: Context) -> str:
    _, answer = _request(connection, "GET", f"/v1/context?{urlencode(context.asked)}")
    return str(answer.get("text", ""))


def _read_memory(connection: http.client.HTTPConnection, expected: Sequence[Expected]) -> Lines:
    lines: Lines = {}
    for it in expected:
        query = {
            "userId": it.owner_id if it.kind == "user" else "0",
            "channelId": it.channel_id,
            "personaId": it.persona.id,
            "scope": it.kind,
        }
        if it.server_id:
            query["serverId"] = it.server_id
        _, answer = _request(connection, "GET", f"/v1/memories?{urlencode(query)}")
        entry = answer.get("current")
        if entry:
            lines[entry["key"]] = len(entry["lines"])
    return lines


def _request(
    connection: http.client.HTTPConnection, method: str, target: str, body: object = None
) -> tuple[int, dict[str, Any]]:
    content = None if body is None else json.dumps(body)
    connection.request(method, target, content, {"Content-Type": "application/json"})
    response = connection.getresponse()
    try:
        answer = json.loads(response.read())
    except ValueError:
        answer = None
    return response.status, answer if isinstance(answer, dict) else {}


def _drain(stack: "Stack") -> Iterator[str]:
    """Nothing when the queue ran empty, nothing waiting and nothing in flight, in time."""
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        if not depth(stack.sqs_client, stack.queue_url):
            return
        time.sleep(0.05)
    yield f"the queue was not empty after {_WAIT_S} seconds"


def _read_rows(database_url: str, script: Sample) -> Turns:
    import psycopg

    with psycopg.connect(database_url) as connection:
        rows = connection.execute(_ROWS, (list(script.owners),)).fetchall()
    return {
        ":".join(("shortterm", *(part for part in identity if part is not None))): turns
        for *identity, turns in rows
    }


def _compare(
    expected: Sequence[Expected],
    held: dict[str, int],
    what: str,
    wanted: Callable[[Expected], int | None],
) -> Iterator[str]:
    for it in expected:
        if held.get(it.key) != wanted(it):
            yield f"{it.key}: {what}: expected {wanted(it)}, found {held.get(it.key)}"


def _compare_text(context: Context, text: str) -> Iterator[str]:
    yield from (f"context: does not tell: {it}" for it in context.told if it not in text)
    yield from (f"context: tells: {it}" for it in context.untold if it in text)


def _table(expected: Sequence[Expected], lines: Lines, turns: Turns | None) -> str:
    heads = ("where", "scope key", "lines in memory", "turns_since_refresh in row")
    rows = [
        (
            it.place,
            it.key,
            _cell(lines.get(it.key)),
            "(not read)" if turns is None else _cell(turns.get(it.key)),
        )
        for it in expected
    ]
    return table(heads, rows, right=heads[2:])


def _cell(value: int | None) -> str:
    return "nothing" if value is None else str(value)
