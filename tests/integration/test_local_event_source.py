"""The poller of the local stack: the SQS event source mapping, over moto's queues."""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from local.errors import BadAnswer
from local.event_source import failed_ids, sqs_event
from local.lifeline import Lifeline
from local.outcome import Failure, Outcome, Success
from local.poller import Poller
from local.sqs import Sqs, sqs_client

ARN = "arn:aws:sqs:us-east-1:123456789012:shortterm-work"
BATCH = frozenset({"one", "two"})


class Writer:
    """Fails every message that says so; keeps the events it was given."""

    def __init__(self) -> None:
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()

    def __call__(self, event: bytes) -> Outcome:
        content = json.loads(event)
        self.events.put(content)
        failed = [
            {"itemIdentifier": record["messageId"]}
            for record in content["Records"]
            if record["body"] == "bad"
        ]
        return Success(json.dumps({"batchItemFailures": failed}).encode())


class Queue:
    """An SQS client whose queue hands out each message once, and can be away at first."""

    def __init__(self, *bodies: str, failures: int = 0) -> None:
        self._waiting = [message(body) for body in bodies]
        self._failures = failures
        self.deleted: queue.Queue[str] = queue.Queue()
        self.emptied = threading.Event()

    def get_queue_attributes(self, **_: object) -> dict[str, Any]:
        return {"Attributes": {"QueueArn": ARN}}

    def receive_message(self, **_: object) -> dict[str, Any]:
        if self._failures:
            self._failures -= 1
            raise EndpointConnectionError(endpoint_url="http://away")
        batch, self._waiting = self._waiting, []
        if not batch:
            self.emptied.set()
        return {"Messages": batch} if batch else {}

    def delete_message_batch(self, **request: Any) -> dict[str, Any]:
        for entry in request["Entries"]:
            self.deleted.put(entry["ReceiptHandle"])
        return {}


def message(body: str) -> dict[str, Any]:
    return {"MessageId": f"id of {body}", "ReceiptHandle": body, "Body": body, "MD5OfBody": "5"}


@pytest.fixture(scope="module")
def sqs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sqs]:
    lifeline = Lifeline()
    log = tmp_path_factory.mktemp("sqs") / "sqs.log"
    sqs = Sqs(lifeline, log, visibility_timeout=1, max_receive_count=1)
    sqs.start()
    yield sqs
    sqs.stop()
    lifeline.close()


@pytest.fixture
def poll() -> Iterator[Callable[..., Poller]]:
    pollers: list[Poller] = []

    def poll(client: Any, queue_url: str, invoke: Callable[[bytes], Outcome]) -> Poller:
        poller = Poller(client, queue_url, invoke, window_seconds=0.1)
        pollers.append(poller)
        poller.start()
        return poller

    yield poll
    for poller in pollers:
        poller.stop()


def test_what_succeeds_is_deleted_and_what_fails_goes_to_the_dead_letter_queue(
    sqs: Sqs, poll: Callable[..., Poller]
) -> None:
    client, writer = sqs_client(sqs.endpoint), Writer()
    for body in ("good", "bad"):
        client.send_message(QueueUrl=sqs.queue_url, MessageBody=body, MessageGroupId="owner")

    poll(client, sqs.queue_url, writer)

    dead: list[Any] = []
    deadline = time.monotonic() + 10
    while not dead and time.monotonic() < deadline:
        dead = client.receive_message(QueueUrl=sqs.dlq_url, WaitTimeSeconds=1).get("Messages", [])
    assert [it["Body"] for it in dead] == ["bad"]
    (record, _) = (event := writer.events.get(timeout=1))["Records"]
    assert [it["body"] for it in event["Records"]] == ["good", "bad"]
    assert (record["eventSource"], record["eventSourceARN"]) == ("aws:sqs", ARN)
    assert record["awsRegion"] == "us-east-1"
    assert record["messageAttributes"] == {}
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["attributes"]["MessageGroupId"] == "owner"
    assert {"SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"} <= set(
        record["attributes"]
    )
    client.close()


@pytest.mark.parametrize(
    "outcome",
    [
        Failure("failed", "ValueError", "broken"),
        Failure("timed-out", "Sandbox.Timedout", "late"),
        Success(b"not json"),
        Success(b'{"batchItemFailures": [{"itemIdentifier": "unknown"}]}'),
    ],
)
def test_a_failed_batch_is_left_on_the_queue(poll: Callable[..., Poller], outcome: Outcome) -> None:
    client = Queue("one", "two")

    poll(client, "url", lambda _: outcome)

    assert client.emptied.wait(5)
    assert client.deleted.empty()


def test_a_queue_that_is_away_is_asked_again(poll: Callable[..., Poller]) -> None:
    client = Queue("one", failures=2)

    poll(client, "url", Writer())

    assert client.deleted.get(timeout=5) == "one"


def test_a_batch_at_hand_is_finished_before_the_poller_stops(poll: Callable[..., Poller]) -> None:
    client, begun, go_on = Queue("one"), threading.Event(), threading.Event()

    def slowly(_: bytes) -> Outcome:
        begun.set()
        go_on.wait(5)
        return Success(b"null")

    poller = poll(client, "url", slowly)
    assert begun.wait(5)
    stopping = threading.Thread(target=poller.stop)
    stopping.start()
    go_on.set()
    stopping.join(5)

    assert client.deleted.get_nowait() == "one"


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"{}", b'{"batchItemFailures": null}', b'{"batchItemFailures": []}']
)
def test_an_answer_without_failures_is_a_success(payload: bytes) -> None:
    assert failed_ids(payload, BATCH) == frozenset()


def test_an_answer_names_what_failed() -> None:
    payload = b'{"batchItemFailures": [{"itemIdentifier": "two"}]}'

    assert failed_ids(payload, BATCH) == {"two"}


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        b'"text"',
        b'{"batchItemFailures": [{"itemIdentifier": ""}]}',
        b'{"batchItemFailures": [{"itemIdentifier": null}]}',
        b'{"batchItemFailures": [{"id": "two"}]}',
        b'{"batchItemFailures": ["two"]}',
        b'{"batchItemFailures": [{"itemIdentifier": "three"}]}',
        b'{"batchItemFailures": [{"itemIdentifier": {}}]}',
    ],
)
def test_an_answer_that_aws_cannot_read_fails_the_whole_batch(payload: bytes) -> None:
    with pytest.raises(BadAnswer):
        failed_ids(payload, BATCH)


def test_message_attributes_reach_the_function() -> None:
    sent: Any = message("one") | {
        "MessageAttributes": {"kind": {"DataType": "String", "StringValue": "turn"}}
    }

    (record,) = sqs_event([sent], ARN)["Records"]

    assert record["messageAttributes"]["kind"]["stringValue"] == "turn"
    assert record["messageAttributes"]["kind"]["dataType"] == "String"
