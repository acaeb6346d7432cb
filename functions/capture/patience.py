"""How long anybody waits for Postgres: aside, with a rest after a failure, and rarely to connect.

psycopg is imported with the first need of it: capturing a turn never needs it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from capture.aside import Aside
from capture.breaker import Breaker
from shortterm import telemetry
from shortterm.settings import DatabaseSettings
from shortterm.telemetry import Metric, logger

if TYPE_CHECKING:
    from psycopg import Connection

    from shortterm.database import Database

T = TypeVar("T")

# What may be waited if there is a connection to be made: a token is made, TLS agreed on, for the
# first time the driver imported. A connection that was not used for a while may be gone. Rarely,
# since a database that hangs looks the same.
CONNECT_S = 1.5
CONNECT_EVERY_MS = 60_000
# How long the database is left alone after a failure.
REST_MS = 5_000


class Away(Exception):
    """The database is not to be had now: try again after a while."""


class BoundedDatabase:
    """The container's connection, which nobody waits for longer than told.

    After a failure the database is left alone for a while: what is asked of it then raises Away at
    once. `statement_timeout_ms` and `options` are the session's; `clock` returns ms.
    """

    def __init__(
        self,
        settings: DatabaseSettings,
        *,
        statement_timeout_ms: int,
        options: str,
        clock: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._statement_timeout_ms = statement_timeout_ms
        self._options = options
        self._clock = clock
        self._aside = Aside()
        self._breaker = Breaker(REST_MS, clock)
        self._opened: Database | None = None
        self._answered_at: int | None = None
        self._allowed_at: int | None = None

    def run(self, act: "Callable[[Connection[Any]], T]", within_s: float) -> T:
        """Return `act(connection)`, where `act` is one transaction.

        Raises Away after `within_s` seconds (CONNECT_S at least, where connecting is due), and for
        whatever breaks; `act` may have been done by then or not.
        """
        if self._breaker.is_open:
            telemetry.count(Metric.ROWS_UNAVAILABLE)
            raise Away
        within_s = max(within_s, self._allowance_s())
        try:
            return self._aside.run(lambda: self._watched(act, within_s), within_s)
        # A read is answered whatever breaks behind it.
        except Exception as error:
            telemetry.count(Metric.ROWS_UNAVAILABLE)
            described = _described(error)
            if isinstance(error, TimeoutError):
                self._failed()
                described["reason"] = "no answer in time"
            logger.warning("The database is not to be had", extra=described)
            raise Away from None

    def _allowance_s(self) -> float:
        """Return how many seconds connecting may take now: none if that is not due."""
        if self._is_recent(self._answered_at) or self._is_recent(self._allowed_at):
            return 0.0
        self._allowed_at = self._clock()
        return CONNECT_S

    def _is_recent(self, then: int | None) -> bool:
        # By the absolute distance: a clock that was set back makes nobody impatient for good.
        return then is not None and abs(self._clock() - then) < CONNECT_EVERY_MS

    def _failed(self) -> None:
        self._answered_at = None
        self._breaker.failed()

    def _watched(self, act: "Callable[[Connection[Any]], T]", within_s: float) -> T:
        """Run `act` aside; what comes of it counts also when nobody waits for it any more."""
        from shortterm.database import Unavailable

        began = self._clock()
        try:
            value = self._open().run(act)
        except Unavailable:
            self._failed()
            raise
        self._answered_at = self._clock()
        # A database that answers, but always too late, is left alone like one that does not.
        if self._clock() - began <= within_s * 1_000:
            self._breaker.succeeded()
        return value

    def _open(self) -> "Database":
        if self._opened is None:
            from shortterm.database import Database

            self._opened = Database(
                self._settings,
                application_name="shortterm-capture",
                statement_timeout_ms=self._statement_timeout_ms,
                options=self._options,
            )
        return self._opened


def _described(error: Exception) -> dict[str, Any]:
    try:
        from shortterm.database import describe
    except ImportError:
        return telemetry.describe(error)
    return describe(error)
