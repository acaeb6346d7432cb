"""Times several contenders side by side: interleaved rounds, so that noise strikes all alike."""

import time
from collections.abc import Callable, Iterable
from statistics import median, quantiles
from typing import Any, NamedTuple


class Contender(NamedTuple):
    """`prepare()` makes a round's input, untimed; `act(it)` performs `calls` calls on it."""

    name: str
    calls: int
    prepare: Callable[[], Any]
    act: Callable[[Any], object]


class Outcome(NamedTuple):
    """Seconds per call, by contender and round."""

    rounds: dict[str, list[float]]

    def median(self, name: str) -> float:
        return median(self.rounds[name])

    def percentile(self, name: str, percent: int) -> float:
        """What `percent` of the rounds stay below; takes some thousand rounds of one call each."""
        return quantiles(self.rounds[name], n=100)[percent - 1]

    def ratio(self, name: str, to: str) -> float:
        """The median of the rounds' ratios: each compares neighbours in time."""
        pairs = zip(self.rounds[name], self.rounds[to], strict=True)
        return median(mine / theirs for mine, theirs in pairs)

    def ratio_of_sums(self, names: Iterable[str], to: Iterable[str]) -> float:
        """As `ratio`, of what several contenders cost together."""
        mine = _sums(self.rounds[name] for name in names)
        theirs = _sums(self.rounds[name] for name in to)
        return median(a / b for a, b in zip(mine, theirs, strict=True))


def compete(
    contenders: list[Contender], *, rounds: int, clock: Callable[[], float] = time.process_time
) -> Outcome:
    """Run `rounds` rounds after one that warms up; who begins changes from round to round."""
    measured: dict[str, list[float]] = {it.name: [] for it in contenders}
    for number in range(rounds + 1):
        first = number % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            given = contender.prepare()
            start = clock()
            contender.act(given)
            seconds = clock() - start
            if number:
                measured[contender.name].append(seconds / contender.calls)
    return Outcome(measured)


def _sums(rounds: Iterable[list[float]]) -> list[float]:
    return [sum(it) for it in zip(*rounds, strict=True)]
