"""The Lambda handler of the schema function: brings the database to this release's schema."""

import time
from typing import Any

import psycopg
from aws_lambda_powertools.utilities.typing import LambdaContext
from psycopg import Connection

from schema.migrate import Edited, migrate, read
from schema.settings import Settings
from shortterm import settings as environment
from shortterm.database import Unavailable, connect, describe
from shortterm.telemetry import logger

# A migration may rewrite a table; the function's own time-out is longer.
STATEMENT_TIMEOUT_MS = 240_000

# How long a first deployment may have to wait for what it has just been granted to hold.
CONNECT_FOR_S = 60
CONNECT_EVERY_S = 2

settings = environment.load(Settings)


class Failed(Exception):
    """The schema is not what this release needs; says why in words for the deployment."""


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Apply the pending migrations and answer with `{"schema": number, "applied": [names]}`.

    Raises Failed: a deployment whose schema failed must fail.
    """
    migrations = read()
    try:
        with _connected() as connection:
            applied = migrate(connection, migrations)
    except (Edited, Unavailable) as error:
        raise Failed(str(error)) from None
    except psycopg.Error as error:
        described = describe(error)
        logger.error("The schema could not be brought up to date", extra=described)
        # Not Postgres' own words: they quote rows, and the runtime logs whatever is raised.
        raise Failed(f"{described['error']} (SQLSTATE {described['sqlstate']})") from None
    names = [f"{migration.number:04}_{migration.name}" for migration in applied]
    logger.info("The schema is up to date", extra={"schema": len(migrations), "applied": names})
    return {"schema": len(migrations), "applied": names}


def _connected() -> Connection[Any]:
    """Return a connection, tried for a while. Raises Unavailable."""
    deadline = time.monotonic() + CONNECT_FOR_S
    while True:
        try:
            return connect(settings, "shortterm-schema", STATEMENT_TIMEOUT_MS)
        except Unavailable as error:
            logger.warning("The database is not to be had yet", extra=describe(error))
            if time.monotonic() + CONNECT_EVERY_S > deadline:
                raise
            time.sleep(CONNECT_EVERY_S)
