"""The only module that talks to SQS: sends a turn's work, and keeps what could not be sent."""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import boto3
from botocore.config import Config

from shortterm import telemetry, work
from shortterm.telemetry import Metric, logger
from shortterm.work import TurnWork

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef

CONNECT_TIMEOUT_S = 1
READ_TIMEOUT_S = 2
# SQS takes ten messages a request. What waited is sent in at most so many requests per turn, so
# that a long outage is not made up for by one slow turn.
BATCH_SIZE = 10
BATCHES_PER_TURN = 3


def sqs_client() -> "SQSClient":
    """Return a client that tries once and gives up within three seconds: the bot is waiting."""
    client: SQSClient = boto3.client(
        "sqs",
        config=Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"total_max_attempts": 1},
            tcp_keepalive=True,
        ),
    )
    return client


class _Posted(NamedTuple):
    number: int
    group: str
    body: str


class Outbox:
    """Work on its way to the queue, oldest first, at most `capacity` messages.

    What could not be sent waits here, in this container's memory, and goes with the next turn.
    """

    def __init__(self, client: "SQSClient", queue_url: str, *, capacity: int) -> None:
        self._client = client
        self._queue_url = queue_url
        self._capacity = capacity
        self._waiting: deque[_Posted] = deque()
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, turn: TurnWork) -> bool:
        """Send `turn` behind what is waiting; tell whether SQS has accepted it now.

        Never raises for what SQS or the network does: a failed send is a warning and a metric, and
        the work waits. When more than `capacity` wait, the oldest is dropped and counted.
        """
        self._number += 1
        posted = _Posted(self._number, turn.owner_id, work.encode(turn))
        self._waiting.append(posted)
        if len(self._waiting) > self._capacity:
            self._drop(self._waiting.popleft(), "outbox_full")
        for _ in range(BATCHES_PER_TURN):
            if not self._waiting or not self._send_batch():
                break
        queued = posted not in self._waiting
        if not queued:
            telemetry.count(Metric.WORK_DEFERRED)
        return queued

    def _send_batch(self) -> bool:
        """Send the oldest messages; tell whether SQS is worth another request."""
        batch = [self._waiting.popleft() for _ in range(min(BATCH_SIZE, len(self._waiting)))]
        try:
            answer = self._client.send_message_batch(
                QueueUrl=self._queue_url, Entries=[_as_entry(it) for it in batch]
            )
        # Whatever breaks behind a delivered reply must not reach the bot (seed: Fault isolation).
        except Exception as error:
            self._waiting.extendleft(reversed(batch))
            logger.warning("Work could not be queued", extra=_described(error))
            return False
        failed = {it["Id"]: it for it in answer.get("Failed", ())}
        telemetry.count(Metric.WORK_QUEUED, len(batch) - len(failed))
        for posted in reversed(batch):
            if failure := failed.get(str(posted.number)):
                if failure["SenderFault"]:
                    # SQS will never take it: waiting would only block the others.
                    self._drop(posted, failure["Code"])
                else:
                    self._waiting.appendleft(posted)
        return not failed

    def _drop(self, _: _Posted, reason: str) -> None:
        telemetry.count(Metric.WORK_DROPPED)
        logger.error("Work was dropped: a turn will not be counted", extra={"reason": reason})


def _as_entry(posted: _Posted) -> "SendMessageBatchRequestEntryTypeDef":
    return {
        "Id": str(posted.number),
        "MessageBody": posted.body,
        "MessageGroupId": posted.group,
    }


def _described(error: Exception) -> dict[str, str]:
    response = getattr(error, "response", None) or {}
    code = response.get("Error", {}).get("Code", "none")
    return {**telemetry.describe(error), "code": code}
