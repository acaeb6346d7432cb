"""The document: every route, what it takes, and what it answers with."""

import json
from pathlib import Path
from typing import Any

from api_document import spelled_out
from api_document.schemas import Schema, components, parameters, schema
from capture import answer
from capture.context import Context
from capture.query import ContextQuery, ExportQuery, MemoriesQuery
from capture.refresh import Refresh
from capture.turn import Turn
from shortterm.wire import Id

PATH = Path(__file__).parent.parent / "docs" / "openapi.json"

_TURN_ANSWER = answer.Captured | answer.Skipped | answer.Failed
_ABOUT = """\
Short-term memory for chat bots: completed turns in, what was said lately out. How the parts play \
together is told in docs/api.md.

Unknown fields of a body are ignored; a key that is given twice is refused. Unknown query \
parameters, and those given twice, are refused where there are any. An id is a string, in a body \
too: a number has been rounded by some client already. An integer is written without a fraction, \
`7` and not `7.0`. A stack that keeps tenants apart \
(`Isolation=per-tenant`) wants the header `X-Tenant-Id` with every request."""


def text() -> str:
    """Return the document as it lies in docs/."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def document() -> Schema:
    """Return the document (OpenAPI 3.1)."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "shortterm", "version": "1", "description": _ABOUT},
        "servers": _SERVERS,
        "security": [{"iam": []}, {"key": []}],
        "paths": _paths(),
        "components": {
            "schemas": components(
                (
                    Turn,
                    _TURN_ANSWER,
                    Refresh,
                    answer.Attached,
                    spelled_out.MEMORIES,
                    Context,
                    answer.Forgotten,
                    spelled_out.EXPORT,
                    answer.Health,
                    answer.Problem,
                )
            ),
            "responses": _PROBLEMS,
            "securitySchemes": {
                "iam": {
                    "type": "apiKey",
                    "name": "Authorization",
                    "in": "header",
                    "description": "AWS Signature Version 4, for `execute-api`",
                },
                "key": {"type": "apiKey", "name": "x-api-key", "in": "header"},
            },
        },
    }


def _paths() -> Schema:
    return {
        "/v1/turns": {
            "post": {
                "operationId": "postTurn",
                "summary": "Capture a completed turn",
                "description": "A well-formed one gets 202, whatever breaks behind it.",
                "requestBody": _body(Turn),
                "responses": {
                    "202": _answer("Captured, skipped or failed", _TURN_ANSWER),
                    **_problems(400, 413),
                },
            }
        },
        "/v1/summaries": {
            "put": {
                "operationId": "putSummary",
                "summary": "Attach a summary and categories to what is remembered",
                "description": (
                    "There must be a summary or a category, and a scope has at most five. The "
                    "newest `occurredAt` of each part stands, so a repeated request is the same."
                ),
                "requestBody": _body(Refresh),
                "responses": {
                    "200": _answer("What now stands", answer.Attached),
                    **_problems(400, 413),
                },
            }
        },
        "/v1/memories": {
            "get": {
                "operationId": "getMemories",
                "summary": "Read what is remembered of a channel, and of others",
                "description": "Server memory (`scope`) is asked for with a `serverId` only.",
                "parameters": parameters(MemoriesQuery),
                "responses": {
                    "200": _answer("What is remembered", spelled_out.MEMORIES),
                    **_problems(400),
                },
            }
        },
        "/v1/context": {
            "get": {
                "operationId": "getContext",
                "summary": "Read the same as text for a prompt",
                "description": "Server memory (`scope`) is asked for with a `serverId` only.",
                "parameters": parameters(ContextQuery),
                "responses": {
                    "200": _answer("The text, and what it tells in fields", Context),
                    **_problems(400),
                },
            }
        },
        "/v1/users/{userId}/memories": {"delete": _forgetting("user", "userId")},
        "/v1/channels/{channelId}/memories": {"delete": _forgetting("channel", "channelId")},
        "/v1/users/{userId}/export": {
            "get": {
                "operationId": "exportUser",
                "summary": "Hand out everything that is known about a user",
                "parameters": [_in_path("userId"), *parameters(ExportQuery)],
                "responses": {
                    "200": _answer("Rows, and this container's memory", spelled_out.EXPORT),
                    **_problems(400, 404, 503),
                },
            }
        },
        "/v1/health": {
            "get": {
                "operationId": "getHealth",
                "summary": "Ask which container answers and how much it holds",
                "responses": {
                    "200": _answer("The container", answer.Health),
                    **_problems(),
                },
            }
        },
    }


def _forgetting(subject: str, name: str) -> Schema:
    return {
        "operationId": f"forget{subject.capitalize()}",
        "summary": f"Forget a {subject}, everywhere",
        "description": "Takes no query parameters. Asking twice does no harm.",
        "parameters": [_in_path(name)],
        "responses": {
            "200": _answer("Forgotten, and committed", answer.Forgotten),
            **_problems(400, 404, 503),
        },
    }


def _body(kind: Any) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": schema(kind)}}}


def _in_path(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": schema(Id)}


def _answer(description: str, kind: Any) -> Schema:
    return {
        "description": description,
        "headers": {"Cache-Control": {"schema": {"const": "no-store"}, "required": True}},
        "content": {"application/json": {"schema": schema(kind)}},
    }


def _problems(*statuses: int) -> Schema:
    """Return the answers of `statuses`, and of those that every route may have."""
    names = [*sorted([*map(str, statuses), "403", "429"]), "5XX"]
    return {it: {"$ref": f"#/components/responses/{_NAMES[it]}"} for it in names}


def _problem(description: str, **headers: Schema) -> Schema:
    content = {"application/problem+json": {"schema": schema(answer.Problem)}}
    problem: Schema = {"description": description, "content": content}
    return {**problem, "headers": headers} if headers else problem


_RETRY_AFTER = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}, "required": True}}
_NAMES = {
    "400": "Malformed",
    "403": "Refused",
    "404": "NoSuchRoute",
    "413": "TooLarge",
    "429": "Throttled",
    "503": "DatabaseAway",
    "5XX": "Fault",
}
_PROBLEMS = {
    "Malformed": _problem("Names the field and what was expected there, never what was sent"),
    "Refused": _problem("By the gateway: not signed, no key, or no such route"),
    "NoSuchRoute": _problem("What stands for the id is none, and so the route is not known"),
    "TooLarge": _problem("By the gateway"),
    "Throttled": _problem("By the gateway: too many requests", **_RETRY_AFTER),
    "DatabaseAway": _problem(
        "The database is away, and it may not be done: ask again", **_RETRY_AFTER
    ),
    "Fault": _problem("By the gateway, without a container, or a fault of ours: send it again"),
}
_SERVERS = [
    {
        "url": "https://{api}.execute-api.{region}.amazonaws.com/live",
        "description": "The stack's output ApiUrl",
        "variables": {"api": {"default": "api-id"}, "region": {"default": "eu-west-1"}},
    },
]
