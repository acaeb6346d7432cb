"""The fault harness on the real parts, shortened; and that it notices a guarantee taken out."""

import subprocess
import sys
from pathlib import Path

import pytest

from soak.faults import Fault

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


@pytest.mark.parametrize(
    ("guarantee", "faults", "mismatch"),
    [
        ("ledger", "none", "turns counted too often"),
        ("failures", "none", "poison messages missing in the dead-letter queue"),
        ("savepoints", "none", "accepted turns missing in the ledger"),
        ("breaker", Fault.SQS_HANGS.name, "tries too many of a queue that hangs"),
        ("patience", Fault.POSTGRES_HANGS.name, "reads without Postgres that took too long"),
    ],
)
def test_without_a_guarantee_the_account_names_what_is_wrong(guarantee, faults, mismatch):
    status, account = soak("--turns", "150", "--faults", faults, "--mutate", guarantee)
    assert status == 1
    assert mismatch in account
    assert account.startswith("soak: 150 turns, seed 1: MISMATCH: ")
