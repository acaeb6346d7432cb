"""Transactions of a saboteur: with rows locked, so that a writer waits in a transaction of its own.

A writer locks the rows of a batch in one order, a server's before a user's. Whoever makes it wait
for a row therefore knows that it is in a transaction, and which rows it holds.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from psycopg import Connection, errors

_PATIENCE_S = 30
_LOCK = """
SELECT FROM short_term_memories
WHERE scope = %s AND channel_id = %s
ORDER BY owner_id, coalesce(persona_id, '')
FOR UPDATE
"""
_LOCK_MORE = f"{_LOCK} SKIP LOCKED"
# How often rows that came meanwhile are locked, too.
_LOCK_AGAIN_S = 1.0
_WAITING = """
SELECT FROM pg_stat_activity
WHERE application_name = 'shortterm-writer' AND pg_blocking_pids(pid) @> ARRAY[%s::integer]
"""
_HALTED = """
SELECT FROM pg_stat_activity
WHERE application_name = 'shortterm-writer' AND state = 'idle in transaction'
    AND state_change < clock_timestamp() - make_interval(secs => %s)
"""
_CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'shortterm-%'
"""


class DidNotHappen(Exception):
    """The fault could not be brought about; says why."""


def await_that(condition: Callable[[], object], what: str, seconds: float = _PATIENCE_S) -> None:
    """Return when `condition` holds. Raises DidNotHappen after `seconds`."""
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            raise DidNotHappen(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.01)


def deadlocks(log: Path) -> int:
    """Return how many deadlocks Postgres has told of in its log."""
    with log.open(errors="replace") as lines:
        return sum("deadlock detected" in line for line in lines)


class Saboteur:
    """Logs in as the superuser."""

    def __init__(self, database_url: str, channel_id: str) -> None:
        """`channel_id` is the channel with the most turns."""
        self._database_url = database_url
        self._channel_id = channel_id

    @contextlib.contextmanager
    def writer_held(self) -> Iterator[None]:
        """Meanwhile a writer waits in its transaction. Raises DidNotHappen."""
        with self._transaction() as connection:
            self._make_a_writer_wait(connection, "server")
            yield

    def deadlock(self) -> bool:
        """Wait for a row that a writer holds which waits for ours; tells whether it gave way.

        Raises DidNotHappen.
        """
        with self._transaction() as connection:
            self._make_a_writer_wait(connection, "user")
            try:
                connection.execute(_LOCK, ("server", self._channel_id))
            except errors.DeadlockDetected:
                return False
        return True

    def cut_connections(self) -> int:
        """Cut all connections of the functions; returns how many there were."""
        with self._observer() as observer:
            return observer.execute(_CUT).rowcount

    def writer_stands_still(self, for_s: float, *, within_s: float = 0.0) -> bool:
        """Whether a writer's session has stood still in an open transaction for so long."""
        with self._observer() as observer:
            try:
                await_that(
                    lambda: observer.execute(_HALTED, (for_s,)).rowcount > 0, "halt", within_s
                )
            except DidNotHappen:
                return False
            return True

    def _make_a_writer_wait(self, connection: Connection[Any], kind: str) -> None:
        """Lock the busiest channel's rows, those that come meanwhile, too, until one waits."""
        row = (kind, self._channel_id)
        mine = connection.info.backend_pid
        again_at = 0.0

        def somebody_waits() -> bool:
            nonlocal again_at
            if time.monotonic() > again_at:
                connection.execute(_LOCK_MORE, row)
                again_at = time.monotonic() + _LOCK_AGAIN_S
            return observer.execute(_WAITING, (mine,)).rowcount > 0

        with self._observer() as observer:
            await_that(somebody_waits, "no writer came to wait for the busiest channel")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Connection[Any]]:
        """A transaction that is rolled back, if it still can be."""
        connection = psycopg.connect(self._database_url, application_name="soak")
        try:
            yield connection
        finally:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
            connection.close()

    @contextlib.contextmanager
    def _observer(self) -> Iterator[Connection[Any]]:
        with psycopg.connect(
            self._database_url, application_name="soak", autocommit=True
        ) as connection:
            yield connection
