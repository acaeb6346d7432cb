"""The Lambda handler of the deployment function: runs the schema and always answers CloudFormation.

CloudFormation waits for an answer at a pre-signed address, an hour if none comes. A function in a
VPC without a way to the internet cannot reach that address, so the schema function does not answer
by itself: this one, outside of the VPC, invokes it and reports.
"""

import json
import logging
import os
from typing import Any
from urllib.request import Request, urlopen

import boto3
from botocore.config import Config

# What is left of this function's own time to send the answer in.
ANSWER_MS = 15_000
ANSWER_TIMEOUT_S = 4
ANSWER_TRIES = 3
# CloudFormation refuses a longer reason.
REASON_MAX = 400

logger = logging.getLogger(__name__)


class Failed(Exception):
    """The schema is not up to date; says why in words for the stack's events."""


def handler(event: dict[str, Any], context: Any) -> None:
    """Bring the schema up to date for a custom resource's Create or Update, and answer.

    A Delete is answered at once: the rows stay with their database.
    """
    status, reason = "SUCCESS", "The schema is up to date"
    try:
        if event["RequestType"] != "Delete":
            migrate(_seconds_left(context))
    except Failed as failure:
        status, reason = "FAILED", str(failure)
    except Exception as error:
        logger.exception("The schema function could not be run")
        status, reason = "FAILED", f"{type(error).__name__}: see the log"
    for attempt in range(1, ANSWER_TRIES + 1):
        try:
            answer(event, context, status, reason)
            return
        except OSError:
            logger.exception("CloudFormation did not take the answer")
            if attempt == ANSWER_TRIES:
                raise


def migrate(timeout_s: float) -> None:
    """Invoke the schema function. Raises Failed if it failed."""
    client = boto3.client(
        "lambda", config=Config(read_timeout=timeout_s, retries={"total_max_attempts": 1})
    )
    result = client.invoke(
        FunctionName=os.environ["SCHEMA_FUNCTION_NAME"], Payload=json.dumps({"action": "migrate"})
    )
    if "FunctionError" in result:
        message = json.load(result["Payload"]).get("errorMessage")
        raise Failed(f"The schema function failed: {message}"[:REASON_MAX])


def answer(event: dict[str, Any], context: Any, status: str, reason: str) -> None:
    """Put the answer where CloudFormation waits for it."""
    body = {
        "Status": status,
        "Reason": f"{reason} (log stream {context.log_stream_name})",
        # The same for ever: a resource of another id would be deleted after the update.
        "PhysicalResourceId": "shortterm-schema",
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    url = event["ResponseURL"]
    if not url.startswith("https://"):
        raise ValueError("CloudFormation's answer goes over https")
    request = Request(url, json.dumps(body).encode(), {"Content-Type": ""}, method="PUT")  # noqa: S310
    with urlopen(request, timeout=ANSWER_TIMEOUT_S):  # noqa: S310
        pass


def _seconds_left(context: Any) -> float:
    left_ms: int = context.get_remaining_time_in_millis() - ANSWER_MS
    return max(1.0, left_ms / 1000)
