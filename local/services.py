"""What the functions need around them: Postgres, migrated, and SQS, both started at once."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from local.container import Container
from local.errors import CannotRun
from local.functions import CODE, FUNCTIONS, Endpoints, settings_of
from local.lifeline import Lifeline
from local.outcome import Failure
from local.postgres import Postgres
from local.sqs import Sqs
from local.state import State

Report = Callable[[str, float], None]


def silent(_step: str, _seconds: float) -> None:
    """The report of a stack that nobody watches."""


class Services:
    """Postgres and SQS for as long as the `with` lasts, and containers that use them."""

    def __init__(
        self,
        state: State,
        *,
        code: Path = CODE,
        visibility_timeout: int = 30,
        max_receive_count: int = 5,
        settings: Mapping[str, str] | None = None,
        report: Report = silent,
    ) -> None:
        """`settings` goes over every function's own; `code` holds `functions/` and `layers/`."""
        self._state = state
        self._code = code
        self._settings = dict(settings or {})
        self._report = report
        self._queue_options = {
            "visibility_timeout": visibility_timeout,
            "max_receive_count": max_receive_count,
        }

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self.lifeline = Lifeline(self._state.postgres)
            undo.callback(self.lifeline.close)
            self.postgres = Postgres(self._state.postgres)
            undo.callback(self.postgres.stop)
            self.sqs = Sqs(self.lifeline, self._state.log_of("sqs"), **self._queue_options)
            undo.callback(self.sqs.stop)
            with ThreadPoolExecutor(1) as aside:
                queues = aside.submit(self.step, "SQS", self.sqs.start)
                self.step("Postgres", self.postgres.start)
                self.step("migrations", self._migrate)
                queues.result()
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def endpoints(self) -> Endpoints:
        return Endpoints(
            database_url=self.postgres.database_url,
            queue_url=self.sqs.queue_url,
            dlq_url=self.sqs.dlq_url,
            sqs_endpoint=self.sqs.endpoint,
        )

    def container(self, name: str, log: Path | None) -> Container:
        """A new container of a function; without a log it writes to our stderr."""
        function = FUNCTIONS[name]
        return Container(
            function,
            {**settings_of(function, self.endpoints), **self._settings},
            code=self._code,
            lifeline=self.lifeline,
            log=log,
        )

    def step(self, name: str, act: Callable[[], object]) -> None:
        """Do one thing and report how long it took."""
        began = time.monotonic()
        act()
        self._report(name, time.monotonic() - began)

    def _migrate(self) -> None:
        log = self._state.log_of("schema")
        schema = self.container("schema", log)
        outcome = schema.invoke(b'{"action":"migrate"}')
        schema.kill()
        if isinstance(outcome, Failure):
            raise CannotRun(f"the migrations failed: {outcome} (log: {log})")
