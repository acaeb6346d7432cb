"""Fires at a local stack of its own; ends with 1 if anything was answered as it must not be."""

import argparse
import sys
import time

from fuzz.campaign import campaign


def main() -> int:
    """Run and print the account; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    _say(f"{options.requests:,} requests, seed {options.seed}")
    tally = campaign(options.requests, options.seed, _say)
    for line in (*tally.lines(), f"time      {time.monotonic() - began:.0f} s"):
        _say(line)
    for kind, count in tally.complaints.most_common():
        _say(f"WRONG {count:,} times: {kind}")
    for it in tally.shown:
        _say(f"  {it}")
    _say("Not as documented." if tally.complaints else "All as documented.")
    return 1 if tally.complaints else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
