"""The local stack as a whole, around stand-ins for the functions."""

import http.client
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from local.__main__ import main
from local.errors import CannotRun
from local.functions import CODE
from local.stack import Stack
from local.state import StateInUse

FUNCTIONS = {
    "capture": """
        import os
        import boto3
        sqs = boto3.client("sqs")
        def handler(event, context):
            url = os.environ["WORK_QUEUE_URL"]
            sqs.send_message(QueueUrl=url, MessageBody=event["body"], MessageGroupId="owner")
            return {"statusCode": 202, "body": os.environ["GIVEN"]}
    """,
    "writer": """
        import os
        import psycopg
        url = os.environ["DATABASE_URL"].replace("stm_writer@", "postgres@")
        def handler(event, context):
            with psycopg.connect(url) as connection:
                for record in event["Records"]:
                    connection.execute("INSERT INTO applied VALUES (%s)", (record["body"],))
    """,
    "schema": """
        import os
        import psycopg
        def handler(event, context):
            assert event == {"action": "migrate"}
            with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS applied (body text)")
    """,
}

RUN = """
import sys
from pathlib import Path
from local.stack import Stack

with Stack(state=Path(sys.argv[1]), code=Path(sys.argv[2]), settings={"GIVEN": "x"}) as stack:
    containers = [it for pool in stack.pools.values() for it in pool.containers]
    print(stack.sqs.pid, stack.postgres.pid, *(it.pid for it in containers), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("code")
    for name, text in FUNCTIONS.items():
        package = root / "functions" / name
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "app.py").write_text(textwrap.dedent(text))
    return root


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def stack(code: Path, state: Path) -> Iterator[Stack]:
    with Stack(state=state, code=code, visibility_timeout=1, settings={"GIVEN": "a word"}) as stack:
        yield stack


def post(stack: Stack, body: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(stack.api_url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", "/v1/turns", body)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def applied(stack: Stack, body: str) -> bool:
    with psycopg.connect(stack.database_url) as connection:
        rows = connection.execute("SELECT 1 FROM applied WHERE body = %s", (body,))
        return rows.fetchone() is not None


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_a_request_travels_through_the_queue_into_postgres(stack: Stack) -> None:
    assert post(stack, "a turn") == (202, "a word")

    assert eventually(lambda: applied(stack, "a turn"))


def test_a_stack_says_where_its_parts_are(stack: Stack, state: Path) -> None:
    said: dict[str, Any] = json.loads((state / "stack.json").read_text())

    assert said == {
        "api_url": stack.api_url,
        "database_url": stack.database_url,
        "queue_url": stack.queue_url,
        "dlq_url": stack.dlq_url,
        "sqs_endpoint": stack.sqs_endpoint,
        "region": stack.region,
        "pid": os.getpid(),
    }


def test_a_second_stack_on_the_same_state_is_refused(stack: Stack, state: Path, code: Path) -> None:
    with pytest.raises(StateInUse, match="already running"), Stack(state=state, code=code):
        pass

    assert (state / "stack.json").exists()


def test_rows_survive_a_crash_of_postgres(stack: Stack) -> None:
    post(stack, "before the crash")
    assert eventually(lambda: applied(stack, "before the crash"))

    stack.postgres.kill()
    stack.postgres.start()

    assert applied(stack, "before the crash")


def test_a_killed_stack_leaves_no_process_and_its_state_starts_again(
    code: Path, tmp_path: Path
) -> None:
    with subprocess.Popen(  # noqa: S603 (our own text)
        [sys.executable, "-c", RUN, str(tmp_path), str(code)],
        cwd=CODE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 4
        process.send_signal(signal.SIGKILL)

    # A start that comes at once finds what the dead stack has not yet cleared away.
    with Stack(state=tmp_path, code=code, settings={"GIVEN": "x"}) as again:
        assert post(again, "after the kill")[0] == 202
        assert all(eventually(lambda pid=pid: gone(pid)) for pid in pids)


def test_a_function_that_does_not_start_stops_the_stack_with_its_own_words(
    code: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "code"
    for name in FUNCTIONS:
        (broken / "functions" / name).mkdir(parents=True)
        (broken / "functions" / name / "app.py").write_text("raise ValueError('TTL: too small')")

    with (
        pytest.raises(CannotRun, match="the migrations failed: ValueError: TTL: too small"),
        Stack(state=tmp_path / "state", code=broken),
    ):
        pass

    assert not (tmp_path / "state" / "stack.json").exists()


def test_a_state_where_postgres_cannot_run_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(CannotRun, match="in a directory with a space"),
        Stack(state=tmp_path / "my state"),
    ):
        pass


@pytest.mark.parametrize(
    "arguments", [["--port", "70000"], ["--port", "x"], ["--containers", "0"], ["extra"]]
)
def test_nonsense_arguments_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["up", *arguments])

    assert "error: " in capsys.readouterr().err
