"""The parts of a request as API Gateway hands it over, and an answer as it takes it."""

import base64
import binascii
import uuid
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import msgspec
from aws_lambda_powertools.event_handler import Response
from msgspec import Struct

from shortterm.wire import Id, Mismatch, mismatch

_encode = msgspec.json.Encoder().encode


def body(event: Mapping[str, Any]) -> str:
    """Return the request's body. Raises Mismatch if it is neither text nor base64 of UTF-8."""
    sent = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(sent)
    try:
        return base64.b64decode(sent, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise Mismatch("body", "UTF-8 text") from None


def parameters(event: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """Return the request's query parameters, each with all its values."""
    return event.get("multiValueQueryStringParameters") or {}


def request_id(event: Mapping[str, Any]) -> str:
    """Return the gateway's id of the request; another one if a client had its own words for it."""
    try:
        return msgspec.convert(event["requestContext"]["requestId"], Id)
    except (KeyError, TypeError, msgspec.ValidationError):
        return str(uuid.uuid4())


def id_in_path(field: str, text: str) -> str:
    """Return the id that stands as `text` in the path. Raises Mismatch, naming it `field`."""
    try:
        return msgspec.convert(unquote(text), Id)
    except msgspec.ValidationError as error:
        raise Mismatch(field, mismatch(error).expected) from None


def response(
    status: HTTPStatus, answer: Struct, content_type: str = "application/json"
) -> Response[str]:
    """Return `answer` as a response."""
    # What people said is kept by no cache on the way either.
    headers: dict[str, str | list[str]] = {"Cache-Control": "no-store"}
    return Response(status.value, content_type, _encode(answer).decode(), headers)
