"""What nobody would send: every answer is one that docs/openapi.json says (see fuzz/)."""

import json
import uuid
from dataclasses import replace

import pytest
from faults import FakeQueue
from given import LAMBDA_CONTEXT, failures, sqs, turn_fields
from psycopg.conninfo import make_conninfo

from api_document.document import document
from capture import durable
from capture.outbox import Outbox
from fuzz.barrage import barrage
from fuzz.contract import Contract
from fuzz.shot import CANARY, Shot
from local.gateway import Answer, Request, answer_of, proxy_event

REQUESTS = 2_000
MEMORY_MAX_BYTES = 32 * 2**20
HOST = [("Host", "localhost")]


@pytest.fixture
def queue():
    return FakeQueue()


@pytest.fixture
def capture(app_of, database_url, queue, monkeypatch):
    """A container with a small memory, a queue, and a database that is waited for."""
    monkeypatch.setattr(durable, "READ_S", 10.0)
    monkeypatch.setattr(durable, "READ_STATEMENT_MS", 10_000)
    app = app_of(
        "capture",
        DATABASE_URL=make_conninfo(database_url, user="stm_capture"),
        MEMORY_MAX_BYTES=str(MEMORY_MAX_BYTES),
    )
    app.outbox = Outbox(queue, app.settings.work_queue_url, capacity=1_000)
    # The first read after a start may be too early for the connection.
    app.durable.export("nobody", None, most=1, obeyed=0)
    return app


@pytest.fixture
def send(capture):
    """Send a request through the gateway to the function."""

    def send(shot: Shot) -> Answer:
        request = Request(shot.method, shot.target, HOST, shot.body, "127.0.0.1")
        event = proxy_event(request, str(uuid.uuid4()))
        if shot.encoded is not None:
            event |= {"body": shot.encoded, "isBase64Encoded": True}
        # As the runtime hands it over and takes it back.
        event = json.loads(json.dumps(event))
        return answer_of(json.dumps(capture.handler(event, LAMBDA_CONTEXT)).encode())

    return send


HEALTH = Shot("", "GET", "/v1/health")
NOWHERE = Shot("", "GET", f"/v1/{CANARY}")
WELL_FORMED = Shot("", "POST", "/v1/turns", json.dumps(turn_fields()).encode())
HEALTHY = {"status": "ok", "container": "c", "since": 1, "entries": 0, "bytes": 0, "outbox": 0}


def answered(status, body, kind="application/json", **headers):
    headers = {"Content-Type": kind, "Cache-Control": "no-store"} | headers
    return Answer(status, [*headers.items()], json.dumps(body).encode())


def problem(status, **fields):
    body = {"title": "A problem", "status": status} | fields
    return answered(status, body, "application/problem+json")


@pytest.mark.parametrize(
    ("shot", "answer", "complaint"),
    [
        (HEALTH, answered(200, HEALTHY), None),
        (NOWHERE, problem(404), None),
        (HEALTH, problem(500), "500 instead of 200"),
        (HEALTH, answered(200, HEALTHY | {"text": "hello"}), "not as"),
        (HEALTH, answered(200, HEALTHY | {"bytes": -1}), "not as"),
        (HEALTH, answered(200, HEALTHY, "text/html"), "Content-Type text/html"),
        (HEALTH, answered(200, HEALTHY, **{"Cache-Control": "public"}), "header Cache-Control"),
        (NOWHERE, problem(404, title=f"No such route: /v1/{CANARY}"), "repeats"),
        (WELL_FORMED, problem(400, field="body", expected="JSON"), "400 instead of 202"),
        (replace(WELL_FORMED, body=b"[]"), answered(202, {"status": "failed"}), "202 instead"),
    ],
)
def test_an_answer_that_must_not_be_is_complained_of(shot, answer, complaint):
    complaints = Contract(document()).complaints(shot, answer, 0.1)
    assert complaint in " ".join(complaints) if complaint else complaints == []


def test_an_answer_that_takes_long_is_complained_of():
    assert Contract(document()).complaints(HEALTH, answered(200, HEALTHY), 1.1) == ["it took 1.1 s"]


def test_the_same_seed_fires_the_same_requests():
    fired = [], []
    for shots in fired:
        barrage(
            lambda shot, shots=shots: shots.append(shot) or problem(404),
            Contract(document()),
            requests=60,
            first_seed=3,
        )
    assert fired[0] == fired[1]


def test_whatever_is_sent_the_answer_is_as_documented(
    send, capture, queue, app_of, writer_url, capsys
):
    tally = barrage(send, Contract(document()), requests=REQUESTS, first_seed=1)
    capsys.readouterr()  # the metrics of all of them
    assert tally.shown == []
    assert tally.requests == REQUESTS
    assert capture.memory.size().bytes <= MEMORY_MAX_BYTES
    assert tally.turns
    writer = app_of("writer", DATABASE_URL=writer_url)
    assert failures(writer.handler(sqs(*queue.bodies), LAMBDA_CONTEXT)) == []
