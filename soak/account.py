"""The last line of a run, and the figures above it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from soak.answers import Latency
from soak.audit import Run


def account(opening: str, run: Run, answers: Mapping[int, int], wrong: Sequence[str]) -> str:
    """Return what was posted, accepted, counted and left; begins with what is wrong, if anything.

    `answers` counts what bots were told, by status.
    """
    parts = [
        *([f"MISMATCH: {', '.join(wrong)}"] if wrong else ()),
        _posts(answers, wrong),
        f"{len(run.accepted):,} accepted{_unless(wrong, ', each counted once on its live scope')}",
        _missing(run),
        f"{len(run.dead):,} dead letters{_unless(wrong, ', all poison and all the poison')}",
        f"{len(run.rows):,} rows{_unless(wrong, ', as expected, lineages set')}",
        f"{run.open_transactions} open transactions",
    ]
    return f"{opening}: {'; '.join(parts)}"


def happened(faults: Sequence[str]) -> str:
    """Return how often each fault happened."""
    counts = Counter(faults)
    return ", ".join(f"{count} x {fault}" for fault, count in counts.items()) or "none of the plan"


def figures(latencies: Sequence[Latency]) -> str:
    """Return p50, p99 and maximum of some requests, in ms."""
    if not latencies:
        return "no requests"
    taken = sorted(it.ms for it in latencies)
    p50, p99 = (taken[min(len(taken) - 1, int(len(taken) * part))] for part in (0.5, 0.99))
    return f"p50 {p50:,.0f}, p99 {p99:,.0f}, max {taken[-1]:,.0f} ms of {len(taken):,} requests"


def _posts(answers: Mapping[int, int], wrong: Sequence[str]) -> str:
    others = [f"{count:,} x {status}" for status, count in sorted(answers.items()) if status != 202]
    on_the_way = f" ({', '.join(others)} on the way)" if others else ""
    return f"{sum(answers.values()):,} posts{_unless(wrong, ', all 202 in the end')}{on_the_way}"


def _missing(run: Run) -> str:
    lost = run.lost_outboxes
    held = f"outboxes of {len(lost)} killed containers held {sum(lost):,}"
    return f"{len(run.missing):,} missing ({held})"


def _unless(wrong: Sequence[str], claim: str) -> str:
    return "" if wrong else claim
