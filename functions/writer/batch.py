"""Partial failures around a set-based act: all records at once, and why some come back."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

# Why messages must come back, by their SQS ids: fixed phrases, since Powertools may log them.
Failures = Mapping[str, str]


class Failed(Exception):
    """A record comes back; says why."""


class WholeBatch(BatchProcessor):
    """Powertools' batch processor, which hands `act` all bodies by message id, in one call.

    `act` returns the Failures. They are listed in the answer, all of the batch if need be: the
    batch never raises.
    """

    def __init__(self) -> None:
        super().__init__(EventType.SQS, raise_on_entire_batch_failure=False)

    def process(self) -> list[tuple[Any, ...]]:
        records = [SQSRecord(record) for record in self.records]
        failures: Failures = self.handler({record.message_id: record.body for record in records})
        return [
            self.failure_handler(record, (Failed, Failed(failures[record.message_id]), None))
            if record.message_id in failures
            else self.success_handler(record, None)
            for record in records
        ]
