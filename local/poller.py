"""The SQS event source mapping: takes work from the queue, runs it, deletes what succeeded."""

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from local.errors import BadAnswer, CannotRun
from local.event_source import failed_ids, sqs_event
from local.outcome import Failure, Outcome

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import (
        DeleteMessageBatchRequestEntryTypeDef,
        MessageTypeDef,
    )

_log = logging.getLogger(__name__)
_SQS_BATCH = 10
_LONG_POLL_S = 1
_WINDOW_STEP_S = 0.02
_BACK_OFF_S = (0.1, 5.0)


class Poller:
    """One thread on one queue; what fails stays on the queue until it is visible again."""

    def __init__(
        self,
        sqs: "SQSClient",
        queue_url: str,
        invoke: Callable[[bytes], Outcome],
        *,
        batch_size: int = 10,
        window_seconds: float = 0.2,
    ) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._invoke = invoke
        self._batch_size = batch_size
        self._window_seconds = window_seconds
        self._stopping = threading.Event()
        self._working = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def drain(self) -> None:
        """Take no more work; returns when the batch at hand is done."""
        self._stopping.set()
        with self._working:
            pass

    def stop(self) -> None:
        """Drain, and wait for the poll that is still open; may be called twice."""
        self.drain()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        shortest, longest = _BACK_OFF_S
        pause = shortest
        queue_arn = None
        while not self._stopping.is_set():
            try:
                queue_arn = queue_arn or self._queue_arn()
                batch = self._collect()
                with self._working:
                    if batch and not self._stopping.is_set():
                        self._work(batch, queue_arn)
                pause = shortest
            except (BotoCoreError, ClientError) as error:
                if not self._stopping.wait(pause):
                    _log.warning("the queue does not answer: %s", type(error).__name__)
                pause = min(2 * pause, longest)

    def _queue_arn(self) -> str:
        answer = self._sqs.get_queue_attributes(
            QueueUrl=self._queue_url, AttributeNames=["QueueArn"]
        )
        return answer["Attributes"]["QueueArn"]

    def _collect(self) -> "list[MessageTypeDef]":
        batch = self._receive(self._batch_size, _LONG_POLL_S)
        window_ends = time.monotonic() + self._window_seconds
        while batch and len(batch) < self._batch_size and time.monotonic() < window_ends:
            if self._stopping.wait(_WINDOW_STEP_S):
                break
            batch += self._receive(self._batch_size - len(batch), 0)
        # A message that became visible again within the window is in the batch once.
        return list({message["MessageId"]: message for message in batch}.values())

    def _receive(self, wanted: int, wait_seconds: int) -> "list[MessageTypeDef]":
        answer = self._sqs.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=min(wanted, _SQS_BATCH),
            WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return answer.get("Messages", [])

    def _work(self, batch: "list[MessageTypeDef]", queue_arn: str) -> None:
        try:
            outcome = self._invoke(json.dumps(sqs_event(batch, queue_arn)).encode())
            if isinstance(outcome, Failure):
                _log.warning("a batch of %d failed: %s", len(batch), outcome.type)
                return
            failed = failed_ids(outcome.payload, frozenset(each["MessageId"] for each in batch))
        except (CannotRun, BadAnswer) as error:
            _log.warning("a batch of %d failed: %s", len(batch), error)
            return
        if failed:
            _log.warning(
                "%d of a batch of %d failed: the writer's log tells why", len(failed), len(batch)
            )
        self._delete([message for message in batch if message["MessageId"] not in failed])

    def _delete(self, messages: "list[MessageTypeDef]") -> None:
        for start in range(0, len(messages), _SQS_BATCH):
            entries: list[DeleteMessageBatchRequestEntryTypeDef] = [
                {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                for index, message in enumerate(messages[start : start + _SQS_BATCH])
            ]
            answer = self._sqs.delete_message_batch(QueueUrl=self._queue_url, Entries=entries)
            if answer.get("Failed"):
                _log.warning("%d messages could not be deleted", len(answer["Failed"]))
