"""Partial failures around a set-based act: all records at once, one outcome for each."""

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

# None, or why a record must come back: a fixed phrase, since Powertools may log it.
Outcome = str | None


class Failed(Exception):
    """A record comes back; says why."""


class WholeBatch(BatchProcessor):
    """Powertools' batch processor, which hands `act` the bodies of all records in one call.

    `act` returns an outcome for each body, in order. Failed records are listed in the answer, all
    of them if need be: the batch never raises.
    """

    def __init__(self) -> None:
        super().__init__(EventType.SQS, raise_on_entire_batch_failure=False)

    def process(self) -> list[tuple[Any, ...]]:
        records = [SQSRecord(record) for record in self.records]
        outcomes = self.handler([record.body for record in records])
        return [
            self.success_handler(record, None)
            if outcome is None
            else self.failure_handler(record, (Failed, Failed(outcome), None))
            for record, outcome in zip(records, outcomes, strict=True)
        ]
