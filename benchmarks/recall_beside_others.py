"""Recall of a guild beside others' read of one conversation, all under Lambda's runtime client."""

import itertools
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.beside import guild
from benchmarks.contest import Contender, Outcome, compete
from benchmarks.over_tcp import over_tcp
from benchmarks.report import Aim, Figure, Table, at_most
from local.container import Container
from local.functions import CODE, FUNCTIONS, Endpoints, Function, settings_of
from local.outcome import Success
from local.services import Services
from local.state import State

CALLS = 2_000
WARM_UP = 200
PERCENTILES = (50, 99)

FRESH, ALONE = "recall", "recall without the database"
SESSION, STORE = "SQLAlchemySession", "PostgresStore"
ONE_CHANNEL = "recall of one channel"
EMPTY, AS_LARGE = "an empty handler", "an empty handler that answers as much as recall"
OTHERS = {SESSION: "sqlalchemy_session", STORE: "postgres_store", EMPTY: "empty"}
BESIDE = Path(__file__).parent / "beside"
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


class Reader(NamedTuple):
    """Who is asked, and the events in turn."""

    container: Container
    events: list[bytes]


def measure() -> list[Table]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, ExitStack() as stack:
        state = stack.enter_context(State(Path(directory)))
        services = stack.enter_context(Services(state))
        database_url = stack.enter_context(over_tcp(services.postgres))
        turns = guild.turns()
        guild.fill(database_url, turns)
        endpoints = replace(services.endpoints, database_url=database_url)
        containers = {
            name: Container(
                function, settings, code=code, lifeline=services.lifeline, log=state.log_of(name)
            )
            for name, function, settings, code in _containers(endpoints)
        }
        for turn in turns:
            _answer(containers[FRESH], guild.posted(turn))
            _answer(containers[ALONE], guild.posted(turn))
        readers = _readers(containers, turns)
        for number in range(WARM_UP):
            for container, events in readers.values():
                _answer(container, events[number % len(events)])
        sizes = _check(readers)
        outcome = compete(
            [_contender(name, reader) for name, reader in readers.items()],
            rounds=CALLS,
            # Wall time: what a bot waits for.
            clock=time.perf_counter,
        )
        _check(readers)
    return [_compared(outcome, sizes)]


def _containers(endpoints: Endpoints) -> Iterator[tuple[str, Function, Mapping[str, str], Path]]:
    """Yield name, function, settings and code of each; all have the same memory and time-out."""
    capture = FUNCTIONS["capture"]
    settings = settings_of(capture, endpoints)
    yield FRESH, capture, settings, CODE
    yield ALONE, capture, {**settings, "DATABASE_URL": NOWHERE}, CODE
    for name, module in OTHERS.items():
        function = replace(capture, name=module, database_role="postgres")
        settings = {**settings_of(function, endpoints), "CHANNEL_ID": guild.CHANNEL}
        yield name, function, settings, BESIDE


def _readers(containers: dict[str, Container], turns: list[guild.Turn]) -> dict[str, Reader]:
    whole_guild = [guild.asked(turn) for turn in turns]
    size = len(_answer(containers[FRESH], whole_guild[0]))
    one_channel = [guild.asked(turn, limit="0") for turn in turns]
    return {
        **{name: Reader(containers[name], whole_guild) for name in (FRESH, ALONE, SESSION, STORE)},
        ONE_CHANNEL: Reader(containers[FRESH], one_channel),
        EMPTY: Reader(containers[EMPTY], [_sized(whole_guild[0], 0)]),
        AS_LARGE: Reader(containers[EMPTY], [_sized(whole_guild[0], size)]),
    }


def _sized(event: bytes, size: int) -> bytes:
    return json.dumps({**json.loads(event), "answerBytes": size}).encode()


def _contender(name: str, reader: Reader) -> Contender:
    events = itertools.cycle(reader.events)
    return Contender(name, 1, lambda: next(events), reader.container.invoke)


def _check(readers: dict[str, Reader]) -> dict[str, int]:
    """Return how many bytes each answers; one that reads less than it should measures nothing."""
    answers = {name: _answer(container, events[0]) for name, (container, events) in readers.items()}
    for name, durable, channels in (
        (FRESH, "fresh", guild.CHANNELS),
        (ONE_CHANNEL, "fresh", 1),
        (ALONE, "unavailable", guild.CHANNELS),
    ):
        found = json.loads(answers[name])
        entries = [found["current"], *found["others"]]
        assert found["durable"] == durable, f"{name}: {found['durable']}"
        assert len({it["channelId"] for it in entries}) == channels
        assert all(len(it["lines"]) == guild.LINES for it in entries)
        assert all(bool(it["summary"]) == (durable == "fresh") for it in entries)
    assert len(json.loads(answers[SESSION])) == guild.LINES
    assert len(json.loads(answers[STORE])["messages"]) == guild.LINES
    assert len(answers[AS_LARGE]) == len(answers[FRESH])
    return {name: len(answer) for name, answer in answers.items()}


def _answer(container: Container, event: bytes) -> str:
    """Return the body of the answer, which must be a success."""
    outcome = container.invoke(event)
    assert isinstance(outcome, Success), outcome
    answer = json.loads(outcome.payload)
    assert answer["statusCode"] in (200, 202), answer
    return str(answer["body"])


def _compared(outcome: Outcome, sizes: dict[str, int]) -> Table:
    def cost(name: str, percent: int) -> Figure:
        return Figure(f"{name}: p{percent}", outcome.percentile(name, percent) * 1e3, "ms")

    def ratio(mine: str, theirs: str, percent: int, aim: Aim | None = None) -> Figure:
        measured = outcome.percentile(mine, percent) / outcome.percentile(theirs, percent)
        return Figure(f"{mine} / {theirs}: p{percent}", measured, "x", aim)

    return Table(
        f"Recall of {guild.CHANNELS} channels beside others' read of one",
        [
            (
                "Wall time from giving the event to the Runtime API until the answer is there; "
                f"{CALLS:,} calls of each, interleaved, warm, each in a container of its own."
            ),
            (
                f"GET /v1/memories answers {guild.CHANNELS} channels, each with {guild.LINES} lines"
                f" of {guild.CHARACTERS} characters and a summary; the others read one conversation"
                f" of {guild.LINES} such messages."
            ),
            (
                "openai-agents' SQLAlchemySession.get_items(limit=10) by asyncpg, langgraph's "
                "PostgresStore.get by psycopg, as they document it."
            ),
            (
                "One Postgres for all, by TCP on the loopback address. Without the database: "
                "nothing listens at its address, and memory alone answers."
            ),
            "Characters of the answers: "
            + ", ".join(f"{name} {size:,}" for name, size in sizes.items())
            + ".",
        ],
        [
            *(cost(name, percent) for percent in PERCENTILES for name in outcome.rounds),
            *(
                ratio(mine, theirs, percent, at_most(1))
                for percent in PERCENTILES
                for mine in (FRESH, ALONE)
                for theirs in (SESSION, STORE)
            ),
            *(
                ratio(ONE_CHANNEL, it, percent)
                for percent in PERCENTILES
                for it in (SESSION, STORE)
            ),
            *(ratio(FRESH, AS_LARGE, percent) for percent in PERCENTILES),
        ],
    )
