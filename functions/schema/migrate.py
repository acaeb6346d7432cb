"""Applies numbered migrations: in order, each once, each in a transaction of its own."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.rows import class_row

MIGRATIONS = Path(__file__).parent / "migrations"

# The key of the advisory lock that keeps two deployments apart: "shortter" in ASCII.
_LOCK = 0x73686F7274746572

_FILE = re.compile(r"(?P<number>[0-9]{4})_(?P<name>[a-z0-9_]+)\.sql")


class Migration(NamedTuple):
    """One numbered file of SQL."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the file, in hex."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


class Edited(Exception):
    """A migration that has been applied was changed or renamed since: add a new one instead."""


class _Applied(NamedTuple):
    number: int
    name: str
    checksum: str


def read(directory: Path = MIGRATIONS) -> list[Migration]:
    """Return the migrations in `directory`, in order.

    Raises ValueError unless they are numbered 0001, 0002, … without a gap.
    """
    migrations = []
    for number, path in enumerate(sorted(directory.glob("*.sql")), 1):
        named = _FILE.fullmatch(path.name)
        if named is None or int(named["number"]) != number:
            raise ValueError(f"{path.name}: expected a name like {number:04}_what_it_does.sql")
        migrations.append(Migration(number, named["name"], path.read_text("utf-8")))
    return migrations


def migrate(connection: Connection[Any], migrations: Iterable[Migration]) -> list[Migration]:
    """Apply what has not been applied and return it; a second call applies nothing.

    `connection` must be in autocommit mode. An advisory lock lets one deployment at a time in.
    Raises Edited before anything is applied if the past does not match; if a file fails, those
    before it stay applied and it leaves nothing behind.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        try:
            return _migrate(connection, list(migrations))
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))


def _migrate(connection: Connection[Any], migrations: list[Migration]) -> list[Migration]:
    connection.execute(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            number     integer     PRIMARY KEY,
            name       text        NOT NULL,
            checksum   text        NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    with connection.cursor(row_factory=class_row(_Applied)) as cursor:
        applied = cursor.execute(
            "SELECT number, name, checksum FROM schema_migrations ORDER BY number"
        ).fetchall()
    _check(applied, migrations)
    pending = migrations[len(applied) :]
    for migration in pending:
        with connection.transaction():
            connection.execute(migration.sql.encode())
            connection.execute(
                """
                INSERT INTO schema_migrations (number, name, checksum)
                VALUES (%(number)s, %(name)s, %(checksum)s)
                """,
                {**migration._asdict(), "checksum": migration.checksum},
            )
    return pending


def _check(applied: list[_Applied], migrations: list[Migration]) -> None:
    # A database that is ahead belongs to a later release: rolling back to this one is no fault.
    for past, migration in zip(applied, migrations, strict=False):
        if past != (migration.number, migration.name, migration.checksum):
            raise Edited(f"migration {past.number:04}_{past.name} is not what was applied")
