"""The end of a run: living containers send what waits, the writers work the queue off."""

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from local.container import Container
from local.gateway import Request, proxy_event
from local.outcome import Success
from local.sqs import depth
from local.stack import Stack
from soak.answers import Answers
from soak.stream import World

T = TypeVar("T")

_PATIENCE_S = 90
_PAUSE_S = 0.2
# A queue where nothing changes for so long, which is longer than a writer's start or a statement of
# Postgres may take, holds what nobody will take.
_STILL_S = 40


def send_what_waits(stack: Stack, world: World, first: int, answers: Answers) -> int:
    """Post further turns, from number `first` on, to each living container until nothing waits.

    Past the pool: its next request would go to the most recently used container only, and nothing
    else is under way now. Returns the number after the last turn.
    """
    number = first
    ends = time.monotonic() + _PATIENCE_S
    for container in stack.pools["capture"].containers:
        while _waiting(container) and time.monotonic() < ends:
            turn = world.turn(number)
            number += 1
            status, answer = _request(container, "POST", "/v1/turns", turn.body)
            answers.add(turn.turn_id, status, answer, None)
            time.sleep(_PAUSE_S)
    return number


class Queues:
    """The work queue and its dead-letter queue, at the end of a run."""

    def __init__(self, stack: Stack) -> None:
        self._sqs = stack.sqs_client
        self._queue_url = stack.queue_url
        self._dlq_url = stack.dlq_url

    def fall_to(self, most: int) -> None:
        """Wait until no more than `most` messages are in the work queue."""
        _wait_while(self.left, lambda queued: queued > most)

    def drain(self, poison: int) -> None:
        """Wait until only so many poison messages are left; send them to the dead-letter queue.

        Gives up when nothing changes any more: the audit will say what was left.
        """
        if _wait_while(self._left_and_dead, lambda them: them[0] > 0 and sum(them) > poison):
            self._hasten()
            _wait_while(self._left_and_dead, lambda them: them[0] > 0)

    def _hasten(self) -> None:
        """What nobody could apply until now needs no further receives, each after its time-out."""
        attributes = self._sqs.get_queue_attributes(
            QueueUrl=self._queue_url, AttributeNames=["RedrivePolicy"]
        )["Attributes"]
        redrive = json.loads(attributes["RedrivePolicy"]) | {"maxReceiveCount": 1}
        self._sqs.set_queue_attributes(
            QueueUrl=self._queue_url,
            Attributes={"VisibilityTimeout": "0", "RedrivePolicy": json.dumps(redrive)},
        )

    def left(self) -> int:
        """How many messages are in the work queue."""
        return depth(self._sqs, self._queue_url)

    def dead(self) -> set[str]:
        """Take all messages out of the dead-letter queue and return their bodies."""
        bodies: set[str] = set()
        while messages := self._sqs.receive_message(
            QueueUrl=self._dlq_url, MaxNumberOfMessages=10, VisibilityTimeout=3600
        ).get("Messages"):
            bodies |= {it["Body"] for it in messages}
        return bodies

    def _left_and_dead(self) -> tuple[int, int]:
        return self.left(), depth(self._sqs, self._dlq_url)


def _wait_while(look: Callable[[], T], lasts: Callable[[T], bool]) -> bool:
    """Wait while what there is to see `lasts`; False when nothing changes there any more."""
    seen, changed = None, time.monotonic()
    while lasts(now := look()):
        if now != seen:
            seen, changed = now, time.monotonic()
        elif time.monotonic() - changed > _STILL_S:
            return False
        time.sleep(_PAUSE_S)
    return True


def _waiting(container: Container) -> int:
    """How much work waits in a container; 0 when it does not answer any more."""
    _, health = _request(container, "GET", "/v1/health")
    return int(health.get("outbox", 0))


def _request(
    container: Container, method: str, target: str, body: bytes = b""
) -> tuple[int, dict[str, Any]]:
    event = proxy_event(Request(method, target, [], body, "127.0.0.1"), "soak")
    outcome = container.invoke(json.dumps(event).encode())
    if not isinstance(outcome, Success):
        return 599, {}
    response = json.loads(outcome.payload)
    return response["statusCode"], json.loads(response["body"])
