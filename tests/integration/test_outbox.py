"""The outbox against a real server: a queue that dies, hangs or comes back."""

import hashlib
import json
import os
import signal
import time

import pytest
from given import work

from capture.outbox import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, Outbox, sqs_client
from local.functions import REGION
from local.lifeline import Lifeline
from local.loopback import HOST, LoopbackHandler, LoopbackServer
from local.sqs import Sqs
from shortterm.work import decode


@pytest.fixture(scope="module")
def sqs(tmp_path_factory):
    with Lifeline() as lifeline:
        log = tmp_path_factory.mktemp("sqs") / "sqs.log"
        server = Sqs(lifeline, log, visibility_timeout=30, max_receive_count=5)
        server.start()
        yield server
        server.stop()


@pytest.fixture
def outbox(sqs, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", sqs.endpoint)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    client = sqs_client()
    yield Outbox(client, sqs.queue_url, capacity=100)
    client.close()


@pytest.fixture
def received(sqs):
    """Take the turns off the queue, in whatever order they come."""

    def take() -> list[str]:
        client = sqs_client()
        answer = client.receive_message(QueueUrl=sqs.queue_url, MaxNumberOfMessages=10)
        messages = answer.get("Messages", [])
        for message in messages:
            client.delete_message(QueueUrl=sqs.queue_url, ReceiptHandle=message["ReceiptHandle"])
        client.close()
        return sorted(decode(it["Body"]).turn_id for it in messages)

    return take


def test_what_is_sent_is_on_the_queue(outbox, received):
    assert outbox.send(work("t1"))
    assert received() == ["t1"]


def test_a_queue_that_hangs_costs_one_time_out_and_keeps_the_work(outbox, sqs, received):
    os.kill(sqs.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        assert not outbox.send(work("t1"))
        waited = time.monotonic() - started
    finally:
        os.kill(sqs.pid, signal.SIGCONT)
    assert waited < 2 * (CONNECT_TIMEOUT_S + READ_TIMEOUT_S)
    assert outbox.send(work("t2"))
    assert "t2" in received()
    assert len(outbox) == 0


def test_a_queue_that_is_down_keeps_the_work_until_it_is_back(outbox, sqs, received):
    sqs.kill()
    try:
        assert not outbox.send(work("t1"))
        assert not outbox.send(work("t2"))
        assert len(outbox) == 2
    finally:
        sqs.start()
    assert outbox.send(work("t3"))
    assert received() == ["t1", "t2", "t3"]


class Forgetful(LoopbackHandler):
    """Takes one batch on each connection, and closes it when there comes another."""

    taken = 0

    def do_POST(self):  # noqa: N802 (http.server's name)
        entries = json.loads(self.read_body(2**20))["Entries"]
        if self.taken:
            self.close_connection = True
            return
        self.taken += 1
        taken = [
            {"Id": it["Id"], "MessageId": "m", "MD5OfMessageBody": md5(it["MessageBody"])}
            for it in entries
        ]
        answer = json.dumps({"Successful": taken}).encode()
        self.answer(200, answer, [("Content-Type", "application/x-amz-json-1.0")])


def test_a_connection_that_was_closed_since_the_last_turn_delays_no_work(monkeypatch):
    server = LoopbackServer(0, Forgetful)
    server.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", f"http://{HOST}:{server.port}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    client = sqs_client()
    try:
        outbox = Outbox(client, f"http://{HOST}:{server.port}/1/q", capacity=100)
        assert [outbox.send(work(f"t{number}")) for number in range(4)] == [True] * 4
    finally:
        client.close()
        server.stop()


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
