"""A real Postgres for the tests, with a migrated database of its own for each."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from given import failures, sqs
from psycopg.conninfo import make_conninfo

from local.postgres import Postgres
from schema.migrate import migrate, read


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Postgres]:
    """One server for the session; it need not survive a crash, so it does not wait for the disk."""
    postgres = Postgres(Path(tmp_path_factory.mktemp("postgres")) / "data")
    postgres.start()
    with psycopg.connect(postgres.database_url, autocommit=True) as connection:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
        migrate(connection, read())
    yield postgres
    postgres.stop()


@pytest.fixture
def empty_database(server) -> Iterator[str]:
    """The URL of an empty database, as its superuser."""
    yield from _database(server, template="template0")


@pytest.fixture
def database_url(server) -> Iterator[str]:
    """The URL of a migrated database, as its superuser."""
    yield from _database(server, template="shortterm")


def _database(server: Postgres, template: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    admin = make_conninfo(server.database_url, dbname="postgres")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield make_conninfo(server.database_url, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def writer_url(database_url) -> str:
    """The database as the writer function logs in to it."""
    return make_conninfo(database_url, user="stm_writer")


@pytest.fixture
def rows(database_url):
    """Return the rows as {(scope, owner, channel, persona): columns}."""

    def read_rows() -> dict[tuple[str, str, str, str | None], dict[str, object]]:
        with psycopg.connect(database_url, row_factory=psycopg.rows.dict_row) as connection:
            found = connection.execute("SELECT * FROM short_term_memories").fetchall()
        return {
            (it["scope"], it["owner_id"], it["channel_id"], it["persona_id"]): it for it in found
        }

    return read_rows


@pytest.fixture
def sql(database_url):
    """Run a statement as the superuser and return its rows."""

    def run(statement: str, *parameters: object) -> list[tuple[object, ...]]:
        with psycopg.connect(database_url, autocommit=True) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture
def writer(app_of, writer_url):
    """The writer function, on the database of the test."""
    return app_of("writer", DATABASE_URL=writer_url)


@pytest.fixture
def write(writer):
    """Deliver messages in one batch; return the ids that come back."""
    return lambda *bodies: failures(writer.handler(sqs(*bodies), None))
