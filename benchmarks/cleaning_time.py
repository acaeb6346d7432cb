"""Whether cleaning takes linear time on hostile input, and how little on an ordinary message."""

import json
import time
from functools import partial
from pathlib import Path

from benchmarks import scene
from benchmarks.contest import Contender, compete
from benchmarks.report import Figure, Table, at_most
from capture.cleaning import clean

KB = 1_024
LENGTHS = (8 * KB, 16 * KB, 32 * KB, 64 * KB)
CALLS = 10
ROUNDS = 7
ORDINARY_CALLS = 20_000
# Twice the length: twice the time, and what a noisy machine adds; quadratic time would be 4.
PER_DOUBLING = 2.6

CASES = Path(__file__).parent.parent / "tests" / "cases" / "linear_time.json"
# The repeated part of what the cases document as Python expressions: spelled out, not evaluated.
DOCUMENTED = {
    "ticks": ("`", "x"),
    "spaces": (" ", "x"),
    "open-annotations": ("[System: This message (ID: ", ""),
    "open-brackets": ("[", ""),
    "half-emoji": ("<:a:", ""),
}
# What takes the slow path further: quoted code, brackets that do close, cuts to be mended.
OTHERS = {
    "closed annotations": ("[System: Message metadata: ref=ref_1 | x] ", ""),
    "annotations alone on a line": ("[System: Reactions on this message: x]\n", ""),
    "whole emoji": ("<:a:12345678901234567>", ""),
    "escapes": ("\\", ""),
    "code": ("`a` ``b`", ""),
}
# Without any of this, cleaning ends after three scans and the rest would not be tried.
OPENING = "<:a[System: "


def measure() -> list[Table]:
    documented = {case["id"] for case in json.loads(CASES.read_text("utf-8"))}
    assert documented == set(DOCUMENTED), documented
    hostile: dict[str, dict[int, str]] = {
        name: {length: _filled(*parts, length) for length in LENGTHS}
        for name, parts in {**DOCUMENTED, **OTHERS}.items()
    }
    hostile["growing runs of ticks"] = {length: _growing_ticks(length) for length in LENGTHS}
    hostile["nested annotations"] = {length: _nested(length) for length in LENGTHS}
    outcome = compete(
        [
            Contender(f"{name} {length}", CALLS, partial(str, text), _clean)
            for name, texts in hostile.items()
            for length, text in texts.items()
        ]
        + [
            Contender("ordinary", ORDINARY_CALLS, lambda: scene.text(200), _clean_ordinary),
            Contender("Cyrillic", ORDINARY_CALLS, lambda: _cyrillic(200), _clean_ordinary),
        ],
        rounds=ROUNDS,
        clock=time.process_time,
    )
    first, *_, last = LENGTHS
    doublings = len(LENGTHS) - 1
    worst = {
        name: outcome.ratio(f"{name} {last}", f"{name} {first}") ** (1 / doublings)
        for name in hostile
    }
    return [
        Table(
            "Cleaning hostile input",
            [
                (
                    f"CPU per call at {last // KB} KB of what tests/cases/linear_time.json says,"
                    " and of more;"
                ),
                f"each begins with {OPENING!r}, so that no early exit spares the work.",
            ],
            [Figure(name, outcome.median(f"{name} {last}") * 1e3, "ms") for name in hostile],
        ),
        Table(
            "Cleaning time per doubling of the length",
            [f"From {first // KB} to {last // KB} KB, the mean of {doublings} doublings."],
            [Figure(name, ratio, "x", at_most(PER_DOUBLING)) for name, ratio in worst.items()],
        ),
        Table(
            "Cleaning an ordinary message",
            ["CPU per call, 200 characters with nothing to clean."],
            [
                Figure("ASCII", outcome.median("ordinary") * 1e9, "ns"),
                Figure("Cyrillic", outcome.median("Cyrillic") * 1e9, "ns"),
            ],
        ),
    ]


def _filled(part: str, ending: str, length: int) -> str:
    return OPENING + part * (length // len(part)) + ending


def _growing_ticks(length: int) -> str:
    runs: list[str] = []
    size = 0
    while size < length:
        runs.append("`" * (len(runs) + 1))
        size += len(runs[-1]) + 1
    return OPENING + " ".join(runs)


def _nested(length: int) -> str:
    annotation = "[System: This message (ID: ref_1) by x "
    depth = length // (len(annotation) + 1)
    return OPENING + annotation * depth + "]" * depth


def _cyrillic(length: int) -> str:
    return scene.text(length, "Cyrillic")


def _clean(text: str) -> None:
    for _ in range(CALLS):
        clean(text)


def _clean_ordinary(text: str) -> None:
    for _ in range(ORDINARY_CALLS):
        clean(text)
