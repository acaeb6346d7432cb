"""The Lambda handler of the capture function: routes, and the container's globals."""

import gc

# Nothing that the imports make is garbage: looking for some is a good part of a cold start.
gc.disable()

import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.typing import LambdaContext

from capture import answer, gateway, problems, query, refresh, turn
from capture.attach import attach
from capture.container import Container
from capture.context import render
from capture.durable import Durable
from capture.export import export
from capture.forgetting import forget
from capture.memory import Memory
from capture.outbox import Outbox, sqs_client
from capture.passive_capture import Captured, Skipped, capture
from capture.patience import Away
from capture.query import ContextQuery, ExportQuery, MemoriesQuery
from capture.recall import Question, Recollection, recall
from capture.settings import Settings
from shortterm import settings as environment
from shortterm import telemetry
from shortterm.clock import now
from shortterm.telemetry import Metric, logger
from shortterm.tombstone import Subject
from shortterm.wire import Mismatch

settings = environment.load(Settings)
memory = Memory(
    max_bytes=settings.memory_max_bytes,
    ttl_ms=settings.memory_ttl_ms,
    summary_ttl_ms=settings.summary_ttl_ms,
    clock=now,
)
outbox = Outbox(
    sqs_client(), settings.work_queue_url, capacity=settings.outbox_max_messages, clock=now
)
container = Container(id=uuid.uuid4().hex, since=now())
durable = Durable(settings, since=container.since, clock=now)

# debug=False whatever the environment says: the resolver's debug mode prints whole events.
api = APIGatewayRestResolver(debug=False)

# What stands now stays for as long as the container does: no later collection looks at it.
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer an API Gateway REST proxy event. Never raises: the runtime would log the message."""
    try:
        return api.resolve(event, context)
    except Exception as error:
        return problems.unrouted(error)
    finally:
        telemetry.flush()


@api.post("/v1/turns")
def post_turn() -> Response[str]:
    """Capture a turn. A well-formed one gets 202, whatever breaks behind it."""
    completed = turn.decode(gateway.body(_event()))
    try:
        outcome = capture(
            completed,
            memory,
            outbox,
            request_id=gateway.request_id(_event()),
            now=now(),
            max_lines=settings.max_messages_per_channel,
        )
        return _captured(outcome)
    except Exception as error:
        telemetry.count(Metric.CAPTURE_FAILURES)
        logger.warning("A turn could not be remembered", extra=telemetry.describe(error))
        return gateway.response(HTTPStatus.ACCEPTED, answer.Failed())


def _captured(outcome: Captured | Skipped) -> Response[str]:
    if isinstance(outcome, Skipped):
        telemetry.count_by(Metric.TURNS_SKIPPED, "reason", outcome.reason)
    else:
        telemetry.count(Metric.TURNS_CAPTURED)
        held = memory.size()
        telemetry.count(Metric.MEMORY_ENTRIES, held.entries)
        telemetry.count(Metric.MEMORY_BYTES, held.bytes)
    return gateway.response(HTTPStatus.ACCEPTED, answer.captured(outcome))


@api.put("/v1/summaries")
def put_summary() -> Response[str]:
    """Attach a summary and categories: here at once, to their rows through the queue."""
    told = refresh.decode(gateway.body(_event()))
    attached = attach(told, memory, durable, outbox, now=now())
    telemetry.count(Metric.NOTES_ATTACHED)
    return gateway.response(
        HTTPStatus.OK, answer.attached(attached, settings.recall_without_database)
    )


@api.get("/v1/memories")
def get_memories() -> Response[str]:
    """Read back what is remembered for the asked channel, and for the others."""
    asked = query.decode_asker(gateway.parameters(_event()), MemoriesQuery)
    question = Question(asked, asked.limit, for_prompt=False, at=now())
    return gateway.response(HTTPStatus.OK, answer.memories(_recalled(question), container))


@api.get("/v1/context")
def get_context() -> Response[str]:
    """Read back the same, rendered for a prompt."""
    asked = query.decode_asker(gateway.parameters(_event()), ContextQuery)
    question = Question(asked, asked.max_channels, for_prompt=True, at=now())
    text = render(_recalled(question), asked, container, question.at)
    return gateway.response(HTTPStatus.OK, text)


def _recalled(question: Question) -> Recollection:
    withhold = settings.recall_without_database == "withhold"
    found = recall(question, memory, durable, withhold=withhold)
    hit = found.current is not None or found.others
    telemetry.count(Metric.RECALL_HITS if hit else Metric.RECALL_MISSES)
    return found


@api.delete("/v1/users/<user_id>/memories")
def delete_user(user_id: str) -> Response[str]:
    """Forget a user, everywhere."""
    return _forgotten("user", gateway.id_in_path("userId", user_id))


@api.delete("/v1/channels/<channel_id>/memories")
def delete_channel(channel_id: str) -> Response[str]:
    """Forget a channel, whoever spoke there, everywhere."""
    return _forgotten("channel", gateway.id_in_path("channelId", channel_id))


def _forgotten(subject: Subject, subject_id: str) -> Response[str]:
    query.refuse_all(gateway.parameters(_event()))
    forgotten_at = forget(subject, subject_id, memory, durable, now=now())
    telemetry.count(Metric.SUBJECTS_FORGOTTEN)
    return gateway.response(HTTPStatus.OK, answer.Forgotten(forgotten_at=forgotten_at))


@api.get("/v1/users/<user_id>/export")
def get_export(user_id: str) -> Response[str]:
    """Hand out everything that is known about a user."""
    asked = query.decode(gateway.parameters(_event()), ExportQuery)
    at = now()
    found = export(gateway.id_in_path("userId", user_id), asked, memory, durable, container, now=at)
    return gateway.response(HTTPStatus.OK, found)


@api.get("/v1/health")
def get_health() -> Response[str]:
    """Say which container answers and how much it holds; touches neither queue nor database."""
    return gateway.response(HTTPStatus.OK, answer.health(container, memory.size(), len(outbox)))


def _event() -> Mapping[str, Any]:
    return api.current_event.raw_event


api.exception_handler(Mismatch)(problems.malformed)
api.exception_handler(Away)(problems.away)
api.exception_handler(NotFoundError)(problems.unknown_route)
api.exception_handler(Exception)(problems.unexpected)
