"""Carries the fault plan out, fault by fault, while the bots post."""

from collections.abc import Callable, Sequence
from threading import Thread

from soak.faults import Fault, Missed, Planned
from soak.locks import DidNotHappen
from soak.pace import Pace
from soak.sabotage import Sabotage

Say = Callable[[str], None]

# A machine that stumbles is no reason to prove less.
_TRIES = 3


class Breakage:
    """A thread of its own. `happened` are the faults that came about, `missed` the others."""

    def __init__(self, plan: Sequence[Planned], sabotage: Sabotage, pace: Pace, say: Say) -> None:
        self.happened: list[Fault] = []
        self.missed: list[Missed] = []
        self._plan = plan
        self._sabotage = sabotage
        self._pace = pace
        self._say = say
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the last fault."""
        self._thread.join()

    def _run(self) -> None:
        for planned in self._plan:
            self._pace.wait_for(planned.begins)
            self._say(f"turn {self._pace.begun:,}: {planned.fault} …")
            self._pace.enter(planned.fault, planned.share_ends)
            self._bring_about(planned.fault)
            self._pace.leave()

    def _bring_about(self, fault: Fault) -> None:
        for _ in range(_TRIES):
            try:
                outcome = self._sabotage.commit(fault)
            # Whatever went wrong, the account must say that this fault is not proven.
            except Exception as error:
                reason = str(error) if isinstance(error, DidNotHappen) else type(error).__name__
                self._say(f"{fault}: did not happen ({reason})")
            else:
                self._say(f"{fault}: over ({outcome})")
                self.happened.append(fault)
                return
        self.missed.append(Missed(fault, reason))
