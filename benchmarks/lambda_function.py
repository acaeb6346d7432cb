"""The real capture function, its queue stubbed: what is measured is the whole handler."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from botocore.awsrequest import AWSResponse

from benchmarks import surroundings  # noqa: F401 - the import below reads the environment
from capture import app
from capture.memory import Memory
from capture.outbox import Outbox, sqs_client
from shortterm import clock

CONTEXT: Any = SimpleNamespace(
    aws_request_id="6f2f5a1e", function_name="bench", memory_limit_in_mb=512
)
SETTINGS = app.settings
PLENTY = 2**36


class AcceptingQueue:
    """Stands for the boto3 client: takes every batch at once."""

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        return {"Successful": [{"Id": it["Id"]} for it in Entries]}


def stub_the_queue() -> None:
    queue: Any = AcceptingQueue()
    app.outbox = Outbox(queue, SETTINGS.work_queue_url, capacity=1_000)


def stub_the_network() -> None:
    """Let botocore build, sign and parse; only the HTTP request is not made."""
    client = sqs_client()
    client.meta.events.register("before-send.sqs.SendMessageBatch", _accepted)
    app.outbox = Outbox(client, SETTINGS.work_queue_url, capacity=1_000)


def outbox() -> Outbox:
    """Return what the function sends by: what was stubbed last."""
    return app.outbox


def remember_in(memory: Memory) -> None:
    app.memory = memory


def roomy_memory(max_bytes: int = PLENTY) -> Memory:
    """Return a memory with the function's times to live that never evicts, if there is plenty."""
    return Memory(
        max_bytes=max_bytes,
        ttl_ms=SETTINGS.memory_ttl_ms,
        summary_ttl_ms=SETTINGS.summary_ttl_ms,
        clock=clock.now,
    )


def answer_all(events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        app.handler(event, CONTEXT)


@contextlib.contextmanager
def metrics_unseen() -> Iterator[None]:
    """Metrics are made and written, to nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def check(event: dict[str, Any], status: int) -> str:
    """Return the body of the answer; a benchmark of refusals would measure nothing."""
    with metrics_unseen():
        answer = app.handler(event, CONTEXT)
    assert answer["statusCode"] == status, answer
    return str(answer["body"])


def _accepted(request: Any, **_: Any) -> Any:
    body = b'{"Successful":[{"Id":"1","MessageId":"m","MD5OfMessageBody":"d"}],"Failed":[]}'
    headers: Any = {"content-type": "application/x-amz-json-1.0"}
    answer: Any = AWSResponse(request.url, 200, headers, None)
    answer._content = body
    return answer
