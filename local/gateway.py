"""What API Gateway makes of a request, and of a function's answer (REST API, Lambda proxy)."""

import base64
import binascii
import json
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from local.errors import BadAnswer
from local.functions import ACCOUNT_ID

_STAGE = "local"
_RESOURCES = (
    "/v1/turns",
    "/v1/memories",
    "/v1/context",
    "/v1/summaries",
    "/v1/users/{userId}/memories",
    "/v1/users/{userId}/export",
    "/v1/channels/{channelId}/memories",
    "/v1/health",
)
_PATTERNS = [
    (resource, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", resource)))
    for resource in _RESOURCES
]
_WIRE_TEXT = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

# The gateway frames the answer itself.
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection"})

Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes
    source_ip: str
    protocol: str = "HTTP/1.1"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Headers
    body: bytes


def proxy_event(request: Request, request_id: str) -> dict[str, Any]:
    """The REST proxy event. As on AWS the query is decoded and the path is not."""
    # Not by urlsplit: to it what follows two slashes is a host.
    path, _, query_string = request.target.partition("?")
    path = path if path.startswith("/") else f"/{path}"
    resource, path_parameters = _resource(path)
    headers = _by_name([*request.headers, *_added_headers(request)])
    query = _by_name(parse_qsl(query_string, keep_blank_values=True, errors="replace"))
    body, is_base64 = _event_body(request.body)
    return {
        "resource": resource,
        "path": path,
        "httpMethod": request.method,
        "headers": _last(headers),
        "multiValueHeaders": headers,
        "queryStringParameters": _last(query) or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": path_parameters or None,
        "stageVariables": None,
        "requestContext": _request_context(request, path, resource, request_id),
        "body": body,
        "isBase64Encoded": is_base64,
    }


def answer_of(payload: bytes) -> Answer:
    """The HTTP answer that a function's response asks for; raises BadAnswer."""
    try:
        response = json.loads(payload)
        status = int(response["statusCode"])
        headers = _answer_headers(
            response.get("headers") or {}, response.get("multiValueHeaders") or {}
        )
        body = response.get("body") or ""
        encoded = response.get("isBase64Encoded") is True
        content = base64.b64decode(body, validate=True) if encoded else body.encode()
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise BadAnswer from error
    if not 200 <= status <= 599:
        raise BadAnswer
    return Answer(status, headers, content)


def problem(status: int, title: str, **more: str) -> Answer:
    """An answer of the gateway's own: a problem document, as infra/template.yaml words them."""
    body = json.dumps({"title": title, "status": status, **more}).encode()
    return Answer(status, [("Content-Type", "application/problem+json")], body)


def _resource(path: str) -> tuple[str, dict[str, str]]:
    for resource, pattern in _PATTERNS:
        match = pattern.fullmatch(path)
        if match:
            return resource, match.groupdict()
    return "/{proxy+}", {"proxy": path.removeprefix("/")}


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def _last(values: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: several[-1] for name, several in values.items()}


def _added_headers(request: Request) -> Headers:
    return [
        ("X-Amzn-Trace-Id", f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}"),
        ("X-Forwarded-For", request.source_ip),
        ("X-Forwarded-Proto", "http"),
    ]


def _event_body(body: bytes) -> tuple[str | None, bool]:
    if not body:
        return None, False
    try:
        return body.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True


def _request_context(request: Request, path: str, resource: str, request_id: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    first_of = {name.lower(): value for name, value in reversed(request.headers)}
    domain = first_of.get("host", "localhost")
    return {
        "accountId": ACCOUNT_ID,
        "apiId": "local",
        "stage": _STAGE,
        "requestId": request_id,
        "extendedRequestId": base64.b64encode(uuid.uuid4().bytes[:11]).decode(),
        "requestTime": f"{now:%d/%b/%Y:%H:%M:%S +0000}",
        "requestTimeEpoch": int(now.timestamp() * 1000),
        "httpMethod": request.method,
        "path": f"/{_STAGE}{path}",
        "resourceId": "local",
        "resourcePath": resource,
        "protocol": request.protocol,
        "domainName": domain,
        "domainPrefix": domain.split(".", 1)[0],
        "identity": {
            "accessKey": None,
            "accountId": None,
            "caller": None,
            "cognitoAuthenticationProvider": None,
            "cognitoAuthenticationType": None,
            "cognitoIdentityId": None,
            "cognitoIdentityPoolId": None,
            "principalOrgId": None,
            "sourceIp": request.source_ip,
            "user": None,
            "userAgent": first_of.get("user-agent"),
            "userArn": None,
        },
    }


def _answer_headers(single: dict[str, Any], several: dict[str, list[Any]]) -> Headers:
    """Both lists as one; for a name in both, the list of values wins."""
    named = {name.lower() for name in several}
    headers = [(name, _text(value)) for name, value in single.items() if name.lower() not in named]
    headers += [(name, _text(value)) for name, values in several.items() for value in values]
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", "application/json"))
    if not all(_WIRE_TEXT.fullmatch(name + value) for name, value in headers):
        raise ValueError("a header that HTTP cannot carry")
    return [(name, value) for name, value in headers if name.lower() not in _OWN_HEADERS]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
