"""The local stack over HTTP: two capture containers, a writer, real Postgres, SQS by moto."""

import fcntl
import http.client
import json
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg
import pytest
from given import turn_fields
from waiting import until

from infra.artifacts import rehearsal
from local.sqs import depth
from local.stack import Stack
from shortterm.work import Work, encode

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

    def recall(self, route: str = "memories", **parameters: str) -> dict[str, Any]:
        query = urlencode(self.ids | {"personaId": "7"} | parameters)
        status, answer = self.request("GET", f"/v1/{route}?{query}")
        assert status == 200
        return answer

    def put(self, **fields: Any) -> Answer:
        refresh = self.ids | {"personaId": "7"} | fields
        return self.request("PUT", "/v1/summaries", json.dumps(refresh))

    def forget_user(self) -> Answer:
        return self.request("DELETE", f"/v1/users/{self.ids['userId']}/memories")

    def until_forgotten(self, forget: Callable[[], Answer] | None = None) -> dict[str, Any]:
        """Forget the user, or what is told, again while a container leaves the database alone."""
        answers: list[Answer] = []

        def done() -> bool:
            answers.append((forget or self.forget_user)())
            return answers[-1][0] == 200

        until(done)
        return answers[-1][1]

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Meanwhile requests go to another container: the one that served last stands still."""
        pool = self.stack.pools["capture"]
        busy = pool.next
        assert busy is not None
        idle = pool.idle
        os.kill(busy.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as bot:
            waiting = bot.submit(self.request, "GET", "/v1/health")
            try:
                until(lambda: pool.idle < idle)
                yield
            finally:
                os.kill(busy.pid, signal.SIGCONT)
            assert waiting.result()[0] == 200

    def after_an_outage(self, end: Callable[[], None]) -> None:
        """End an outage of the database, and spare later tests containers that leave it alone."""
        end()
        self.restart()

    def restart(self) -> None:
        """Take every container's memory away."""
        for container in list(self.stack.pools["capture"].containers):
            container.kill()

    def until_written(self) -> None:
        """Wait until the queue has run empty."""
        until(lambda: self.queued() == 0, self.queued)

    def redeliver(self, *works: Work) -> None:
        """Put messages into the queue that a container sent before, and wait for the writer."""
        for work in works:
            self.stack.sqs_client.send_message(
                QueueUrl=self.stack.queue_url, MessageBody=encode(work)
            )
        self.until_written()

    def counts(self) -> dict[str, int]:
        """The counters of this place's rows, by scope and channel."""
        found = self.sql(
            "SELECT scope, channel_id, turns_since_refresh FROM short_term_memories"
            " WHERE owner_id = ANY(%s)",
            [self.ids["userId"], self.ids["serverId"]],
        )
        return {f"{scope}:{channel}": turns for scope, channel, turns in found}

    def sql(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser and return its rows."""
        with psycopg.connect(self.stack.database_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def until_counted(self, expected: dict[str, int]) -> None:
        """Wait until the rows say `expected`, and not more after the queue has run empty."""
        until(lambda: self.counts() == expected and self.queued() == 0, lambda: self.counts())

    def queued(self) -> int:
        return depth(self.stack.sqs_client, self.stack.queue_url)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a directory that the first of all pytest workers makes, while the others wait."""
    common = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    made = common / name
    with (common / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make(common / f"{name}.unfinished")
            (common / f"{name}.unfinished").rename(made)
    return made


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory) -> Path:
    """Everything that `make build` builds, for this machine."""
    return made_once(tmp_path_factory, "artifacts", rehearsal.build_all)


@pytest.fixture(scope="session")
def unpacked(artifacts, tmp_path_factory) -> Path:
    """The artifacts as Lambda unpacks them."""
    return made_once(tmp_path_factory, "unpacked", partial(rehearsal.lay_out, artifacts))


@pytest.fixture
def make_place() -> Callable[[Stack], Place]:
    return lambda stack: Place(stack, client_of(stack))


@pytest.fixture
def place(stack, make_place) -> Place:
    return make_place(stack)
