"""The container's one connection to Postgres: opened at first need, replaced once when stale."""

from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, errors

T = TypeVar("T")

CONNECT_TIMEOUT_S = 3
# A statement that waits longer than this is worth more as a retry than as a hanging invocation.
STATEMENT_TIMEOUT_MS = 10_000
# A frozen container may stop in the middle of a transaction: its locks must not outlive this.
IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000
# How long the server may stay silent: a path that a firewall forgot ends after seconds, not after
# the kernel's hours.
TCP_USER_TIMEOUT_MS = 5_000
KEEPALIVE_S = 5
# How often a transaction is tried that lost to another one.
CONFLICT_TRIES = 4

# The server is gone, overloaded, or (after a failover) no longer the one that takes writes.
_AWAY = (psycopg.OperationalError, psycopg.InterfaceError, errors.ReadOnlySqlTransaction)


class Unavailable(Exception):
    """Postgres cannot be reached, or went away twice: nothing was applied, try again later."""


class Database:
    """Runs transactions on a connection that outlives the invocation.

    `url` is a libpq connection URI. The connection is in autocommit mode: whatever runs in it opens
    its own transaction, and none is left open.
    """

    def __init__(self, url: str, *, application_name: str) -> None:
        self._url = url
        self._application_name = application_name
        self._connection: Connection[Any] | None = None

    def run(self, act: Callable[[Connection[Any]], T]) -> T:
        """Return `act(connection)`, where `act` is one transaction.

        A connection that was left over from before and turns out dead is replaced once. A
        transaction that lost to another (deadlock, serialization) is tried again. Raises
        Unavailable when the database is not to be had; other errors of `act` pass.
        """
        reused = self._connection is not None
        for _ in range(CONFLICT_TRIES):
            connection = self._connection or self._connect()
            try:
                return act(connection)
            except (errors.DeadlockDetected, errors.SerializationFailure):
                continue
            except errors.QueryCanceled as error:
                raise Unavailable("the statement took too long") from error
            except _AWAY as error:
                self.close()
                if not reused:
                    raise Unavailable("the connection broke") from error
                reused = False
        raise Unavailable("the transaction kept losing to others")

    def close(self) -> None:
        """Close the connection, if there is one; the next `run` opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> Connection[Any]:
        try:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                application_name=self._application_name,
                connect_timeout=CONNECT_TIMEOUT_S,
                tcp_user_timeout=TCP_USER_TIMEOUT_MS,
                keepalives_idle=KEEPALIVE_S,
                keepalives_interval=1,
                options=f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
                f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS}",
            )
        except psycopg.OperationalError as error:
            raise Unavailable("no connection") from error
        return self._connection
