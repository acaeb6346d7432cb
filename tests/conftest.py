"""What every test may use: turns and queries in a few words, a clock to turn, sample events."""

import os

# The functions read their settings when they are imported, as on Lambda.
os.environ.update(
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_EC2_METADATA_DISABLED="true",
    POWERTOOLS_SERVICE_NAME="test",
    WORK_QUEUE_URL="https://sqs.eu-west-1.amazonaws.com/123456789012/shortterm-work",
    DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing",
)

import importlib
import io
import json
import shutil
import sys
import tempfile
from typing import Any

import pytest
import samples

_made = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give this run a directory of its own for temporary files.

    Under root, Postgres runs as another user. All runs of pytest share one directory, which each
    closes to others when it starts: a second run would lock the first one's servers out.
    """
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = tempfile.mkdtemp(prefix="shortterm-tests-")
        config.stash[_made] = config.option.basetemp


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Leave nothing behind but what a failure may be understood by."""
    made = session.config.stash.get(_made, None)
    if made is not None and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def event():
    """Load a sample event by its name in events/."""

    def load(name: str) -> dict[str, Any]:
        return json.loads((samples.EVENTS / f"{name}.json").read_text("utf-8"))

    return load


@pytest.fixture
def app_of(monkeypatch):
    """Import a function's app anew, as a container that has just started."""
    started = []

    def start(function: str, **environ: str):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        name = f"{function}.app"
        sys.modules.pop(name, None)
        started.append(importlib.import_module(name))
        return started[-1]

    yield start
    for app in started:
        sys.modules.pop(app.__name__, None)
        if hasattr(app, "database"):
            app.database.close()


@pytest.fixture
def emitted(capsys):
    """Flush the metrics and return what has been emitted since: name -> sum of its values."""
    from shortterm import telemetry

    telemetry.metrics.clear_metrics()

    def flush() -> dict[str, float]:
        telemetry.flush()
        totals: dict[str, float] = {}
        for line in capsys.readouterr().out.splitlines():
            fields = json.loads(line)
            for directive in fields.get("_aws", {}).get("CloudWatchMetrics", []):
                for metric in directive["Metrics"]:
                    values = fields[metric["Name"]]
                    totals[metric["Name"]] = totals.get(metric["Name"], 0) + sum(
                        values if isinstance(values, list) else [values]
                    )
        return totals

    yield flush
    telemetry.metrics.clear_metrics()


@pytest.fixture
def logged(monkeypatch):
    """Return the log lines written since, as the log service would get them."""
    from shortterm.telemetry import logger

    lines = io.StringIO()
    # The logger took hold of the standard output of its import, which is not this test's.
    monkeypatch.setattr(logger.registered_handler, "stream", lines)
    return lines.getvalue
