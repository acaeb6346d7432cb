"""The fault harness on the real parts, shortened; and that it notices a guarantee taken out."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from soak.faults import Fault
from soak.mutation import MUTATIONS

ROOT = Path(__file__).parent.parent.parent


def soak(*arguments: str) -> tuple[int, str]:
    """Run it and return its exit status and its account."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "soak", "--seed", "1", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, done.stdout.splitlines()[-1]


def test_whatever_breaks_every_turn_counts_once():
    status, account = soak("--turns", "500", "--seconds", "0.5")
    assert status == 0, account
    assert "MISMATCH" not in account
    assert [it for it in Fault if f"1 x {it}" not in account] == []


# What the account says without a guarantee, and the fault that shows it.
WITHOUT = {
    "ledger": ("none", "turns counted too often"),
    "failures": ("none", "poison messages missing in the dead-letter queue"),
    "savepoints": ("none", "accepted turns missing in the ledger"),
    "breaker": (Fault.SQS_HANGS.name, "tries too many of a queue that hangs"),
    "patience": (Fault.POSTGRES_HANGS.name, "reads without Postgres that took too long"),
}


def test_without_a_guarantee_the_account_names_what_is_wrong():
    assert WITHOUT.keys() == MUTATIONS.keys()

    def run(guarantee: str) -> tuple[int, str]:
        faults, _ = WITHOUT[guarantee]
        return soak("--turns", "150", "--faults", faults, "--mutate", guarantee)

    # Three at a time: a run waits more than it works.
    with ThreadPoolExecutor(3) as runs:
        accounts = dict(zip(WITHOUT, runs.map(run, WITHOUT), strict=True))
    unnoticed = {
        guarantee: account
        for guarantee, (status, account) in accounts.items()
        if (status, account.partition(": MISMATCH: ")[0]) != (1, "soak: 150 turns, seed 1")
        or WITHOUT[guarantee][1] not in account
    }
    assert unnoticed == {}
