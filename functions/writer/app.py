"""The Lambda handler of the writer function: a batch in, its failures out; or the janitor."""

import gc

# Nothing that the imports make is garbage: looking for some is a good part of a cold start.
gc.disable()

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg
from aws_lambda_powertools.utilities.batch import process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from shortterm import clock, telemetry
from shortterm import settings as environment
from shortterm.database import Database, Unavailable, describe
from shortterm.telemetry import Metric, logger
from shortterm.wire import Mismatch
from shortterm.work import Work, decode
from writer import janitor, store
from writer.batch import Failures, WholeBatch
from writer.settings import Settings

settings = environment.load(Settings)
database = Database(settings, application_name="shortterm-writer")
processor = WholeBatch()

# What stands now stays for as long as the container does: no later collection looks at it.
gc.freeze()
gc.enable()


class UnknownEvent(ValueError):
    """An event that this function is not for; says nothing of what is in it."""


class Unexpected(Exception):
    """A fault of our own; says nothing of it, since the runtime logs the words of what is raised.

    An SQS event comes back as a whole.
    """


def handler(
    event: dict[str, Any], context: LambdaContext
) -> PartialItemFailureResponse | dict[str, Any]:
    """Apply an SQS event; answer with the messages that must come back (`batchItemFailures`).

    The scheduled event `{"action": "tidy"}` runs the janitor instead; answers what it deleted.
    Raises UnknownEvent for an event that is neither, Unavailable when the janitor finds no
    database, and Unexpected for anything else.
    """
    try:
        match event:
            case {"Records": [*_]}:
                return process_partial_response(event, apply, processor, context)
            case {"action": "tidy"}:
                return tidy(context)._asdict()
            case _:
                raise UnknownEvent('expected an SQS event or {"action": "tidy"}')
    except (UnknownEvent, Unavailable):
        raise
    except Exception as error:
        logger.error("An event could not be handled", extra=telemetry.describe(error))
        raise Unexpected("see the log") from None
    finally:
        telemetry.flush()


def tidy(context: LambdaContext) -> janitor.Tidied:
    """Run the janitor for as long as `context` allows.

    Raises Unavailable, in words that quote nothing: Lambda logs them, and its alarm rings.
    """
    try:
        return janitor.tidy(database, settings, clock.now(), context.get_remaining_time_in_millis)
    except (Unavailable, psycopg.Error) as error:
        logger.error("The janitor stopped", extra=describe(error))
        raise Unavailable("the janitor could not finish: see the log") from None


def apply(bodies: Mapping[str, str]) -> Failures:
    """Apply the work in `bodies`, by message id; return why some must come back.

    What cannot be read fails alone, and so does what Postgres refuses for its data. When Postgres
    is away, all come back and nothing is lost.
    """
    failures: dict[str, str] = {}
    works: dict[str, Work] = {}
    for message_id, body in bodies.items():
        try:
            works[message_id] = decode(body)
        except Mismatch as error:
            failures[message_id] = "not work that this version knows"
            # The field is ours to name; the rest of the body is not.
            _refuse(message_id, {"field": error.field})
    try:
        refused = _apply(works) if works else ()
        failures |= dict.fromkeys(refused, "refused by the database for its data")
    except (Unavailable, psycopg.Error) as error:
        telemetry.count(Metric.BATCHES_RETURNED)
        logger.error("A batch goes back to the queue", extra=describe(error))
        failures |= dict.fromkeys(works, "the database is away")
    return failures


def _apply(works: Mapping[str, Work]) -> Iterable[str]:
    """Apply `works` at once, or one by one if that fails on data; return what was refused."""
    batch = list(works.values())
    failed: dict[int, Exception] = {}
    try:
        applied = database.run(lambda connection: store.apply(connection, batch))
    except store.DATA_ERRORS as error:
        telemetry.count(Metric.BATCH_FALLBACKS)
        logger.warning("A batch failed on data: one by one now", extra=describe(error))
        applied, failed = database.run(lambda connection: store.apply_each(connection, batch))
    telemetry.count(Metric.TURNS_APPLIED, applied.turns)
    telemetry.count(Metric.TURNS_REPEATED, applied.repeated)
    telemetry.count(Metric.NOTES_APPLIED, applied.notes)
    telemetry.count(Metric.WORK_FORGOTTEN, applied.forgotten)
    message_ids = list(works)
    refused = {message_ids[position]: failure for position, failure in failed.items()}
    for message_id, failure in refused.items():
        _refuse(message_id, describe(failure))
    return refused


def _refuse(message_id: str, why: Mapping[str, Any]) -> None:
    telemetry.count(Metric.WORK_REFUSED)
    logger.error("Work was refused", extra={"message_id": message_id, **why})
