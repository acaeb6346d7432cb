"""A warm capture, and reading it back, beside parsing alone and beside an SQLite session."""

import asyncio
import itertools
import json
from typing import Any

from agents import SQLiteSession

from benchmarks import lambda_function, scene
from benchmarks.contest import Contender, Outcome, compete
from benchmarks.report import Figure, Table, at_most

CHANNELS = 1_000
CHANNELS_PER_SERVER = 5
MESSAGES = 12
CHARACTERS = 200
WINDOW = 10
ROUNDS = 9

_numbers = itertools.count(1)
_texts = scene.texts(CHARACTERS)


def measure() -> list[Table]:
    sessions = _Sessions()
    lambda_function.stub_the_queue()
    lambda_function.check(_event(0, _lone_server), 202)
    found = json.loads(lambda_function.check(_asked(0, _lone_server), 200))
    assert len(found["current"]["lines"]) == WINDOW
    contenders = [
        Contender("capture", CHANNELS, _turns, _capture),
        Contender("recall", CHANNELS, _questions, lambda_function.answer_all),
        Contender("capture in a guild of 5", CHANNELS, _guild_turns, _capture),
        Contender("recall in a guild of 5", CHANNELS, _guild_questions, lambda_function.answer_all),
        Contender("capture with botocore", CHANNELS, _turns, _capture_over_botocore),
        Contender("json.loads", CHANNELS, _serialized, _parse),
        Contender("json.loads twice", CHANNELS, _serialized, _parse_twice),
        Contender("add 10", CHANNELS, lambda: _items(WINDOW), sessions.add),
        Contender("add 13", CHANNELS, lambda: _items(MESSAGES + 1), sessions.add),
        Contender("get 10", CHANNELS, lambda: None, sessions.get),
    ]
    with lambda_function.metrics_unseen():
        outcome = compete(contenders, rounds=ROUNDS)
    sessions.close()
    return [_capture_alone(outcome), _with_recall(outcome)]


def _capture_alone(outcome: Outcome) -> Table:
    return Table(
        f"Warm capture: {MESSAGES} messages of {CHARACTERS} characters, one persona",
        [
            (
                "CPU per call of the whole handler (an API Gateway event in, its answer out; "
                f"{CHANNELS} channels in turn)."
            ),
            (
                "Stubbed: the boto3 client's send_message_batch. Metrics are made, and written "
                "to /dev/null."
            ),
            (
                "The session: openai-agents' SQLiteSession in memory, one per channel as the "
                "package has it, that already holds lines."
            ),
        ],
        [
            _cost(outcome, "capture", "capture"),
            _cost(outcome, "  the same with botocore up to the socket", "capture with botocore"),
            _cost(outcome, "json.loads of the event", "json.loads"),
            _cost(outcome, "json.loads of the event and of its body", "json.loads twice"),
            _cost(outcome, "session add_items, 10 lines", "add 10"),
            _cost(outcome, "session add_items, 13 lines", "add 13"),
            Figure("capture / json.loads", outcome.ratio("capture", "json.loads"), "x"),
            Figure(
                "capture / json.loads twice",
                outcome.ratio("capture", "json.loads twice"),
                "x",
            ),
            Figure("capture / session add, 10", outcome.ratio("capture", "add 10"), "x"),
            Figure("capture / session add, 13", outcome.ratio("capture", "add 13"), "x"),
        ],
    )


def _with_recall(outcome: Outcome) -> Table:
    both = ("capture", "recall")
    guild = ("capture in a guild of 5", "recall in a guild of 5")
    return Table(
        "Warm capture plus recall",
        [
            (
                "CPU per call, as above; recall is GET /v1/memories, the session's get_items("
                f"limit={WINDOW})."
            ),
            (
                "A server with one channel answers the same ten lines as the session; a guild "
                f"of {CHANNELS_PER_SERVER} answers fifty."
            ),
        ],
        [
            _cost(outcome, "recall", "recall"),
            _cost(outcome, "recall in a guild of 5 channels", "recall in a guild of 5"),
            _cost(outcome, "session get_items", "get 10"),
            Figure(
                "capture + recall / session add 10 + get",
                outcome.ratio_of_sums(both, ("add 10", "get 10")),
                "x",
                at_most(1),
            ),
            Figure(
                "capture + recall / session add 13 + get",
                outcome.ratio_of_sums(both, ("add 13", "get 10")),
                "x",
            ),
            Figure(
                "the same in a guild of 5 / session add 10 + get",
                outcome.ratio_of_sums(guild, ("add 10", "get 10")),
                "x",
            ),
        ],
    )


def _cost(outcome: Outcome, name: str, contender: str) -> Figure:
    return Figure(name, outcome.median(contender) * 1e6, "µs")


def events(count: int) -> list[dict[str, Any]]:
    """Return `count` turns, each new, over the channels in turn."""
    return [_event(number % CHANNELS, _lone_server) for number in range(count)]


class _Sessions:
    """One session per channel, all driven by one event loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._held = [SQLiteSession(f"channel-{it}") for it in range(CHANNELS)]

    def add(self, lines: list[list[Any]]) -> None:
        async def add_all() -> None:
            for session, items in zip(self._held, lines, strict=True):
                await session.add_items(items)

        self._runner.run(add_all())

    def get(self, _: None) -> None:
        async def get_all() -> None:
            for session in self._held:
                await session.get_items(limit=WINDOW)

        self._runner.run(get_all())

    def close(self) -> None:
        for session in self._held:
            session.close()
        self._runner.close()


def _lone_server(channel: int) -> str:
    return f"lone-{channel}"


def _guild(channel: int) -> str:
    return f"guild-{channel // CHANNELS_PER_SERVER}"


def _event(channel: int, server_of: Any) -> dict[str, Any]:
    server = server_of(channel)
    contents = scene.CHANCE.sample(_texts, MESSAGES + 1)
    turn = scene.turn(next(_numbers), f"u{channel}", f"{server}-{channel}", server, contents)
    return {**scene.load_event("guild-turn"), "body": json.dumps(turn)}


def _asked(channel: int, server_of: Any) -> dict[str, Any]:
    server = server_of(channel)
    return scene.recall_event(f"u{channel}", f"{server}-{channel}", server)


def _turns() -> list[dict[str, Any]]:
    return [_event(channel, _lone_server) for channel in range(CHANNELS)]


def _guild_turns() -> list[dict[str, Any]]:
    return [_event(channel, _guild) for channel in range(CHANNELS)]


def _questions() -> list[dict[str, Any]]:
    return [_asked(channel, _lone_server) for channel in range(CHANNELS)]


def _guild_questions() -> list[dict[str, Any]]:
    return [_asked(channel, _guild) for channel in range(CHANNELS)]


def _serialized() -> list[str]:
    return [json.dumps(event) for event in _turns()]


def _items(count: int) -> list[list[dict[str, str]]]:
    return [
        [{"role": "user", "content": text} for text in scene.CHANCE.sample(_texts, count)]
        for _ in range(CHANNELS)
    ]


def _capture(given: list[dict[str, Any]]) -> None:
    lambda_function.stub_the_queue()
    lambda_function.answer_all(given)


def _capture_over_botocore(given: list[dict[str, Any]]) -> None:
    lambda_function.stub_the_network()
    lambda_function.answer_all(given)


def _parse(given: list[str]) -> None:
    for event in given:
        json.loads(event)


def _parse_twice(given: list[str]) -> None:
    for event in given:
        json.loads(json.loads(event)["body"])
