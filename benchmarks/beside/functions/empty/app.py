"""What the runtime client and its transport cost alone, for an answer as large as is asked for."""

from typing import Any

LINE = '{"role":"user","speaker":"Ann","content":"' + 200 * "x" + '","timestamp":1796031200000},'
TEXT = 10_000 * LINE


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return {
        "statusCode": 200,
        "headers": {"Content-Type": "application/json"},
        "body": TEXT[: event["answerBytes"]],
        "isBase64Encoded": False,
    }
