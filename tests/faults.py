"""Fakes at the edge to SQS that fail as the real thing does, named for the fault."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

Answer = Callable[[list[dict[str, Any]]], dict[str, Any]]


class FakeQueue:
    """Takes batches like SQS; `then` says how the next ones are answered."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.groups: list[str] = []
        self.requests = 0
        self._answers: list[Answer] = []
        self.default: Answer = accepting

    def then(self, *answers: Answer) -> None:
        self._answers += answers

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.requests += 1
        answer = (self._answers.pop(0) if self._answers else self.default)(Entries)
        failed = {it["Id"] for it in answer.get("Failed", [])}
        for entry in Entries:
            if entry["Id"] not in failed:
                self.bodies.append(entry["MessageBody"])
                self.groups.append(entry["MessageGroupId"])
        return answer


def accepting(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"Successful": [{"Id": it["Id"]} for it in entries]}


def unreachable(_: list[dict[str, Any]]) -> dict[str, Any]:
    raise EndpointConnectionError(endpoint_url="https://sqs.example")


def too_slow(_: list[dict[str, Any]]) -> dict[str, Any]:
    raise ReadTimeoutError(endpoint_url="https://sqs.example")


def throttled(_: list[dict[str, Any]]) -> dict[str, Any]:
    error = {"Code": "RequestThrottled", "Message": "slow down"}
    raise ClientError({"Error": error}, "SendMessageBatch")


def broken(_: list[dict[str, Any]]) -> dict[str, Any]:
    raise RuntimeError("something nobody thought of")


def refusing_each(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"Failed": [_failed(it, sender_fault=False) for it in entries]}


def refusing_first_for_good(entries: list[dict[str, Any]]) -> dict[str, Any]:
    first, *others = entries
    return accepting(others) | {"Failed": [_failed(first, sender_fault=True)]}


def refusing_first_two(entries: list[dict[str, Any]]) -> dict[str, Any]:
    first, second, *others = entries
    failed = [_failed(it, sender_fault=False) for it in (first, second)]
    return accepting(others) | {"Failed": failed}


def _failed(entry: dict[str, Any], *, sender_fault: bool) -> dict[str, Any]:
    return {"Id": entry["Id"], "SenderFault": sender_fault, "Code": "InternalError"}
