"""Fires a number of requests, the same ones for the same seed, and judges every answer."""

import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from http.client import HTTPException
from random import Random

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from api_document.document import document
from fuzz import bodies, from_document, targets
from fuzz.contract import HANG_S, Contract
from fuzz.mutants import mutants
from fuzz.shot import Shot
from fuzz.tally import Tally
from local.gateway import Answer

Send = Callable[[Shot], Answer]

# Hypothesis remembers every example of a round, and slows down with their number.
_ROUND = 200
# Drawing a request takes longer than answering it: each is fired changed, too.
_MUTANTS = 2
_HEAVY_BYTES = 200_000
_TRIES = 5
_PAUSE_S = 0.2


def barrage(
    send: Send, contract: Contract, *, requests: int, first_seed: int, over_http: bool = False
) -> Tally:
    """Send `requests` requests and return what became of them.

    `over_http` sends bodies as they are; else some are base64 already, good and bad.
    """
    tally = Tally()
    random = Random(first_seed)  # noqa: S311
    round_seed = first_seed
    while tally.requests < requests:
        for shot in _drawn(round_seed, min(_ROUND, requests - tally.requests)):
            for it in _volley(shot, random):
                if tally.requests < requests:
                    _fire(it.plain() if over_http else it, send, contract, tally)
        round_seed += 1
    return tally


def _volley(shot: Shot, random: Random) -> Iterator[Shot]:
    yield shot
    # The heaviest are heavy however they are changed.
    if len(shot.body) < _HEAVY_BYTES:
        yield from mutants(shot, random, _MUTANTS)


def _drawn(round_seed: int, most: int) -> list[Shot]:
    """Return the requests of a round, `most` at most."""
    drawn: list[Shot] = []

    @seed(round_seed)
    @settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_shots())
    def draw(shot: Shot) -> None:
        drawn.append(shot)

    draw()
    return drawn


def _fire(shot: Shot, send: Send, contract: Contract, tally: Tally) -> None:
    try:
        answer, seconds = _timed(shot, send)
        # What hangs hangs again; what had no processor for a while does not.
        least = seconds
        for _ in range(_TRIES - 1):
            if least > HANG_S:
                time.sleep(_PAUSE_S)
                least = min(least, _timed(shot, send)[1])
    except (OSError, HTTPException) as error:
        tally.add_unanswered(shot, type(error).__name__)
        return
    tally.add(shot, answer, seconds, contract.complaints(shot, answer, least))
    if answer.status == 202:
        _note_turn(tally, answer)
    if answer.status == 200 and shot.target == "/v1/health":
        tally.held = max(tally.held, json.loads(answer.body)["bytes"])


def _timed(shot: Shot, send: Send) -> tuple[Answer, float]:
    start = time.perf_counter()
    answer = send(shot)
    return answer, time.perf_counter() - start


def _note_turn(tally: Tally, answer: Answer) -> None:
    said = json.loads(answer.body)
    if said["status"] == "failed":
        tally.complain("a well-formed turn could not be remembered")
    if said.get("queued"):
        tally.turns.add(said["turnId"])


@cache
def _shots() -> SearchStrategy[Shot]:
    shares = {
        bodies.TURNS: 34,
        bodies.SUMMARIES: 10,
        bodies.RAW_BODIES: 6,
        bodies.HEAVY_TURNS: 5,
        targets.READS: 16,
        targets.OF_AN_ID: 8,
        targets.ASTRAY: 5,
        from_document.shots(document()): 20,
    }
    return st.sampled_from([it for it, share in shares.items() for _ in range(share)]).flatmap(
        lambda strategy: strategy
    )
