"""The only module that talks to SQS: sends work, and keeps what could not be sent."""

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from botocore.config import Config
from botocore.exceptions import ConnectionClosedError
from botocore.session import get_session

from capture.breaker import Breaker
from shortterm import telemetry, work
from shortterm.clock import now
from shortterm.telemetry import Metric, logger
from shortterm.wire import Private
from shortterm.work import Work

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import (
        SendMessageBatchRequestEntryTypeDef,
        SendMessageBatchResultTypeDef,
    )

CONNECT_TIMEOUT_S = 1
READ_TIMEOUT_S = 2
# After two tries in a row that failed, and took so long for it that a bot would notice, SQS is left
# alone: in an outage of minutes few turns pay for a try. What fails at once costs nothing.
SLOW_S = 0.2
PATIENCE = 2
REST_MS = 1_000
LONGEST_REST_MS = 30_000
# What SQS takes in one request: so many messages, and less than so many bytes of them (it takes
# more by now, its emulators and older regions do not).
BATCH_SIZE = 10
BATCH_BYTES = 250_000
# What may wait at most: a message about a turn is small, one with notes may have 90 KB.
MAX_BYTES = 8 * 2**20
# What waited is sent in further requests only as long as a turn has taken less than this: a long
# outage is not made up for by one slow turn.
CATCH_UP_S = 0.5


def sqs_client() -> "SQSClient":
    """Return a client that tries once and soon gives up: the bot is waiting.

    It waits a second for each address of the queue, and two for each piece of the answer.
    """
    # botocore's own session: boto3 adds nothing to this client but its imports.
    client = get_session().create_client(
        "sqs",
        config=Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"total_max_attempts": 1},
            tcp_keepalive=True,
        ),
    )
    return cast("SQSClient", client)


class _Posted(Private, frozen=True):
    number: int
    group: str
    body: str


class Outbox:
    """Work on its way to the queue, oldest first, at most `capacity` messages.

    What could not be sent waits here, in this container's memory, and goes with the next turn; in
    an outage, with the next one after a rest. `clock` returns the wall time in ms, `stopwatch`
    seconds.
    """

    def __init__(
        self,
        client: "SQSClient",
        queue_url: str,
        *,
        capacity: int,
        clock: Callable[[], int] = now,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._queue_url = queue_url
        self._capacity = capacity
        self._stopwatch = stopwatch
        self._breaker = Breaker(REST_MS, clock, patience=PATIENCE, longest_rest_ms=LONGEST_REST_MS)
        self._waiting: deque[_Posted] = deque()
        self._bytes = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, sent: Work) -> bool:
        """Send `sent` behind what is waiting; tell whether SQS has accepted it now.

        Never raises for what SQS or the network does: a failed send is a warning and a metric, and
        the work waits. When more than `capacity` or MAX_BYTES wait after that, the oldest is
        dropped and counted.
        """
        self._number += 1
        posted = _Posted(self._number, sent.group, work.encode(sent))
        self._waiting.append(posted)
        self._bytes += len(posted.body)
        waited = len(self._waiting) > 1
        queued = not self._breaker.is_open and self._send_waiting(posted)
        while len(self._waiting) > self._capacity or self._bytes > MAX_BYTES:
            self._take_oldest()
            _count_dropped("outbox_full")
        if not queued:
            telemetry.count(Metric.WORK_DEFERRED)
        # Most often nothing waits, before and after: that is told by telling nothing.
        if waited or self._waiting:
            telemetry.count(Metric.WORK_WAITING, len(self._waiting))
        return queued

    def _send_waiting(self, newest: _Posted) -> bool:
        """Send what waits, oldest first, while it goes well; tell whether `newest` was accepted."""
        started = self._stopwatch()
        while True:
            batch = self._take_batch()
            accepted = self._send_batch(batch)
            if newest in accepted:
                return True
            in_time = self._stopwatch() - started < CATCH_UP_S
            if len(accepted) < len(batch) or not self._waiting or not in_time:
                return False

    def _take_batch(self) -> list[_Posted]:
        batch: list[_Posted] = []
        room = BATCH_BYTES
        while self._waiting and len(batch) < BATCH_SIZE:
            room -= len(self._waiting[0].body)
            if batch and room < 0:
                break
            batch.append(self._take_oldest())
        return batch

    def _take_oldest(self) -> _Posted:
        oldest = self._waiting.popleft()
        self._bytes -= len(oldest.body)
        return oldest

    def _put_back(self, oldest: _Posted) -> None:
        self._waiting.appendleft(oldest)
        self._bytes += len(oldest.body)

    def _send_batch(self, batch: list[_Posted]) -> list[_Posted]:
        """Send a batch; return what SQS accepted, and put what may be tried again back."""
        began = self._stopwatch()
        try:
            answer = self._request(batch, began)
        # Whatever breaks behind a delivered reply must not reach the bot (seed: Fault isolation).
        except Exception as error:
            for posted in reversed(batch):
                self._put_back(posted)
            if self._stopwatch() - began >= SLOW_S:
                self._breaker.failed()
            logger.warning("Work could not be queued", extra=_described(error))
            return []
        failed = {it["Id"]: it for it in answer.get("Failed", ())}
        for posted in reversed(batch):
            if failure := failed.get(str(posted.number)):
                if failure["SenderFault"]:
                    # SQS will never take it: waiting would only block the others.
                    _count_dropped(failure["Code"])
                else:
                    self._put_back(posted)
        accepted = [it for it in batch if str(it.number) not in failed]
        telemetry.count(Metric.WORK_QUEUED, len(accepted))
        self._breaker.succeeded()
        return accepted

    def _request(self, batch: list[_Posted], began: float) -> "SendMessageBatchResultTypeDef":
        entries = [_as_entry(it) for it in batch]
        try:
            return self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except ConnectionClosedError:
            # A connection that nobody used for minutes, in a container that stood still, was closed
            # at its other end: a new one will do. If it was a batch on its way, it counts once.
            if self._stopwatch() - began >= SLOW_S:
                raise
            return self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)


def _count_dropped(reason: str) -> None:
    telemetry.count(Metric.WORK_DROPPED)
    logger.error("Work was dropped: it reaches no row", extra={"reason": reason})


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
