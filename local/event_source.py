"""What the SQS event source mapping hands to a function, and how it reads the answer."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from local.errors import BadAnswer

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef


def sqs_event(messages: "Sequence[MessageTypeDef]", queue_arn: str) -> dict[str, Any]:
    """The event for a batch; the region is the queue's."""
    region = queue_arn.split(":")[3]
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": dict(message.get("Attributes", {})),
                "messageAttributes": {
                    name: _attribute(value)
                    for name, value in message.get("MessageAttributes", {}).items()
                },
                "md5OfBody": message["MD5OfBody"],
                "eventSource": "aws:sqs",
                "eventSourceARN": queue_arn,
                "awsRegion": region,
            }
            for message in messages
        ]
    }


def failed_ids(payload: bytes, batch: frozenset[str]) -> frozenset[str]:
    """The ids in `batchItemFailures`; an empty answer, list or null means that all went well.

    Raises BadAnswer for an answer that AWS treats as a complete failure.
    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    try:
        response = json.loads(payload) if payload else None
        failures = (response or {}).get("batchItemFailures") or []
        ids = frozenset(failure["itemIdentifier"] for failure in failures)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadAnswer("the answer cannot be read") from error
    if not ids <= batch:
        raise BadAnswer("the answer names a message that is not in the batch")
    return ids


def _attribute(value: Any) -> dict[str, Any]:
    return {
        "stringValue": value.get("StringValue"),
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": value["DataType"],
    }
