"""`python -m local up`: starts the stack, tells what it does, replays the sample, serves."""

import shlex
import sys
import threading
import time
from pathlib import Path

from local import demo
from local.stack import Stack


def up(*, port: int, state: Path, containers: int, poller: bool, once: bool) -> int:
    """Serve until Ctrl-C, or with `once` until the sample is replayed; returns the exit code.

    Raises CannotRun when the stack does not come up.
    """
    print(f"Starting shortterm on this machine (state: {state})", flush=True)
    began = time.monotonic()
    with Stack(
        state=state, port=port, containers=containers, poller=poller, report=_report
    ) as stack:
        print(f"Ready after {time.monotonic() - began:.2f} s\n")
        print(_addresses(stack, state))
        mismatches = _replay(stack, poller)
        if not once:
            print("\nServing. Ctrl-C stops the stack.", flush=True)
            _wait_for_ctrl_c()
    return 1 if once and mismatches else 0


def _replay(stack: Stack, poller: bool) -> list[str]:
    print("\nThe sample conversation: what memory and Postgres hold of it\n")
    if not poller:
        print("  No poller: the work stays on the queue, so there are no rows to wait for.\n")
    mismatches = demo.replay(stack, rows=poller)
    sys.stdout.flush()
    if mismatches:
        print("\nNot as expected:", file=sys.stderr)
        for mismatch in mismatches:
            print(f"  {mismatch}", file=sys.stderr)
    else:
        print("\nAll as expected.", flush=True)
    return mismatches


def _report(step: str, seconds: float) -> None:
    print(f"  {step:<12}{seconds:6.2f} s", flush=True)


def _addresses(stack: Stack, state: Path) -> str:
    turn = (
        '{"userId": "1001", "channelId": "2001", "serverId": "3001", "privacyLevel": "MINIMAL",'
        ' "isStopResponse": false, "simplifiedMessages": [{"authorType": "user",'
        ' "authorId": "1001", "authorName": "Ada", "content": "Good morning!"}],'
        ' "personaResponses":'
        ' [{"text": "Good morning, Ada.", "personaId": "7", "personaName": "Luna"}]}'
    )
    post = f"curl -s {stack.api_url}/v1/turns -H 'Content-Type: application/json'"
    get = f"{stack.api_url}/v1/memories?userId=1001&channelId=2001&serverId=3001&personaId=7"
    return "\n".join(
        (
            f"  API       {stack.api_url}",
            f"  Postgres  {stack.database_url}",
            f"  queue     {stack.queue_url}",
            f"  DLQ       {stack.dlq_url}",
            f"  logs      {state / 'logs'}",
            "\nTry it:\n",
            f"  {post} \\\n    -d {shlex.quote(turn)}",
            f"  curl -s {shlex.quote(get)}",
        )
    )


def _wait_for_ctrl_c() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print("\nStopping.", flush=True)
