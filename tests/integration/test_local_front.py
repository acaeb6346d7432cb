"""The HTTP front of the local stack: what it makes of requests and of a function's answers."""

import base64
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from local.errors import CannotRun
from local.front import Front
from local.gateway import Request, proxy_event
from local.outcome import Failure, Outcome, Success
from tests.infra import stack


class Function:
    """Answers what it is told to and keeps the events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.outcome: Outcome = Success(b'{"statusCode": 200, "body": "{}"}')

    def __call__(self, event: bytes) -> Outcome:
        self.events.append(json.loads(event))
        return self.outcome

    def answers(self, **response: object) -> None:
        self.outcome = Success(json.dumps(response).encode())


@pytest.fixture
def function() -> Function:
    return Function()


@pytest.fixture
def connection(function: Function) -> Iterator[http.client.HTTPConnection]:
    front = Front(0, function)
    front.start()
    connection = http.client.HTTPConnection(front.url.removeprefix("http://"), timeout=10)
    yield connection
    connection.close()
    front.stop()


def ask(
    connection: http.client.HTTPConnection, method: str, target: str, *args: Any, **kwargs: Any
) -> tuple[int, bytes]:
    connection.request(method, target, *args, **kwargs)
    response = connection.getresponse()
    return response.status, response.read()


def raw(connection: http.client.HTTPConnection, request: bytes) -> bytes:
    """What comes back for these bytes until the front closes the connection."""
    with socket.create_connection((connection.host, connection.port), timeout=10) as plain:
        plain.sendall(request)
        plain.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: plain.recv(65536), b""))


def test_a_request_becomes_a_rest_proxy_event(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "bot/1"}

    ask(connection, "POST", "/v1/turns", '{"text": "für dich"}'.encode(), headers)

    (event,) = function.events
    context = event["requestContext"]
    assert event["resource"] == event["path"] == "/v1/turns"
    assert event["httpMethod"] == "POST"
    assert event["body"] == '{"text": "für dich"}'
    assert event["isBase64Encoded"] is False
    assert event["headers"]["Content-Type"] == "application/json"
    assert event["multiValueHeaders"]["Content-Type"] == ["application/json"]
    for absent in (
        "queryStringParameters",
        "multiValueQueryStringParameters",
        "pathParameters",
        "stageVariables",
    ):
        assert event[absent] is None
    assert context["accountId"] == "123456789012"
    assert (context["apiId"], context["stage"]) == ("local", "local")
    assert context["path"] == "/local/v1/turns"
    assert context["resourcePath"] == "/v1/turns"
    assert context["protocol"] == "HTTP/1.1"
    assert context["identity"]["sourceIp"] == "127.0.0.1"
    assert context["identity"]["userAgent"] == "bot/1"
    assert len(context["requestId"]) == 36


def test_a_query_is_decoded_and_the_last_of_several_values_stands_alone(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    ask(connection, "GET", "/v1/memories?userId=1&userId=2&scope=a%20b&empty=")

    (event,) = function.events
    assert event["queryStringParameters"] == {"userId": "2", "scope": "a b", "empty": ""}
    assert event["multiValueQueryStringParameters"]["userId"] == ["1", "2"]
    assert event["body"] is None


@pytest.mark.parametrize(
    ("path", "resource", "parameters"),
    [
        ("/v1/users/42/memories", "/v1/users/{userId}/memories", {"userId": "42"}),
        ("/v1/channels/7/memories", "/v1/channels/{channelId}/memories", {"channelId": "7"}),
        ("/v1/users/a%3Ab/export", "/v1/users/{userId}/export", {"userId": "a%3Ab"}),
        ("/v2/anything", "/{proxy+}", {"proxy": "v2/anything"}),
    ],
)
def test_a_path_finds_its_resource(
    connection: http.client.HTTPConnection,
    function: Function,
    path: str,
    resource: str,
    parameters: dict[str, str],
) -> None:
    ask(connection, "DELETE", path)

    (event,) = function.events
    assert (event["resource"], event["path"]) == (resource, path)
    assert event["pathParameters"] == parameters


def test_a_path_that_begins_with_two_slashes_names_no_host() -> None:
    event = proxy_event(Request("GET", "//[x?a=1", [], b"", "127.0.0.1"), "id")

    assert (event["path"], event["queryStringParameters"]) == ("//[x", {"a": "1"})


def test_a_chunked_body_arrives_whole(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    ask(connection, "POST", "/v1/turns", iter([b'{"a', b'": 1}']), encode_chunked=True)

    assert function.events[0]["body"] == '{"a": 1}'


def test_a_body_that_is_not_text_comes_as_base64(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    ask(connection, "POST", "/v1/turns", b"\xff\xfe")

    (event,) = function.events
    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == b"\xff\xfe"


def test_a_body_that_is_too_large_is_refused_in_the_templates_words(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    status, body = ask(connection, "POST", "/v1/turns", b"x" * (10 * 2**20 + 1))

    responses = stack.source()["Resources"]["Api"]["Properties"]["DefinitionBody"][
        "x-amazon-apigateway-gateway-responses"
    ]
    templates = responses["REQUEST_TOO_LARGE"]["responseTemplates"]
    assert (status, json.loads(body)) == (413, json.loads(templates["application/json"]))
    assert function.events == []


@pytest.mark.parametrize(
    "request_head",
    [
        b"POST /v1/turns HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/turns HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
        b"POST /v1/turns HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /v1/turns HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nshort",
        b"POST /v1/turns HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
    ],
)
def test_a_body_that_is_framed_wrongly_is_a_bad_request(
    connection: http.client.HTTPConnection, function: Function, request_head: bytes
) -> None:
    assert raw(connection, request_head).startswith(b"HTTP/1.1 400 ")
    assert function.events == []


def test_an_answers_status_headers_and_body_are_honoured(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    function.answers(
        statusCode=418,
        headers={"Content-Type": "text/plain", "X-One": "single"},
        multiValueHeaders={"X-One": ["first", "second"]},
        body=base64.b64encode(b"\x00tea").decode(),
        isBase64Encoded=True,
    )

    connection.request("GET", "/v1/health")
    response = connection.getresponse()

    assert (response.status, response.read()) == (418, b"\x00tea")
    assert response.headers.get_all("X-One") == ["first", "second"]
    assert response.headers.get_all("Content-Type") == ["text/plain"]
    assert response.headers["x-amzn-RequestId"]


def test_an_answer_without_content_leaves_the_connection_in_step(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    function.answers(statusCode=204, body="dropped")

    assert [ask(connection, "DELETE", "/v1/users/1/memories") for _ in range(2)] == [(204, b"")] * 2


@pytest.mark.parametrize(
    "payload",
    [
        b"null",
        b'"text"',
        b"{}",
        b'{"statusCode": "many"}',
        b'{"statusCode": 200, "body": {"not": "text"}}',
        b'{"statusCode": 200, "headers": {"X": "a\\r\\nSet-Cookie: b"}}',
        b'{"statusCode": 200, "body": "%%%", "isBase64Encoded": true}',
    ],
)
def test_an_answer_that_is_not_a_proxy_answer_is_a_bad_gateway(
    connection: http.client.HTTPConnection, function: Function, payload: bytes
) -> None:
    function.outcome = Success(payload)

    status, body = ask(connection, "GET", "/v1/health")

    problem = {"title": "The function's answer is not one", "status": 502}
    assert (status, json.loads(body)) == (502, problem)


@pytest.mark.parametrize(
    ("failure", "status", "title"),
    [
        (Failure("failed", "ValueError", "secret"), 502, "The function failed"),
        (Failure("init", "BadSettings", "secret"), 502, "The function failed"),
        (Failure("timed-out", "Sandbox.Timedout", ""), 504, "The function timed out"),
    ],
)
def test_a_failed_function_is_the_gateways_error(
    connection: http.client.HTTPConnection,
    function: Function,
    failure: Failure,
    status: int,
    title: str,
) -> None:
    function.outcome = failure

    got, body = ask(connection, "GET", "/v1/health")

    assert (got, json.loads(body)) == (status, {"title": title, "status": status})


def test_one_connection_serves_many_requests(
    connection: http.client.HTTPConnection, function: Function
) -> None:
    ask(connection, "POST", "/v1/turns", b"first")
    plain = connection.sock

    ask(connection, "POST", "/v1/turns", b"second")

    assert connection.sock is plain
    assert [event["body"] for event in function.events] == ["first", "second"]


def test_nothing_of_a_request_is_printed_or_logged(
    connection: http.client.HTTPConnection,
    function: Function,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    function.outcome = Failure("failed", "ValueError", "private words")

    ask(connection, "POST", "/v1/turns?q=private", b"private words")

    printed = capfd.readouterr()
    assert "private" not in printed.out + printed.err + caplog.text


def test_a_taken_port_is_told_in_one_line(connection: http.client.HTTPConnection) -> None:
    with pytest.raises(CannotRun, match=rf"cannot listen on 127.0.0.1:{connection.port}: "):
        Front(connection.port, Function())
