"""One logger and one metrics object per function, and the names of everything that is counted.

No log line and no metric dimension carries message text or a speaker's name: an error is told by
its type and place, never by its message, which may quote what was sent.
"""

import traceback
from enum import StrEnum
from typing import Any

from aws_lambda_powertools import Logger, Metrics, single_metric
from aws_lambda_powertools.metrics import MetricUnit

from shortterm.silence import silence_libraries

NAMESPACE = "shortterm"


class Metric(StrEnum):
    """Every metric that the functions emit; dashboards and alarms use these names only."""

    COLD_STARTS = "ColdStarts"
    # capture
    TURNS_CAPTURED = "TurnsCaptured"
    TURNS_SKIPPED = "TurnsSkipped"
    CAPTURE_FAILURES = "CaptureFailures"
    WORK_QUEUED = "WorkQueued"
    WORK_DEFERRED = "WorkDeferred"
    WORK_DROPPED = "WorkDropped"
    WORK_WAITING = "WorkWaiting"
    MEMORY_ENTRIES = "MemoryEntries"
    MEMORY_BYTES = "MemoryBytes"
    RECALL_HITS = "RecallHits"
    RECALL_MISSES = "RecallMisses"
    NOTES_ATTACHED = "NotesAttached"
    SUBJECTS_FORGOTTEN = "SubjectsForgotten"
    ROWS_UNAVAILABLE = "RowsUnavailable"
    # writer
    TURNS_APPLIED = "TurnsApplied"
    TURNS_REPEATED = "TurnsRepeated"
    WORK_REFUSED = "WorkRefused"
    BATCH_FALLBACKS = "BatchFallbacks"
    BATCHES_RETURNED = "BatchesReturned"
    NOTES_APPLIED = "NotesApplied"
    WORK_FORGOTTEN = "WorkForgotten"
    ROWS_TIDIED = "RowsTidied"
    LEDGER_TIDIED = "LedgerTidied"
    TOMBSTONES_TIDIED = "TombstonesTidied"


# Before the logger is made: Powertools tells of that, too.
silence_libraries()

# The service (POWERTOOLS_SERVICE_NAME) is the one dimension that all metrics have.
logger = Logger()
metrics = Metrics(namespace=NAMESPACE)

_UNITS = {Metric.MEMORY_BYTES: MetricUnit.Bytes}


def count(metric: Metric, value: float = 1) -> None:
    """Add `value` to `metric` for this invocation; `flush` sends it. Never raises."""
    try:
        metrics.add_metric(metric, _UNITS.get(metric, MetricUnit.Count), value)
    except Exception as error:
        _give_up(error)


def count_by(metric: Metric, dimension: str, label: str) -> None:
    """Count one, under a dimension whose labels are a closed set (a reason, never an id).

    Never raises.
    """
    try:
        with single_metric(metric, MetricUnit.Count, 1, namespace=NAMESPACE) as single:
            single.add_dimension("service", metrics.service or "service_undefined")
            single.add_dimension(dimension, label)
    except Exception as error:
        _give_up(error)


_cold = True


def flush() -> None:
    """Send what this invocation counted; the container's first one counts its cold start.

    Never raises: it runs when the answer stands, and the runtime would log what it said.
    """
    global _cold
    if _cold:
        _cold = False
        count(Metric.COLD_STARTS)
    try:
        if metrics.metric_set:
            metrics.flush_metrics()
    except Exception as error:
        _give_up(error)


def _give_up(error: Exception) -> None:
    """Let no metric that cannot be sent pile up; what the function does goes on."""
    metrics.clear_metrics()
    logger.error("Metrics could not be sent", extra=describe(error))


def describe(error: BaseException) -> dict[str, Any]:
    """Return an error's type and where it was raised, for a log line: not its message."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else "unknown"
    return {"error": type(error).__qualname__, "at": at}
