"""The fault plan carried out: what did not come about is tried again, and reported in the end."""

from typing import Any, cast

from soak.breakage import Breakage
from soak.faults import Fault, Missed, plan
from soak.locks import DidNotHappen
from soak.pace import Pace


class Sabotage:
    """Fails the first times."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)

    def commit(self, fault: Fault) -> str:
        if self._failures:
            raise self._failures.pop(0)
        return "back"


def broken(*failures: Exception) -> tuple[Breakage, list[str]]:
    """Break one thing, with failures on the way; and what was said."""
    pace, said = Pace(), []
    pace.end()
    planned = plan(1, 100, [Fault.SQS_HANGS])
    breakage = Breakage(planned, cast("Any", Sabotage(*failures)), pace, said.append)
    breakage.start()
    breakage.join()
    return breakage, said


def test_a_fault_that_does_not_come_about_is_tried_again():
    breakage, said = broken(DidNotHappen("nothing was sent"), IndexError())
    assert (breakage.happened, breakage.missed) == ([Fault.SQS_HANGS], [])
    assert said[1:] == [
        "SQS hangs: did not happen (nothing was sent)",
        "SQS hangs: did not happen (IndexError)",
        "SQS hangs: over (back)",
    ]


def test_a_fault_that_never_comes_about_is_missed_for_a_reason():
    breakage, _ = broken(*[DidNotHappen("nothing was sent")] * 3)
    assert breakage.happened == []
    assert breakage.missed == [Missed(Fault.SQS_HANGS, "nothing was sent")]
