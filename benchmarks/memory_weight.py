"""What an entry really weighs, against the UTF-8 length of its text and against the accounting."""

import gc
import json
import tracemalloc
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks import isolation, lambda_function, scene
from benchmarks.process_memory import resident
from benchmarks.report import Figure, Table, at_least, at_most
from capture import turn
from capture.memory import Memory
from capture.passive_capture import Captured, capture
from shortterm import clock

TURNS = 20_000
LINES = 10
CHARACTERS = 400
USERS_PER_CHANNEL = 10
CHANNELS_PER_SERVER = 20
# How often each turn's scopes are written: superseded entries may leave something behind.
REPEATS = 2
WORST, MIX, REPEATED = "every turn its own server", "realistic mix", "every turn twice"


class Weight(NamedTuple):
    """Bytes of one memory; `text` counts a window once, however many entries share it."""

    traced: int
    accounted: int
    text: int
    text_by_entry: int


def measure() -> list[Table]:
    worst = {script: _weigh(WORST, script) for script in scene.ALPHABETS}
    mix = {script: _weigh(MIX, script) for script in scene.ALPHABETS}
    repeated = _weigh(REPEATED, "ASCII")
    resident, _, text, _ = isolation.alone(_fill, WORST, "ASCII", False)
    about = (
        f"{TURNS:,} windows of {LINES} lines of {CHARACTERS} characters, captured from JSON; "
        "user's and server's entry held."
    )
    return [
        Table(
            f"Memory per entry, {WORST}",
            [
                about,
                "Real bytes by tracemalloc after a collection; each window's text counted once.",
            ],
            [
                *_figures(worst),
                Figure("ASCII: growth of the process / text", resident / text, "x"),
                Figure(
                    "ASCII, written twice: real bytes / text",
                    repeated.traced / repeated.text,
                    "x",
                    at_most(1.5),
                ),
                Figure(
                    "ASCII, written twice: accounted / real bytes",
                    repeated.accounted / repeated.traced,
                    "x",
                    at_least(0.95),
                ),
            ],
        ),
        Table(
            f"Memory per entry, {MIX}",
            [
                about,
                (
                    f"{USERS_PER_CHANNEL} users per channel, {CHANNELS_PER_SERVER} channels per "
                    "server, in no order."
                ),
            ],
            list(_figures(mix)),
        ),
    ]


def _figures(weights: dict[str, Weight]) -> Iterator[Figure]:
    for script, it in weights.items():
        yield Figure(f"{script}: real bytes per window", it.traced / TURNS, "B")
    for script, it in weights.items():
        yield Figure(f"{script}: real bytes / text", it.traced / it.text, "x", at_most(1.5))
    for script, it in weights.items():
        yield Figure(f"{script}: real bytes / text per entry", it.traced / it.text_by_entry, "x")
    for script, it in weights.items():
        real = it.accounted / it.traced
        yield Figure(f"{script}: accounted / real bytes", real, "x", at_least(0.95))


def _weigh(kind: str, script: str) -> Weight:
    traced, *accounts = isolation.alone(_fill, kind, script, True)
    return Weight(traced, *accounts)


def _fill(kind: str, script: str, trace: bool) -> tuple[int, int, int, int]:
    """Return what a filled memory weighs (traced, or by the process), and its accounts."""
    lambda_function.stub_the_queue()
    texts = scene.texts(CHARACTERS, script)
    with lambda_function.metrics_unseen():
        _remember_all(lambda_function.roomy_memory(), kind, texts, 100)
    memory = lambda_function.roomy_memory()
    gc.collect()
    if trace:
        tracemalloc.start()
    before = _weight_now(trace)
    with lambda_function.metrics_unseen():
        text, text_by_entry = _remember_all(memory, kind, texts, TURNS)
    gc.collect()
    return _weight_now(trace) - before, memory.size().bytes, text, text_by_entry


def _weight_now(trace: bool) -> int:
    return tracemalloc.get_traced_memory()[0] if trace else resident()


def _remember_all(memory: Memory, kind: str, texts: list[str], count: int) -> tuple[int, int]:
    """Capture `count` turns; return the bytes of the text held, by window and by entry."""
    windows: dict[tuple[str, str], int] = {}
    entries: dict[tuple[str, str], int] = {}
    for number, (user, channel, server) in enumerate(_places(kind, count)):
        contents = scene.CHANCE.sample(texts, LINES)
        body = json.dumps(scene.turn(number, user, channel, server, contents))
        captured = capture(
            turn.decode(body),
            memory,
            lambda_function.outbox(),
            request_id="r",
            now=clock.now(),
            max_lines=LINES,
        )
        assert isinstance(captured, Captured)
        assert [it.window.length for it in captured.entries] == [LINES, LINES]
        size = sum(len(content.encode()) for content in contents)
        windows[user, channel] = entries[user, channel] = entries[server, channel] = size
    return sum(windows.values()), sum(entries.values())


def _places(kind: str, count: int) -> Iterator[tuple[str, str, str]]:
    """Yield user, channel and server of each turn; every user's last turn in a channel is held."""
    numbers = list(range(count))
    if kind == MIX:
        # Whoever speaks last in a channel shares the window with the server.
        scene.CHANCE.shuffle(numbers)
    for _ in range(REPEATS if kind == REPEATED else 1):
        for number in numbers:
            channel = number // USERS_PER_CHANNEL if kind == MIX else number
            server = channel // CHANNELS_PER_SERVER if kind == MIX else number
            yield f"{10**18 + number}", f"{2 * 10**18 + channel}", f"{3 * 10**18 + server}"
