"""The commands as somebody types them, and every sample event through the real runtime client."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import samples

ROOT = Path(__file__).parent.parent.parent


def local(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "local", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def invoke(stack):
    """Run one event through a fresh container, on the services of the running stack."""
    state = str(stack.postgres.directory.parent)

    def run(function: str, name: str):
        done = local("invoke", function, str(samples.EVENTS / f"{name}.json"), "--state", state)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(("name", "status", "says"), samples.API)
def test_each_api_event_is_answered(invoke, name, status, says):
    answer = invoke("capture", name)
    assert answer["statusCode"] == status
    assert f'"{says}"' in answer["body"]


@pytest.mark.parametrize(("name", "failed"), samples.SQS)
def test_each_sqs_event_is_applied(invoke, name, failed):
    assert len(invoke("writer", name)["batchItemFailures"]) == failed


@pytest.mark.parametrize("name", samples.JANITOR)
def test_the_janitor_comes_when_it_is_told_to(invoke, name):
    assert invoke("writer", name)["complete"]


def test_the_schema_is_there_already(invoke):
    assert invoke("schema", "schema-migrate")["applied"] == []


def test_up_once_replays_the_sample_and_finds_all_as_expected(tmp_path):
    done = local("up", "--once", "--port", "0", "--state", str(tmp_path / "state"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All as expected." in done.stdout
    assert "curl -s http://127.0.0.1:" in done.stdout
