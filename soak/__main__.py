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
from soak.account import account, figures
from soak.audit import audit
from soak.faults import FEWEST_TURNS, THROUGHOUT, Fault, plan
from soak.mutation import MUTATIONS, mutated
from soak.run import Result, Soak, Wanted

_FAULTS = {"all": tuple(Fault), "none": (), **{it.name: (it,) for it in Fault}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when everything is as it must be, else 1."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.state and options.state.exists():
        parser.error(f"{options.state} exists: what an earlier run left there would be counted")
    if options.faults == "all" and options.turns < FEWEST_TURNS:
        parser.error(f"all faults take {FEWEST_TURNS} turns at least: --turns, or --faults none")
    # What breaks is announced here; the stack's own complaints about it would bury that.
    logging.basicConfig(level=logging.CRITICAL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        code = mutated(options.mutate, Path(scratch) / "code") if options.mutate else CODE
        wanted = Wanted(
            turns=options.turns,
            seed=options.seed,
            plan=plan(options.seed, options.turns, _FAULTS[options.faults]),
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
    result = Soak(wanted, say).run()
    say("done")
    _print_figures(result)
    wrong = audit(result.run)
    opening = f"soak: {wanted.turns:,} turns, seed {wanted.seed}"
    print(account(opening, result.run, wrong), flush=True)
    return 1 if wrong else 0


def _print_figures(result: Result) -> None:
    probe = result.probe
    print(f"POST /v1/turns: {figures(result.latencies)}")
    print(f"POST /v1/turns while SQS hangs: {figures(result.hanging)}")
    print(
        f"GET /v1/memories while Postgres hangs or is down: at most {probe.slowest_ms:,.0f} ms by"
        f" connected containers, {probe.connecting_ms:,.0f} ms by others, of {probe.reads} reads"
        f" (GET /v1/health right before: at most {probe.machine_ms:,.0f} ms)"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="that a lasting fault lasts")
    parser.add_argument(
        "--faults",
        choices=_FAULTS,
        default="all",
        metavar="all|none|FAULT",
        help="of the plan; none: the constant ones; or one: " + ", ".join(it.name for it in Fault),
    )
    parser.add_argument("--mutate", choices=MUTATIONS, help="take one guarantee out: it must show")
    parser.add_argument(
        "--state", type=Path, help="a new directory, to keep the stack's state and logs"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
