"""The Lambda handler of the capture function: routes, HTTP errors, and the container's globals."""

import gc

# Nothing that the imports make is garbage: looking for some is a good part of a cold start.
gc.disable()

import base64
import binascii
import time
import uuid
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import msgspec
from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.typing import LambdaContext

from capture import answer, query, refresh, turn
from capture.attach import attach
from capture.container import Container
from capture.context import render
from capture.durable import Away, Durable
from capture.export import ExportQuery, export
from capture.forgetting import forget
from capture.memory import Memory
from capture.outbox import Outbox, sqs_client
from capture.passive_capture import Captured, Skipped, capture
from capture.query import Asker, ContextQuery, MemoriesQuery
from capture.recall import Recollection, recall
from capture.settings import Settings
from shortterm import settings as environment
from shortterm import telemetry
from shortterm.telemetry import Metric, logger
from shortterm.tombstone import Subject
from shortterm.wire import Id, Mismatch, mismatch

HOUR_MS = 3_600_000
# A prompt shows one entry of a channel; personas have one each.
ENTRIES_PER_CHANNEL = 8
# Longer than the database is left alone after a failure.
RETRY_AFTER_S = 6


def now() -> int:
    """Return the wall time in ms since the epoch."""
    return time.time_ns() // 1_000_000


settings = environment.load(Settings)
memory = Memory(
    max_bytes=settings.memory_max_bytes,
    ttl_ms=int(settings.memory_ttl_hours * HOUR_MS),
    summary_ttl_ms=int(settings.summary_ttl_hours * HOUR_MS),
    clock=now,
)
outbox = Outbox(
    sqs_client(), settings.work_queue_url, capacity=settings.outbox_max_messages, now=now
)
container = Container(id=uuid.uuid4().hex, since=now())
durable = Durable(settings, since=container.since, clock=now)

# debug=False whatever the environment says: the resolver's debug mode prints whole events.
api = APIGatewayRestResolver(debug=False)
_encode = msgspec.json.Encoder().encode

# What stands now stays for as long as the container does: no later collection looks at it.
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an API Gateway REST proxy event. Never raises: the runtime would log the message."""
    try:
        return api.resolve(event, context)
    except Exception as error:
        logger.error("An event could not be routed", extra=telemetry.describe(error))
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        return {
            "statusCode": status.value,
            "headers": {"Content-Type": "application/problem+json"},
            "body": _encode(answer.Problem(title=status.phrase, status=status)).decode(),
            "isBase64Encoded": False,
        }
    finally:
        telemetry.flush()


@api.post("/v1/turns")
def post_turn() -> Response[str]:
    """Capture a turn. A well-formed one gets 202, whatever breaks behind it."""
    completed = turn.decode(_body(api.current_event.raw_event))
    try:
        outcome = capture(
            completed,
            memory,
            outbox,
            request_id=_request_id(),
            now=now(),
            max_lines=settings.max_messages_per_channel,
        )
        return _captured(outcome)
    except Exception as error:
        telemetry.count(Metric.CAPTURE_FAILURES)
        logger.warning("A turn could not be remembered", extra=telemetry.describe(error))
        return _json(HTTPStatus.ACCEPTED, answer.Failed())


def _captured(outcome: Captured | Skipped) -> Response[str]:
    if isinstance(outcome, Skipped):
        telemetry.count_by(Metric.TURNS_SKIPPED, "reason", outcome.reason)
    else:
        telemetry.count(Metric.TURNS_CAPTURED)
        held = memory.size()
        telemetry.count(Metric.MEMORY_ENTRIES, held.entries)
        telemetry.count(Metric.MEMORY_BYTES, held.bytes)
    return _json(HTTPStatus.ACCEPTED, answer.captured(outcome))


@api.put("/v1/summaries")
def put_summary() -> Response[str]:
    """Attach a summary and categories: here at once, to their rows through the queue."""
    told = refresh.decode(_body(api.current_event.raw_event))
    attached = attach(told, memory, durable, outbox, now=now())
    telemetry.count(Metric.NOTES_ATTACHED)
    return _json(HTTPStatus.OK, answer.attached(attached, settings.recall_without_database))


@api.get("/v1/memories")
def get_memories() -> Response[str]:
    """Read back what is remembered for the asked channel, and for the others."""
    asked = query.decode(_parameters(), MemoriesQuery)
    return _json(HTTPStatus.OK, answer.memories(_recalled(asked, asked.limit, now())))


@api.get("/v1/context")
def get_context() -> Response[str]:
    """Read back the same, rendered for a prompt."""
    asked = query.decode(_parameters(), ContextQuery)
    at = now()
    found = _recalled(asked, asked.max_channels * ENTRIES_PER_CHANNEL, at, telling=True)
    return _json(HTTPStatus.OK, render(found, asked, at))


def _recalled(asker: Asker, limit: int, at: int, *, telling: bool = False) -> Recollection:
    found = recall(
        asker,
        memory,
        durable,
        container,
        limit=limit,
        telling=telling,
        now=at,
        without_database=settings.recall_without_database,
    )
    hit = found.current is not None or found.others
    telemetry.count(Metric.RECALL_HITS if hit else Metric.RECALL_MISSES)
    return found


@api.delete("/v1/users/<user_id>/memories")
def delete_user(user_id: str) -> Response[str]:
    """Forget a user, everywhere."""
    return _forgotten("user", _id("userId", user_id))


@api.delete("/v1/channels/<channel_id>/memories")
def delete_channel(channel_id: str) -> Response[str]:
    """Forget a channel, whoever spoke there, everywhere."""
    return _forgotten("channel", _id("channelId", channel_id))


def _forgotten(subject: Subject, subject_id: str) -> Response[str]:
    query.one_of_each(_parameters(), _NoParameters)
    forgotten_at = forget(subject, subject_id, memory, durable, now=now())
    telemetry.count(Metric.SUBJECTS_FORGOTTEN)
    return _json(HTTPStatus.OK, answer.Forgotten(forgotten_at=forgotten_at))


@api.get("/v1/users/<user_id>/export")
def get_export(user_id: str) -> Response[str]:
    """Hand out everything that is known about a user."""
    asked = query.one_of_each(_parameters(), ExportQuery)
    at = now()
    found = export(_id("userId", user_id), asked, memory, durable, container, now=at)
    return _json(HTTPStatus.OK, found)


@api.get("/v1/health")
def get_health() -> Response[str]:
    """Say which container answers and how much it holds; touches neither queue nor database."""
    return _json(HTTPStatus.OK, answer.health(container, memory.size(), len(outbox)))


@api.exception_handler(Mismatch)
def malformed(error: Mismatch) -> Response[str]:
    """Name the field and what was expected there; never what was sent."""
    return _problem(
        HTTPStatus.BAD_REQUEST,
        "Malformed request",
        field=error.field,
        expected=error.expected,
    )


@api.exception_handler(Away)
def away(_: Away) -> Response[str]:
    """Answer for what needs the database while it is away."""
    problem = _problem(HTTPStatus.SERVICE_UNAVAILABLE, "The database is away: try again")
    problem.headers["Retry-After"] = str(RETRY_AFTER_S)
    return problem


@api.exception_handler(NotFoundError)
def unknown_route(_: NotFoundError) -> Response[str]:
    """Answer for paths and methods that do not exist."""
    return _problem(HTTPStatus.NOT_FOUND, "No such route")


@api.exception_handler(Exception)
def unexpected(error: Exception) -> Response[str]:
    """Answer for our own faults. Without this the resolver would log the error's message."""
    logger.error("A request failed", extra=telemetry.describe(error))
    return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error")


def _body(event: Mapping[str, Any]) -> str:
    """Return the request's body. Raises Mismatch if it is neither text nor base64 of UTF-8."""
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body)
    try:
        return base64.b64decode(body, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise Mismatch("body", "UTF-8 text") from None


def _parameters() -> Mapping[str, Sequence[str]]:
    return api.current_event.raw_event.get("multiValueQueryStringParameters") or {}


def _id(field: str, text: str) -> str:
    """Return an id out of the path. Raises Mismatch."""
    try:
        return msgspec.convert(unquote(text), Id)
    except msgspec.ValidationError as error:
        raise Mismatch(field, mismatch(error).expected) from None


class _NoParameters(msgspec.Struct):
    pass


def _request_id() -> str:
    """Return the gateway's id of the request; another one if a client had its own words for it."""
    event = api.current_event.raw_event
    try:
        return msgspec.convert(event["requestContext"]["requestId"], Id)
    except (KeyError, TypeError, msgspec.ValidationError):
        return str(uuid.uuid4())


def _json(status: HTTPStatus, body: object) -> Response[str]:
    # What people said is kept by no cache on the way either.
    headers: dict[str, str | list[str]] = {"Cache-Control": "no-store"}
    return Response(status.value, "application/json", _encode(body).decode(), headers)


def _problem(status: HTTPStatus, title: str, **members: str) -> Response[str]:
    """Return a problem document (RFC 9457)."""
    document = answer.Problem(title=title, status=status, **members)
    return Response(status.value, "application/problem+json", _encode(document).decode())
