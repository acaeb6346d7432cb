"""A run against the local stack: containers, queue, writer and Postgres take part."""

import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg

from api_document.document import document
from fuzz.barrage import barrage
from fuzz.contract import Contract
from fuzz.http_sender import HttpSender
from fuzz.shot import CANARY, Shot
from fuzz.tally import Tally
from fuzz.watch import Watch
from local.sqs import depth
from local.stack import Stack

CONTAINERS = 2
MEMORY_MAX_BYTES = 32 * 2**20
# An interpreter with all its packages, the memory, and the largest turn in hand, several times over
# while it is decoded: half of what the smallest function has.
RSS_MAX_BYTES = 256 * 2**20
_PIECE = 2_500
_WRITTEN_WITHIN_S = 300

Report = Callable[[str], None]


def campaign(requests: int, first_seed: int, report: Report) -> Tally:
    """Fire `requests` requests at a stack of its own, and look at what it left behind."""
    with tempfile.TemporaryDirectory(prefix="shortterm-fuzz-") as directory:
        # Under root, Postgres runs as another user.
        Path(directory).chmod(0o755)
        state = Path(directory) / "state"
        with (
            Stack(
                state=state,
                containers=CONTAINERS,
                writers=2,
                max_receive_count=3,
                settings={"MEMORY_MAX_BYTES": str(MEMORY_MAX_BYTES)},
            ) as stack,
            Watch(stack.pools["capture"]) as watch,
        ):
            tally = _fire(stack, requests, first_seed, report)
            _judge_what_is_left(stack, watch, tally, report)
        for log in sorted(state.rglob("*.log")):
            if CANARY in log.read_text("utf-8", "replace"):
                tally.complain(f"{log.name} holds what was sent")
    return tally


def _fire(stack: Stack, requests: int, first_seed: int, report: Report) -> Tally:
    pieces = [min(_PIECE, requests - start) for start in range(0, requests, _PIECE)]
    tally = Tally()
    began = time.monotonic()
    with ProcessPoolExecutor(CONTAINERS, mp_context=get_context("spawn")) as pool:
        runs = [
            pool.submit(_piece, stack.api_url, count, first_seed * 1_000_000 + number * 10_000)
            for number, count in enumerate(pieces)
        ]
        for run in as_completed(runs):
            tally.merge(run.result())
            report(f"{tally.requests:,} requests in {time.monotonic() - began:.0f} s")
    return tally


def _piece(url: str, requests: int, first_seed: int) -> Tally:
    """Fire a part of them, in a process of its own."""
    return barrage(
        HttpSender(url),
        Contract(document()),
        requests=requests,
        first_seed=first_seed,
        over_http=True,
    )


def _judge_what_is_left(stack: Stack, watch: Watch, tally: Tally, report: Report) -> None:
    """Complain of memory past its bound, a container that died, and work that was not applied."""
    health = _each_health(stack)
    held = max(tally.held, *(it["bytes"] for it in health))
    report(f"memory    {held / 2**20:.1f} of {MEMORY_MAX_BYTES / 2**20:.0f} MiB accounted at most")
    report(f"RSS       {watch.most_rss / 2**20:.0f} MiB at most")
    if held > MEMORY_MAX_BYTES:
        tally.complain(f"{held:,} bytes are held")
    if watch.most_rss > RSS_MAX_BYTES:
        tally.complain(f"a container had an RSS of {watch.most_rss:,} bytes")
    if len(watch.pids) > CONTAINERS:
        tally.complain(f"{len(watch.pids) - CONTAINERS} containers died")
    if any(it["outbox"] for it in health):
        tally.complain("work is left in an outbox")
    _wait_until_written(stack, tally)
    if dead := depth(stack.sqs_client, stack.dlq_url):
        tally.complain(f"{dead} messages are dead letters")
    with psycopg.connect(stack.database_url) as connection:
        rows = connection.execute("SELECT turn_id FROM applied_turns").fetchall()
    applied = {turn_id for (turn_id,) in rows}
    report(f"written   {len(applied):,} turns")
    if missing := tally.turns - applied:
        tally.complain(f"{len(missing)} turns were queued and not applied")


def _each_health(stack: Stack) -> list[dict[str, Any]]:
    """Return what each capture container says of itself."""

    def ask(_: int) -> list[dict[str, Any]]:
        send = HttpSender(stack.api_url)
        return [json.loads(send(Shot("", "GET", "/v1/health")).body) for _ in range(50)]

    # Only a container that is busy leaves a request to another.
    with ThreadPoolExecutor(2 * CONTAINERS) as bots:
        told = [it for several in bots.map(ask, range(2 * CONTAINERS)) for it in several]
    return list({it["container"]: it for it in told}.values())


def _wait_until_written(stack: Stack, tally: Tally) -> None:
    deadline = time.monotonic() + _WRITTEN_WITHIN_S
    while left := depth(stack.sqs_client, stack.queue_url):
        if time.monotonic() > deadline:
            tally.complain(f"{left} messages are still in the queue")
            return
        time.sleep(0.2)
