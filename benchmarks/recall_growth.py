"""Whether a recall costs more the more is remembered: it should cost what it returns."""

import json
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from statistics import median
from typing import Any

from benchmarks import isolation, lambda_function, scene
from benchmarks.report import Figure, Table, at_most
from capture.dialogue import Line
from capture.memory import Memory
from capture.window import Window, pack
from shortterm import clock
from shortterm.scope import Scope
from shortterm.work import ScopeWork

SIZES = (1_000, 100_000, 1_000_000)
CHANNELS_PER_GUILD = 5
# A turn leaves two entries, the user's and the server's.
ENTRIES_PER_GUILD = 2 * CHANNELS_PER_GUILD
LINES = 2
CALLS = 1_000
ROUNDS = 11


def measure() -> list[Table]:
    """Each size lives in a process of its own, else all would share one garbage collector."""
    rounds: dict[int, list[float]] = {size: [] for size in SIZES}
    with ExitStack() as stack:
        containers: dict[int, ProcessPoolExecutor] = {
            size: stack.enter_context(isolation.process(_fill, size)) for size in SIZES
        }
        # Fill all before any is timed, so that nothing else runs meanwhile.
        for number in range(ROUNDS + 1):
            for size, container in containers.items():
                seconds = container.submit(_recall_random_guilds, size).result()
                if number:
                    rounds[size].append(seconds / CALLS)
    first, *_, last = SIZES
    ratio = median(b / a for a, b in zip(rounds[first], rounds[last], strict=True))
    return [
        Table(
            "Recall as memory grows",
            [
                (
                    "CPU per call of the whole handler, GET /v1/memories for a channel in a guild "
                    f"of {CHANNELS_PER_GUILD} channels."
                ),
                f"{CALLS} random known guilds a round, the sizes in turn, each in its own process.",
            ],
            [
                *(Figure(f"{size:,} entries", median(rounds[size]) * 1e6, "µs") for size in SIZES),
                Figure(f"{last:,} entries / {first:,} entries", ratio, "x", at_most(1.3)),
            ],
        )
    ]


def _fill(size: int) -> None:
    lambda_function.stub_the_queue()
    memory = lambda_function.roomy_memory()
    lambda_function.remember_in(memory)
    for guild in range(size // ENTRIES_PER_GUILD):
        for channel in range(CHANNELS_PER_GUILD):
            _remember(memory, guild, channel)
    assert memory.size().entries == size
    asked = _question(0, 0)
    found = json.loads(lambda_function.check(asked, 200))
    assert len(found["others"]) == CHANNELS_PER_GUILD - 1


def _remember(memory: Memory, guild: int, channel: int) -> None:
    now = clock.now()
    lines = tuple(Line("user", "Ann", f"said {guild}", now) for _ in range(LINES))
    place = f"c{guild}-{channel}"
    scopes = [
        ScopeWork(Scope("user", f"u{guild}-{channel}", place, scene.PERSONA), None, live=False),
        ScopeWork(Scope("server", f"g{guild}", place, scene.PERSONA), None, live=True),
    ]
    window = Window(
        pack(lines), len(lines), occurred_at=now, captured_at=now, server_id=f"g{guild}"
    )
    memory.remember(f"t{guild}-{channel}", scopes, window)


def _recall_random_guilds(size: int) -> float:
    """Return the CPU seconds of CALLS recalls."""
    guilds = scene.CHANCE.choices(range(size // ENTRIES_PER_GUILD), k=CALLS)
    questions = [_question(guild, guild % CHANNELS_PER_GUILD) for guild in guilds]
    with lambda_function.metrics_unseen():
        start = time.process_time()
        lambda_function.answer_all(questions)
        return time.process_time() - start


def _question(guild: int, channel: int) -> dict[str, Any]:
    return scene.recall_event(f"u{guild}-{channel}", f"c{guild}-{channel}", f"g{guild}")
