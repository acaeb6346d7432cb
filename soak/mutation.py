"""The functions with one guarantee taken out, to see that the harness notices."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from local.functions import CODE


class Replacement(NamedTuple):
    """A text of a file, and what stands there instead."""

    file: str
    text: str
    by: str


MUTATIONS: Mapping[str, Replacement] = {
    # Every turn counts as new, however often it comes.
    "ledger": Replacement(
        "functions/writer/store.py",
        "ON CONFLICT (turn_id) DO NOTHING",
        "ON CONFLICT (turn_id) DO UPDATE SET turn_id = excluded.turn_id",
    ),
    # What failed is deleted from the queue like what succeeded.
    "failures": Replacement(
        "functions/writer/app.py",
        "return process_partial_response(event, apply, processor, context)",
        "process_partial_response(event, apply, processor, context)\n"
        '                return {"batchItemFailures": []}',
    ),
    # One by one, but a bad message takes the transaction along.
    "savepoints": Replacement(
        "functions/writer/store.py",
        "                with connection.transaction():\n"
        "                    applied = applied.plus(_apply(connection, [work]))",
        "                applied = applied.plus(_apply(connection, [work]))",
    ),
    # A queue that hangs is tried with every turn.
    "breaker": Replacement(
        "functions/capture/outbox.py",
        "queued = not self._breaker.is_open and self._send_waiting(posted)",
        "queued = self._send_waiting(posted)",
    ),
    # A read waits for Postgres as long as it takes.
    "patience": Replacement("functions/capture/durable.py", "READ_S = 0.33", "READ_S = 3.0"),
}


def mutated(name: str, directory: Path) -> Path:
    """Return a copy of the code in `directory`, with the mutation of that name.

    Raises LookupError when the text to replace is not there exactly once.
    """
    for part in ("functions", "layers"):
        shutil.copytree(CODE / part, directory / part, ignore=shutil.ignore_patterns("__pycache__"))
    change = MUTATIONS[name]
    file = directory / change.file
    text = file.read_text()
    if text.count(change.text) != 1:
        raise LookupError(f"{change.file} does not hold the text of the mutation {name!r} once")
    file.write_text(text.replace(change.text, change.by))
    return directory
