"""The Lambda handler of the schema function: brings the database to this release's schema."""

from typing import Any

import psycopg
from aws_lambda_powertools.utilities.typing import LambdaContext
from msgspec import Struct

from schema.migrate import migrate, read
from shortterm import settings as environment
from shortterm.telemetry import logger

CONNECT_TIMEOUT_S = 10


class Settings(Struct, frozen=True):
    """`database_url` is a libpq connection URI of a user that may create tables and roles."""

    database_url: str


settings = environment.load(Settings)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Apply the pending migrations and answer with `{"schema": number, "applied": [names]}`.

    Raises what Postgres raises: a deployment whose schema failed must fail.
    """
    migrations = read()
    with psycopg.connect(
        settings.database_url,
        autocommit=True,
        application_name="shortterm-schema",
        connect_timeout=CONNECT_TIMEOUT_S,
    ) as connection:
        applied = migrate(connection, migrations)
    names = [f"{migration.number:04}_{migration.name}" for migration in applied]
    logger.info("The schema is up to date", extra={"schema": len(migrations), "applied": names})
    return {"schema": len(migrations), "applied": names}
