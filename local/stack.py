"""The whole local stack as one context manager."""

import functools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

from local.errors import CannotRun
from local.front import Front
from local.functions import CODE
from local.outcome import Outcome
from local.poller import Poller
from local.pool import Pool
from local.services import Report, Services, silent
from local.sqs import sqs_client
from local.state import State

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class Stack:
    """Front -> capture -> SQS -> poller -> writer -> Postgres, ready inside the `with`.

    Parts can be stopped, killed and restarted one by one: `postgres`, `sqs`, `pollers`, and the
    `containers` of `pools["capture"]` and `pools["writer"]`.
    """

    def __init__(
        self,
        *,
        state: Path,
        port: int = 0,
        containers: int = 1,
        writers: int = 1,
        poller: bool = True,
        batch_size: int = 10,
        visibility_timeout: int = 30,
        max_receive_count: int = 5,
        settings: Mapping[str, str] | None = None,
        code: Path = CODE,
        report: Report = silent,
    ) -> None:
        """Port 0 takes a free one; each of the `writers` has a poller thread of its own."""
        self._state = State(state)
        self._port = port
        self._pollers_wanted = writers if poller else 0
        self._batch_size = batch_size
        self.services = Services(
            self._state,
            code=code,
            visibility_timeout=visibility_timeout,
            max_receive_count=max_receive_count,
            settings=settings,
            report=report,
        )
        self.pools = {
            "capture": self._pool("capture", containers),
            "writer": self._pool("writer", writers),
        }
        self.pollers: list[Poller] = []

    def __enter__(self) -> Self:
        """Raises CannotRun, having stopped what was started."""
        with ExitStack() as undo:
            undo.enter_context(self._state)
            self.front = Front(self._port, self._capture)
            undo.callback(self.front.stop)
            undo.callback(self._each_poller, Poller.stop)
            undo.enter_context(self.services)
            self.postgres, self.sqs = self.services.postgres, self.services.sqs
            self._read_endpoints()
            self.sqs_client: SQSClient = sqs_client(self.sqs_endpoint)
            undo.callback(self.sqs_client.close)
            undo.callback(self.pools["writer"].stop)
            # Work at hand is finished while the writer and Postgres still run.
            undo.callback(self._each_poller, Poller.drain)
            undo.callback(self.front.stop)
            undo.callback(self.pools["capture"].stop)
            self._warm()
            self.front.start()
            self._start_pollers()
            self._state.publish(self.api_url, self.services.endpoints)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def api_url(self) -> str:
        return self.front.url

    def _read_endpoints(self) -> None:
        endpoints = self.services.endpoints
        self.database_url = endpoints.database_url
        self.queue_url = endpoints.queue_url
        self.dlq_url = endpoints.dlq_url
        self.sqs_endpoint = endpoints.sqs_endpoint
        self.region = endpoints.region

    def _pool(self, name: str, size: int) -> Pool:
        return Pool(
            size,
            lambda slot: self.services.container(name, self._state.log_of(f"{name}-{slot}")),
        )

    def _capture(self, event: bytes) -> Outcome:
        return self.pools["capture"].invoke(event)

    def _warm(self) -> None:
        """Start one container of each function now, so that a bad setting shows now."""
        with ThreadPoolExecutor(len(self.pools)) as aside:
            starts = [aside.submit(self._warm_one, name) for name in self.pools]
        for start in starts:
            start.result()

    def _warm_one(self, name: str) -> None:
        self.services.step(name, functools.partial(self._expect_ready, name))

    def _expect_ready(self, name: str) -> None:
        failure = self.pools[name].warm()
        if failure:
            log = self._state.log_of(f"{name}-1")
            raise CannotRun(f"{name} does not start: {failure} (log: {log})")

    def _start_pollers(self) -> None:
        writer = self.pools["writer"]
        for _ in range(self._pollers_wanted):
            poller = Poller(
                self.sqs_client, self.queue_url, writer.invoke, batch_size=self._batch_size
            )
            self.pollers.append(poller)
            poller.start()

    def _each_poller(self, act: Callable[[Poller], None]) -> None:
        for poller in self.pollers:
            act(poller)
