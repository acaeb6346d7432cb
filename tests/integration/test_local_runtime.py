"""Containers and pools of the local stack, under Lambda's real runtime client."""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from local.container import Container
from local.functions import Function
from local.lifeline import Lifeline
from local.outcome import Failure, Outcome, Success
from local.pool import Pool

HANDLER = """
import json, os, sys

def handler(event, context):
    match event:
        case {"raise": words}: raise ValueError(words)
        case {"exit": code}: os._exit(code)
        case {"hang": True}: os.read(os.pipe()[0], 1)
        case {"wait": fifo}: open(fifo).read()
        case {"size": size}: return "x" * size
        case {"print": words}: print(words)
    return {
        "pid": os.getpid(), "event": event, "environment": dict(os.environ), "path": sys.path,
        "left": context.get_remaining_time_in_millis(), "arn": context.invoked_function_arn,
    }
"""

Start = Callable[..., Container]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a container of a function with the given code."""
    package = tmp_path / "functions" / "sample"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    lifeline = Lifeline()
    started: list[Container] = []

    def start(code: str = HANDLER, timeout: float = 10) -> Container:
        (package / "app.py").write_text(code)
        container = Container(
            Function("sample", timeout_seconds=timeout, memory_mb=128, database_role="none"),
            {"AWS_REGION": "us-east-1", "SETTING": "given"},
            code=tmp_path,
            lifeline=lifeline,
            log=tmp_path / "sample.log",
        )
        started.append(container)
        return container

    yield start
    for container in started:
        container.kill()
    lifeline.close()


def invoke(container: Container | Pool, **event: object) -> Outcome:
    return container.invoke(json.dumps(event).encode())


def answer(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Success), outcome
    content: dict[str, Any] = json.loads(outcome.payload)
    return content


def failure(outcome: Outcome) -> Failure:
    assert isinstance(outcome, Failure), outcome
    return outcome


def test_one_process_answers_event_after_event(start: Start) -> None:
    container = start()

    answers = [answer(invoke(container, text=text)) for text in ("first", "zwölf")]

    assert [it["event"] for it in answers] == [{"text": "first"}, {"text": "zwölf"}]
    assert {it["pid"] for it in answers} == {container.pid}


def test_a_warm_invocation_waits_for_no_delayed_acknowledgement(start: Start) -> None:
    container = start()
    invoke(container)

    def milliseconds() -> float:
        began = time.perf_counter()
        invoke(container)
        return (time.perf_counter() - began) * 1000

    assert statistics.median(milliseconds() for _ in range(50)) < 20


def test_a_function_sees_lambdas_environment_and_nothing_of_this_machines(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEAK", "leaked")

    seen = answer(invoke(start()))

    environment = seen["environment"]
    assert "LEAK" not in environment
    assert environment["SETTING"] == "given"
    assert environment["TZ"] == ":UTC"
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "shortterm-sample"
    assert environment["AWS_EXECUTION_ENV"].startswith("AWS_Lambda_python3.")
    assert seen["path"][:2] == [
        str(tmp_path / "functions"),
        str(tmp_path / "layers" / "shortterm"),
    ]
    assert str(Path.cwd()) not in seen["path"]
    assert seen["arn"] == "arn:aws:lambda:us-east-1:123456789012:function:shortterm-sample"
    assert 9_000 < seen["left"] <= 10_000


def test_what_a_function_prints_is_in_its_log(start: Start, tmp_path: Path) -> None:
    invoke(start(), print="a line of the function")

    assert "a line of the function\n" in (tmp_path / "sample.log").read_text()


def test_an_exception_is_a_function_error_and_the_container_lives_on(start: Start) -> None:
    container = start()

    error = failure(invoke(container, **{"raise": "no such moon"}))

    assert (error.status, error.type, error.message) == ("failed", "ValueError", "no such moon")
    assert json.loads(error.payload)["stackTrace"]
    assert answer(invoke(container))["pid"] == container.pid


def test_a_response_over_six_megabytes_is_a_function_error(start: Start) -> None:
    container = start()

    error = failure(invoke(container, size=7_000_000))

    assert error.type == "Function.ResponseSizeTooLarge"
    assert isinstance(invoke(container, size=5_000_000), Success)


def test_a_function_that_takes_too_long_is_killed(start: Start) -> None:
    container = start(timeout=0.2)

    error = failure(invoke(container, hang=True))

    assert (error.status, error.type) == ("timed-out", "Sandbox.Timedout")
    assert "Task timed out after 0.20 seconds" in error.message
    assert not container.alive


def test_a_process_that_ends_is_a_function_error(start: Start) -> None:
    error = failure(invoke(start(), exit=3))

    assert (error.status, error.type) == ("failed", "Runtime.ExitError")
    assert error.message == "Runtime exited with error: exit status 3"


def test_a_failed_import_is_told_in_the_functions_own_words(start: Start) -> None:
    error = failure(invoke(start("raise ValueError('TTL_HOURS: must be positive')")))

    assert (error.status, error.type) == ("init", "ValueError")
    assert error.message == "TTL_HOURS: must be positive"


def test_a_missing_handler_is_told(start: Start) -> None:
    error = failure(invoke(start("no_handler = True")))

    assert (error.status, error.type) == ("init", "Runtime.HandlerNotFound")


def test_an_exit_during_the_import_is_told_with_the_last_thing_it_said(start: Start) -> None:
    error = failure(invoke(start("import sys; sys.exit('QUEUE_URL: must be set')")))

    assert (error.status, error.type) == ("init", "Runtime.ExitError")
    assert error.message == "Runtime exited with error: exit status 1 (QUEUE_URL: must be set)"


def test_a_pool_replaces_a_container_that_was_killed(start: Start) -> None:
    pool = Pool(1, lambda _: start())
    first = answer(invoke(pool))["pid"]

    pool.containers[0].kill()

    assert answer(invoke(pool))["pid"] != first
    assert len(pool.containers) == 1


def test_a_pool_replaces_a_container_that_crashed(start: Start) -> None:
    pool = Pool(1, lambda _: start())

    assert failure(invoke(pool, exit=1)).type == "Runtime.ExitError"
    assert answer(invoke(pool, after=True))["event"] == {"after": True}


def test_a_pool_starts_another_container_only_when_all_are_busy(
    start: Start, tmp_path: Path
) -> None:
    pool = Pool(2, lambda _: start())
    fifo = tmp_path / "gate"
    os.mkfifo(fifo)
    one_by_one = {answer(invoke(pool))["pid"] for _ in range(3)}

    with ThreadPoolExecutor(1) as aside:
        busy = aside.submit(invoke, pool, wait=str(fifo))
        with fifo.open("w"):  # opens when the handler has opened it, which reads until we close
            other = answer(invoke(pool))["pid"]
        busy_pid = answer(busy.result())["pid"]

    assert one_by_one == {busy_pid}
    assert other != busy_pid
    # The one that was used last serves next.
    assert answer(invoke(pool))["pid"] == busy_pid


def test_when_all_containers_are_busy_a_request_waits_its_turn(
    start: Start, tmp_path: Path
) -> None:
    pool = Pool(1, lambda _: start())
    fifo = tmp_path / "gate"
    os.mkfifo(fifo)

    with ThreadPoolExecutor(2) as aside:
        busy = aside.submit(invoke, pool, wait=str(fifo))
        with fifo.open("w"):
            waiting = aside.submit(invoke, pool, text="next")
            assert not waiting.done()
        pids = {answer(each.result())["pid"] for each in (busy, waiting)}

    assert len(pids) == 1


def test_a_request_that_waits_for_a_container_that_dies_gets_a_new_one(
    start: Start, tmp_path: Path
) -> None:
    pool = Pool(1, lambda _: start())
    fifo = tmp_path / "gate"
    os.mkfifo(fifo)

    with ThreadPoolExecutor(2) as aside:
        busy = aside.submit(invoke, pool, wait=str(fifo))
        with fifo.open("w"):
            waiting = aside.submit(invoke, pool, text="next")
            pool.containers[0].kill()
            assert failure(busy.result()).type == "Runtime.ExitError"
            assert answer(waiting.result())["event"] == {"text": "next"}
