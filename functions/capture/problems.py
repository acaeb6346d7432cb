"""What went wrong, as the problem documents (RFC 9457) that are answered instead."""

from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from capture import gateway
from capture.answer import Problem
from capture.patience import REST_MS, Away
from shortterm import telemetry
from shortterm.telemetry import logger
from shortterm.wire import Mismatch

# Longer than the database is left alone after a failure.
RETRY_AFTER_S = REST_MS // 1_000 + 1


def malformed(error: Mismatch) -> Response[str]:
    """Name the field and what was expected there; never what was sent."""
    return _problem(
        HTTPStatus.BAD_REQUEST,
        "Malformed request",
        field=error.field,
        expected=error.expected,
    )


def away(_: Away) -> Response[str]:
    """Answer for what needs the database while it is away."""
    problem = _problem(HTTPStatus.SERVICE_UNAVAILABLE, "The database is away: try again")
    problem.headers["Retry-After"] = str(RETRY_AFTER_S)
    return problem


def unknown_route(_: NotFoundError) -> Response[str]:
    """Answer for paths and methods that do not exist."""
    return _problem(HTTPStatus.NOT_FOUND, "No such route")


def unexpected(error: Exception) -> Response[str]:
    """Answer for our own faults. Without this the resolver would log the error's message."""
    logger.error("A request failed", extra=telemetry.describe(error))
    return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error")


def unrouted(error: Exception) -> dict[str, Any]:
    """Answer, as Lambda takes it, for an event that the resolver cannot make anything of."""
    logger.error("An event could not be routed", extra=telemetry.describe(error))
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    problem = _problem(status, status.phrase)
    return {
        "statusCode": problem.status_code,
        "headers": problem.headers,
        "body": problem.body,
        "isBase64Encoded": False,
    }


def _problem(status: HTTPStatus, title: str, **members: str) -> Response[str]:
    document = Problem(title=title, status=status.value, **members)
    return gateway.response(status, document, "application/problem+json")
