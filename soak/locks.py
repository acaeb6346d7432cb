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
_WAITING = """
SELECT FROM pg_stat_activity
WHERE application_name = 'shortterm-writer' AND pg_blocking_pids(pid) @> ARRAY[%s::integer]
"""
_HALTED = """
SELECT FROM pg_stat_activity
WHERE application_name = 'shortterm-writer' AND state = 'idle in transaction'
    AND state_change < clock_timestamp() - interval '0.3 s'
"""
_CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'shortterm-%'
"""


class DidNotHappen(Exception):
    """The fault could not be brought about; says why."""


def await_that(condition: Callable[[], bool], what: str, seconds: float = _PATIENCE_S) -> None:
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
            self._lock(connection, "server")
            self._await_waiting(connection)
            yield

    def deadlock(self) -> str:
        """Wait for a row that a writer holds which waits for ours; tells who had to give way."""
        with self._transaction() as connection:
            self._lock(connection, "user")
            self._await_waiting(connection)
            try:
                self._lock(connection, "server")
            except errors.DeadlockDetected:
                return "the saboteur gave way"
        return "a writer gave way"

    def cut_connections(self) -> int:
        """Cut all connections of the functions; returns how many there were."""
        with self._observer() as observer:
            return observer.execute(_CUT).rowcount

    def writer_is_halted(self, within_s: float) -> bool:
        """Whether a writer's session turns out to stand still in an open transaction."""
        with self._observer() as observer:
            try:
                await_that(lambda: observer.execute(_HALTED).rowcount > 0, "halt", within_s)
            except DidNotHappen:
                return False
            return True

    def _lock(self, connection: Connection[Any], kind: str) -> None:
        connection.execute(_LOCK, (kind, self._channel_id))

    def _await_waiting(self, connection: Connection[Any]) -> None:
        mine = connection.info.backend_pid
        with self._observer() as observer:
            await_that(
                lambda: observer.execute(_WAITING, (mine,)).rowcount > 0,
                "no writer came to wait for the busiest channel",
            )

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
