"""The container's one connection to Postgres: opened at first need, replaced once when stale."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, errors

from shortterm import telemetry
from shortterm.iam import login_token
from shortterm.settings import DatabaseSettings

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
_AWAY = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
)


class Unavailable(Exception):
    """Postgres cannot be reached, or went away twice: nothing was applied, try again later.

    Says why in words that quote no row: libpq's own only where there was no connection yet.
    """


def describe(error: BaseException) -> dict[str, Any]:
    """Return what a log line may say of an error: Postgres quotes values in its message."""
    described = telemetry.describe(error)
    if isinstance(error, Unavailable):
        described["reason"] = str(error)
    if isinstance(error, psycopg.Error):
        described["sqlstate"] = error.sqlstate
        described["constraint"] = error.diag.constraint_name
    return described


def connect(
    settings: DatabaseSettings,
    application_name: str,
    statement_timeout_ms: int = STATEMENT_TIMEOUT_MS,
    options: str = "",
) -> Connection[Any]:
    """Return a connection in autocommit mode, all of whose waiting is bounded.

    `options` are further settings of the session, as libpq takes them (`-c name=value`).
    Raises Unavailable when there is none to be had.
    """
    url = settings.database_url
    try:
        return psycopg.connect(
            url,
            password=login_token(url) if settings.database_iam_auth else None,
            autocommit=True,
            application_name=application_name,
            connect_timeout=CONNECT_TIMEOUT_S,
            tcp_user_timeout=TCP_USER_TIMEOUT_MS,
            keepalives_idle=KEEPALIVE_S,
            keepalives_interval=1,
            options=f"-c statement_timeout={statement_timeout_ms}"
            f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS}"
            f" {options}",
        )
    except psycopg.OperationalError as error:
        raise Unavailable(f"no connection: {error}") from None


class Database:
    """Runs transactions on a connection that outlives the invocation.

    The connection is in autocommit mode: whatever runs in it opens its own transaction, and none is
    left open.
    """

    def __init__(
        self,
        settings: DatabaseSettings,
        *,
        application_name: str,
        statement_timeout_ms: int = STATEMENT_TIMEOUT_MS,
        options: str = "",
    ) -> None:
        self._connect = partial(connect, settings, application_name, statement_timeout_ms, options)
        self._connection: Connection[Any] | None = None

    def run(self, act: Callable[[Connection[Any]], T]) -> T:
        """Return `act(connection)`, where `act` is one transaction.

        A connection that was left over from before and turns out dead is replaced once. A
        transaction that lost to another (deadlock, serialization) is tried again. Raises
        Unavailable when the database is not to be had; other errors of `act` pass.
        """
        reused = self._connection is not None
        for _ in range(CONFLICT_TRIES):
            if self._connection is None:
                self._connection = self._connect()
            connection = self._connection
            try:
                return act(connection)
            except (errors.DeadlockDetected, errors.SerializationFailure):
                continue
            except errors.QueryCanceled:
                raise Unavailable("the statement took too long") from None
            except _AWAY:
                self.close()
                if not reused:
                    raise Unavailable("the connection broke") from None
                reused = False
        raise Unavailable("the transaction kept losing to others")

    def close(self) -> None:
        """Close the connection, if there is one; the next `run` opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
