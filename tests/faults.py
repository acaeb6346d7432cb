"""Fakes at the edges, to SQS and Postgres, that fail as the real thing does."""

from collections.abc import Callable, Iterable
from typing import Any

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from capture.durable import Page, Reading, Wanted
from capture.patience import Away
from capture.row import Row
from capture.statements import MOST_TOMBSTONES
from shortterm.scope import Scope
from shortterm.tombstone import Tombstone

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


def closed(_: list[dict[str, Any]]) -> dict[str, Any]:
    raise ConnectionClosedError(endpoint_url="https://sqs.example")


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


class FakeRows:
    """Answers reads with the rows and tombstones it is given; `away` as the database can be."""

    def __init__(self, *rows: Row, **reading: Any) -> None:
        self.rows = rows
        self.reading = reading
        self.tombstones: tuple[Tombstone, ...] = ()
        self.away = False
        self.wanted: list[Wanted] = []

    def read(self, wanted: Wanted, *, obeyed: int) -> Reading:
        self._check()
        self.wanted.append(wanted)
        told = {"private_channels": frozenset()} | self.reading
        return Reading(rows=self.rows, tombstones=self._unseen(obeyed), **told)

    def rows_of(self, scopes: Iterable[Scope], *, obeyed: int) -> Page:
        self._check()
        asked = set(scopes)
        return Page(tuple(row for row in self.rows if row.scope in asked), self._unseen(obeyed))

    def export(self, user_id: str, after: Scope | None, *, most: int, obeyed: int) -> Page:
        self._check()
        found = [it for it in self.rows if (it.kind, it.owner_id) == ("user", user_id)]
        if after is not None:
            found = found[[it.scope for it in found].index(after) + 1 :]
        return Page(tuple(found[:most]), self._unseen(obeyed))

    def forget(self, subject: Any, subject_id: str, *, now: int) -> Tombstone:
        self._check()
        return Tombstone(len(self.tombstones) + 1, subject, subject_id, now)

    def _unseen(self, obeyed: int) -> tuple[Tombstone, ...]:
        return tuple(it for it in self.tombstones if it.number > obeyed)[:MOST_TOMBSTONES]

    def _check(self) -> None:
        if self.away:
            raise Away
