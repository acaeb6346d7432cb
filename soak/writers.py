"""Pollers and writers that SQS and Lambda treat badly: copies, lost deletes, a late time-out."""

import json
from random import Random
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, cast

from local.errors import BadAnswer
from local.event_source import failed_ids
from local.functions import FUNCTIONS
from local.outcome import Outcome, Success, timed_out
from local.poller import Poller
from local.pool import Pool

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_COPIED = 0.04
_DELETE_LOST = 0.04
# Short: asking the queue over and over for a fuller batch takes this process more time than work.
_WINDOW_S = 0.03


class Writers:
    """A poller for each writer, until drained. `copies` counts what was sent again on purpose."""

    def __init__(
        self, pool: Pool, sqs: "SQSClient", queue_url: str, *, seed: int, pollers: int
    ) -> None:
        self.copies = 0
        self.timed_out = Event()
        self._pool = pool
        self._sqs = sqs
        self._queue_url = queue_url
        self._rng = Random(f"{seed}:writers")
        self._lock = Lock()
        self._timing_out = False
        self._copied = _COPIED
        self._forgetful = _Forgetful(sqs, self._rng)
        client = cast("SQSClient", self._forgetful)
        self._pollers = [
            Poller(client, queue_url, self._invoke, window_seconds=_WINDOW_S)
            for _ in range(pollers)
        ]

    @property
    def deletes_lost(self) -> int:
        """How many messages came again since their delete got lost."""
        return self._forgetful.lost

    def start(self) -> None:
        for poller in self._pollers:
            poller.start()

    def stop(self) -> None:
        """Returns when the batches at hand are done."""
        for poller in self._pollers:
            poller.drain()
        for poller in self._pollers:
            poller.stop()

    def behave(self) -> None:
        """No more redelivery on purpose: the queue is to run empty."""
        self._forgetful.rate = 0
        self._copied = 0.0

    def time_out_next(self) -> None:
        """The next batch that commits is not answered: `timed_out` is set when that happened."""
        self.timed_out.clear()
        self._timing_out = True

    def _invoke(self, event: bytes) -> Outcome:
        with self._pool.lease() as container:
            outcome = container.invoke(event)
            records = json.loads(event)["Records"]
            applied = _applied(records, outcome)
            if applied and self._takes_the_time_out():
                container.kill()
                self.timed_out.set()
                return timed_out("soak", FUNCTIONS["writer"].timeout_seconds)
        for record in applied:
            if self._rng.random() < self._copied:
                self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=record["body"])
                self.copies += 1
        return outcome

    def _takes_the_time_out(self) -> bool:
        with self._lock:
            mine, self._timing_out = self._timing_out, False
            return mine


def _applied(records: list[dict[str, Any]], outcome: Outcome) -> list[dict[str, Any]]:
    """Return the records that the writer says it has applied."""
    if not isinstance(outcome, Success):
        return []
    try:
        failed = failed_ids(outcome.payload, frozenset(it["messageId"] for it in records))
    except BadAnswer:
        return []
    return [it for it in records if it["messageId"] not in failed]


class _Forgetful:
    """The queue as the poller sees it, where some deletes get lost: those messages come again."""

    def __init__(self, sqs: "SQSClient", rng: Random) -> None:
        self.rate = _DELETE_LOST
        self.lost = 0
        self._rng = rng
        self.get_queue_attributes = sqs.get_queue_attributes
        self.receive_message = sqs.receive_message
        self._delete = sqs.delete_message_batch

    def delete_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:  # noqa: N803
        kept = [entry for entry in Entries if self._rng.random() >= self.rate]
        self.lost += len(Entries) - len(kept)
        return self._delete(QueueUrl=QueueUrl, Entries=kept) if kept else {}
