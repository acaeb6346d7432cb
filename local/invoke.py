"""`python -m local invoke`: one event through a fresh container, like `sam local invoke`."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.container import Container
from local.errors import CannotRun
from local.functions import CODE, FUNCTIONS, settings_of
from local.lifeline import Lifeline
from local.outcome import Failure
from local.services import Services
from local.state import State, StateInUse


def invoke(*, name: str, event: Path, state: Path) -> int:
    """Print the response, and the function's log lines on stderr; returns the exit code.

    Uses the database and the queue of the stack that runs on `state`, else starts them for the
    call. Raises CannotRun.
    """
    content = _read_event(event)
    with _fresh_container(name, State(state)) as container:
        outcome = container.invoke(content)
    print(_shown(outcome.payload))
    return 1 if isinstance(outcome, Failure) else 0


@contextmanager
def _fresh_container(name: str, state: State) -> Iterator[Container]:
    try:
        with state, Services(state) as services:
            yield from _until_used(services.container(name, log=None))
            return
    except StateInUse:
        pass
    with Lifeline() as lifeline:
        settings = settings_of(FUNCTIONS[name], state.endpoints())
        yield from _until_used(Container(FUNCTIONS[name], settings, code=CODE, lifeline=lifeline))


def _until_used(container: Container) -> Iterator[Container]:
    try:
        yield container
    finally:
        container.kill()


def _read_event(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        json.loads(content)
    except OSError as error:
        raise CannotRun(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise CannotRun(f"{path} is not JSON: {error}") from error
    return content


def _shown(payload: bytes) -> str:
    if not sys.stdout.isatty():
        return payload.decode()
    return json.dumps(json.loads(payload), indent=2, ensure_ascii=False)
