"""The commands as somebody types them, and every sample event through the real runtime client."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
EVENTS = ROOT / "events"


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
        done = local("invoke", function, str(EVENTS / f"{name}.json"), "--state", state)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("guild-turn", 202, "captured"),
        ("direct-message", 202, "captured"),
        ("thread-in-private-channel", 202, "captured"),
        ("several-personas", 202, "captured"),
        ("base64-body", 202, "captured"),
        ("privacy-full", 202, "skipped"),
        ("stop-response", 202, "skipped"),
        ("malformed-body", 400, "Malformed request"),
        ("recall", 200, "cold"),
        ("health", 200, "ok"),
    ],
)
def test_each_api_event_is_answered(invoke, name, status, says):
    answer = invoke("capture", name)
    assert answer["statusCode"] == status
    assert f'"{says}"' in answer["body"]


@pytest.mark.parametrize(
    ("name", "failed"), [("sqs-one-turn", 0), ("sqs-batch-with-repeat-and-poison", 1)]
)
def test_each_sqs_event_is_applied(invoke, name, failed):
    assert len(invoke("writer", name)["batchItemFailures"]) == failed


def test_the_schema_is_there_already(invoke):
    assert invoke("schema", "schema-migrate")["applied"] == []


def test_every_sample_event_is_used_here():
    here = Path(__file__).read_text("utf-8")
    assert [path.stem for path in EVENTS.glob("*.json") if f'"{path.stem}"' not in here] == []


def test_up_once_replays_the_sample_and_finds_all_as_expected(tmp_path):
    done = local("up", "--once", "--port", "0", "--state", str(tmp_path / "state"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All as expected." in done.stdout
    assert "curl -s http://127.0.0.1:" in done.stdout
