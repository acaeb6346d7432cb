"""The last line of a run, and the figures above it."""

from collections import Counter
from collections.abc import Sequence

from soak.answers import Latency
from soak.audit import Run


def account(opening: str, run: Run, wrong: Sequence[str]) -> str:
    """Return what was posted, accepted, counted, left and broken; what is wrong comes first."""
    parts = [
        *([f"MISMATCH: {', '.join(wrong)}"] if wrong else ()),
        _posts(run, wrong),
        f"{len(run.accepted):,} accepted{_unless(wrong, ', each counted once on its live scope')}",
        _missing(run),
        f"{len(run.dead):,} dead letters{_unless(wrong, ', all poison and all the poison')}",
        f"{len(run.rows):,} rows{_unless(wrong, ', as expected, lineages set')}",
        f"{run.open_transactions} open transactions",
        f"faults: {_happened(run)}",
        f"{run.repeats:,} turns posted twice",
        f"{run.redelivered:,} messages redelivered, {run.late:,} late",
    ]
    return f"{opening}: {'; '.join(parts)}"


def figures(latencies: Sequence[Latency]) -> str:
    """Return p50, p99 and maximum of some requests, in ms."""
    if not latencies:
        return "no requests"
    p50, p99, most = (percentile(latencies, part) for part in (0.5, 0.99, 1.0))
    return f"p50 {p50:,.0f}, p99 {p99:,.0f}, max {most:,.0f} ms of {len(latencies):,} requests"


def percentile(latencies: Sequence[Latency], part: float) -> float:
    """Return what `part` of some requests, at least one, took at the most, in ms."""
    taken = sorted(it.ms for it in latencies)
    return taken[min(len(taken) - 1, int(len(taken) * part))]


def _posts(run: Run, wrong: Sequence[str]) -> str:
    others = [f"{run.statuses[it]:,} x {it}" for it in sorted(run.statuses) if it != 202]
    on_the_way = f" ({', '.join(others)} on the way)" if others else ""
    posts = sum(run.statuses.values())
    return f"{posts:,} posts{_unless(wrong, ', all 202 in the end')}{on_the_way}"


def _missing(run: Run) -> str:
    lost = run.lost_outboxes
    held = f"outboxes of {len(lost)} killed containers held {sum(lost):,}"
    return f"{len(run.missing):,} missing ({held})"


def _happened(run: Run) -> str:
    counts = Counter(run.happened)
    return ", ".join(f"{count} x {fault}" for fault, count in counts.items()) or "none of the plan"


def _unless(wrong: Sequence[str], claim: str) -> str:
    return "" if wrong else claim
