"""`python -m soak`: one run, what happened in it, and the account as the last line."""

import argparse
import logging
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from local.functions import CODE
from soak.account import account, figures, happened
from soak.audit import Run, audit
from soak.faults import THROUGHOUT, Fault, plan
from soak.mutation import MUTATIONS, mutated
from soak.run import Soak, Wanted


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when everything is as it must be, else 1."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.state and options.state.exists():
        parser.error(f"{options.state} exists: what an earlier run left there would be counted")
    # What breaks is announced here; the stack's own complaints about it would bury that.
    logging.basicConfig(level=logging.CRITICAL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        code = mutated(options.mutate, Path(scratch) / "code") if options.mutate else CODE
        faults = tuple(Fault) if options.faults == "all" else ()
        wanted = Wanted(
            turns=options.turns,
            seed=options.seed,
            plan=plan(options.seed, options.turns, faults),
            seconds=options.seconds,
            state=options.state or Path(scratch) / "state",
            code=code,
        )
        return _run(wanted)


def _run(wanted: Wanted) -> int:
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {what}", flush=True)

    say(f"{wanted.turns:,} turns, seed {wanted.seed}; throughout: {THROUGHOUT}")
    soak = Soak(wanted, say)
    run = soak.run()
    say("done")
    _print_figures(soak)
    wrong = audit(run)
    print(_account(soak, wanted, run, wrong), flush=True)
    return 1 if wrong else 0


def _print_figures(soak: Soak) -> None:
    latencies = soak.answers.latencies
    hanging = [it for it in latencies if it.fault == Fault.SQS_HANGS]
    print(f"POST /v1/turns: {figures(latencies)}")
    print(f"POST /v1/turns while SQS hangs: {figures(hanging)}")
    print(
        f"GET /v1/memories while Postgres is down: at most {soak.probe.slowest_ms:,.0f} ms"
        f" of {soak.probe.reads} reads (GET /v1/health then: {soak.probe.machine_ms:,.0f} ms)"
    )


def _account(soak: Soak, wanted: Wanted, run: Run, wrong: Sequence[str]) -> str:
    opening = f"soak: {wanted.turns:,} turns, seed {wanted.seed}"
    return (
        f"{account(opening, run, soak.answers.statuses, wrong)}; faults: {happened(soak.happened)};"
        f" {soak.repeats:,} turns posted twice, {soak.copies:,} messages redelivered,"
        f" {soak.interposer.delayed:,} late, {soak.deadlocks} deadlocks"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="that a lasting fault lasts")
    parser.add_argument(
        "--faults",
        choices=("all", "none"),
        default="all",
        help="of the plan; none: the constant ones",
    )
    parser.add_argument("--mutate", choices=MUTATIONS, help="take one guarantee out: it must show")
    parser.add_argument(
        "--state", type=Path, help="a new directory, to keep the stack's state and logs"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
