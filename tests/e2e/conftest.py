"""The local stack over HTTP: two capture containers, a writer, real Postgres, SQS by moto."""

import http.client
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg
import pytest
from given import turn_fields
from waiting import until

from infra.artifacts import rehearsal
from local.stack import Stack

Answer = tuple[int, dict[str, Any]]


@pytest.fixture(scope="session")
def stack(tmp_path_factory) -> Iterator[Stack]:
    state = tmp_path_factory.mktemp("stack") / "state"
    with Stack(
        state=state,
        containers=2,
        visibility_timeout=1,
        max_receive_count=5,
        settings={"LOG_LEVEL": "DEBUG"},
    ) as stack:
        yield stack


def client_of(stack: Stack) -> Callable[..., Answer]:
    """Return what sends one request and returns its status and decoded body."""

    def send(method: str, target: str, body: bytes | str | None = None) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(stack.api_url).netloc, timeout=30)
        try:
            connection.request(method, target, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    return send


@pytest.fixture
def request_to(stack) -> Callable[..., Answer]:
    return client_of(stack)


class Place:
    """A server, a channel and a user of a test's own, and what can be done there."""

    def __init__(self, stack: Stack, request_to: Callable[..., Answer]) -> None:
        self.stack = stack
        self.request = request_to
        self.name = uuid.uuid4().hex[:12]
        self.turns = 0

    @property
    def ids(self) -> dict[str, str]:
        return {"userId": f"u{self.name}", "serverId": f"s{self.name}", "channelId": "c"}

    def post(self, **fields: Any) -> Answer:
        self.turns += 1
        turn = turn_fields(**{"turnId": f"{self.name}-{self.turns}", **self.ids, **fields})
        return self.request("POST", "/v1/turns", json.dumps(turn))

    def recall(self, **parameters: str) -> dict[str, Any]:
        query = urlencode(self.ids | {"personaId": "7"} | parameters)
        status, answer = self.request("GET", f"/v1/memories?{query}")
        assert status == 200
        return answer

    def counts(self) -> dict[str, int]:
        """The counters of this place's rows, by scope and channel."""
        with psycopg.connect(self.stack.database_url) as connection:
            found = connection.execute(
                "SELECT scope, channel_id, turns_since_refresh FROM short_term_memories"
                " WHERE owner_id = ANY(%s)",
                ([self.ids["userId"], self.ids["serverId"]],),
            ).fetchall()
        return {f"{scope}:{channel}": turns for scope, channel, turns in found}

    def until_counted(self, expected: dict[str, int]) -> None:
        """Wait until the rows say `expected`, and not more after the queue has run empty."""
        until(lambda: self.counts() == expected and self.queued() == 0, lambda: self.counts())

    def queued(self) -> int:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = self.stack.sqs_client.get_queue_attributes(
            QueueUrl=self.stack.queue_url, AttributeNames=names
        )
        return sum(int(count) for count in answer["Attributes"].values())


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory) -> Path:
    """Everything that `make build` builds, for this machine."""
    directory = tmp_path_factory.mktemp("artifacts")
    rehearsal.build_all(directory)
    return directory


@pytest.fixture(scope="session")
def unpacked(artifacts, tmp_path_factory) -> Path:
    """The artifacts as Lambda unpacks them."""
    directory = tmp_path_factory.mktemp("unpacked") / "code"
    rehearsal.lay_out(artifacts, directory)
    return directory


@pytest.fixture
def make_place() -> Callable[[Stack], Place]:
    return lambda stack: Place(stack, client_of(stack))


@pytest.fixture
def place(stack, make_place) -> Place:
    return make_place(stack)
