"""A container that is fed a million scopes: what it accounts for, and what the process takes."""

import gc
import time
from collections.abc import Iterator

from benchmarks import lambda_function, scene
from benchmarks.process_memory import peak, resident
from benchmarks.report import Figure, Table, at_least, at_most
from capture.dialogue import Line
from capture.memory import Memory
from capture.window import Window, pack
from shortterm import clock
from shortterm.notes import Notes
from shortterm.scope import Scope
from shortterm.work import ScopeWork

TURNS = 500_000
SCOPES_PER_TURN = 2
LINES = 4
CHARACTERS = 120
# Every so many turns a bot attaches a summary, a channel is private, an older entry is read.
SUMMARY_EVERY, PRIVATE_EVERY, READ_EVERY = 20, 10, 7
MB = 2**20


def measure() -> list[Table]:
    texts = scene.texts(CHARACTERS)
    bound = lambda_function.SETTINGS.memory_max_bytes
    memory = lambda_function.roomy_memory(bound)
    gc.collect()
    before = resident()
    began = time.perf_counter()
    largest = highest = 0
    for number, accounted in enumerate(_fed(memory, texts, TURNS)):
        highest = max(highest, accounted)
        if number % 10_000 == 0:
            largest = max(largest, resident())
    seconds = time.perf_counter() - began
    gc.collect()
    held = memory.size()
    growth = max(largest, resident()) - before
    found = _found(memory)
    return [
        Table(
            f"Memory under load: {TURNS * SCOPES_PER_TURN:,} scopes, each seen once",
            [
                "Memory itself, not the handler: the turns are decoded and packed already.",
                f"{TURNS:,} turns of {LINES} lines of {CHARACTERS} characters, all ids new.",
                f"A summary on one in {SUMMARY_EVERY}; one channel in {PRIVATE_EVERY} is private.",
                f"The bound is MEMORY_MAX_BYTES as it is by default: {bound / MB:.0f} MB.",
                "Growth: resident bytes (/proc) above those before the first turn.",
            ],
            [
                Figure("accounted / bound, after any turn", highest / bound, "x", at_most(1)),
                Figure("accounted / bound, at the end", held.bytes / bound, "x", at_least(0.99)),
                Figure("growth of the process, at its highest", growth / MB, "MB"),
                Figure("growth / accounted", growth / held.bytes, "x", at_most(1.35)),
                Figure("growth beside what is accounted", (growth - held.bytes) / MB, "MB"),
                Figure("the whole process, at its highest", peak() / MB, "MB"),
                Figure("entries held", held.entries, ""),
                Figure("entries that its readers find / held", found / held.entries, "x"),
                Figure("time per turn, evicting", seconds / TURNS * 1e6, "µs"),
            ],
        )
    ]


def _fed(memory: Memory, texts: list[str], turns: int) -> Iterator[int]:
    """Feed `turns`, and yield after each what the memory accounts for."""
    for number in range(turns):
        scopes = _scopes(number)
        memory.remember(f"13000000{number:011}", scopes, _window(number, texts))
        if number % SUMMARY_EVERY == 0:
            _summarize(memory, scopes[1].scope, number)
        if number % PRIVATE_EVERY == 0:
            memory.private_channels.learn({scopes[0].scope.channel_id: True})
        if number % READ_EVERY == 0:
            memory.get(_scopes(number // 2)[0].scope)
        yield memory.size().bytes


def _scopes(number: int) -> tuple[ScopeWork, ScopeWork]:
    channel_id = f"{2 * 10**18 + number}"
    user_scope = Scope("user", f"{10**18 + number}", channel_id, scene.PERSONA)
    server_scope = Scope("server", f"{3 * 10**18 + number}", channel_id, scene.PERSONA)
    return ScopeWork(user_scope, "3"), ScopeWork(server_scope, "3", live=True)


def _window(number: int, texts: list[str]) -> Window:
    now = clock.now()
    said = (texts[(number + n) % len(texts)] for n in range(LINES))
    lines = tuple(Line("user", "Ann", text, now, f"{10**18 + number}") for text in said)
    return Window(
        pack(lines),
        LINES,
        now,
        now,
        server_id=f"{3 * 10**18 + number}",
        server_name="Harbour",
        channel_name="general",
        is_private=number % PRIVATE_EVERY == 0,
    )


def _summarize(memory: Memory, scope: Scope, number: int) -> None:
    now = clock.now()
    told = Notes(f"{number}: {'about tides ' * 20}", now)
    entry = memory.get(scope)
    if entry is not None:
        memory.note(entry, lambda it: it.with_notes(told, None, now=now))


def _found(memory: Memory) -> int:
    """Return how many entries a reader of every owner that was ever seen finds."""
    return sum(
        len(list(memory.of_owner(it.scope.kind, it.scope.owner_id)))
        for number in range(TURNS)
        for it in _scopes(number)
    )
