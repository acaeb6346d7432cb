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

import io
import json
from typing import Any

import pytest
import samples


@pytest.fixture(scope="session")
def event():
    """Load a sample event by its name in events/."""

    def load(name: str) -> dict[str, Any]:
        return json.loads((samples.EVENTS / f"{name}.json").read_text("utf-8"))

    return load


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
