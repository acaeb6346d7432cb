"""From the start of a function's process until it first asks for work, from the built artifacts."""

import re
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from benchmarks.contest import Contender, Outcome, compete
from benchmarks.report import Figure, Table, at_most
from infra.artifacts import rehearsal
from infra.artifacts.build import build
from local.container import Container
from local.functions import FUNCTIONS, Endpoints, Function, settings_of
from local.layout import layout
from local.lifeline import Lifeline

ROUNDS = 15
IMPORT_ROUNDS = 5
SHOWN = 10
# No event ever comes, so nobody calls there.
_NOWHERE = Endpoints(
    database_url="postgresql://nobody@127.0.0.1:1/nothing",
    queue_url="http://127.0.0.1:1/work",
    dlq_url="http://127.0.0.1:1/dead",
    sqs_endpoint="http://127.0.0.1:1",
)
# What no function that sends to SQS with boto3 can do without.
_FLOOR = Function("floor", timeout_seconds=10, memory_mb=512, database_role="nobody")
_FLOOR_CODE = """\
import boto3

client = boto3.client("sqs")


def handler(event, context):
    return {}
"""


def measure() -> list[Table]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, Lifeline() as lifeline:
        code, bare = _prepare(Path(directory))
        starts = {
            "floor: boto3 and an SQS client": _Starts(_FLOOR, code, lifeline),
            "capture": _Starts(FUNCTIONS["capture"], code, lifeline),
            "capture without bytecode": _Starts(FUNCTIONS["capture"], bare, lifeline),
            "writer": _Starts(FUNCTIONS["writer"], code, lifeline),
        }
        contenders = [Contender(name, 1, it.clear, it.start) for name, it in starts.items()]
        # Wall time: what a bot waits for.
        outcome = compete(contenders, rounds=ROUNDS, clock=time.perf_counter)
        return [_compared(outcome), _imports(code)]


class _Starts:
    """Starts one container after the other."""

    def __init__(self, function: Function, code: Path, lifeline: Lifeline) -> None:
        self._function, self._code, self._lifeline = function, code, lifeline
        self._container: Container | None = None

    def clear(self) -> None:
        if self._container:
            self._container.kill()

    def start(self, _: None) -> None:
        # No bytecode is written, as on Lambda, whose file system is read-only.
        self._container = Container(
            self._function,
            {**settings_of(self._function, _NOWHERE), "PYTHONDONTWRITEBYTECODE": "1"},
            code=self._code,
            lifeline=self._lifeline,
        )
        if failure := self._container.wait_until_ready():
            raise RuntimeError(str(failure))


def _prepare(directory: Path) -> tuple[Path, Path]:
    """Return the unpacked artifacts and the floor function: as built, and without bytecode."""
    floor = directory / "source" / "functions" / _FLOOR.name
    floor.mkdir(parents=True)
    (floor / "app.py").write_text(_FLOOR_CODE, "utf-8")
    artifacts, code, bare = (directory / name for name in ("artifacts", "code", "bare"))
    rehearsal.build_all(artifacts)
    build(floor, artifacts / "functions" / _FLOOR.name)
    rehearsal.lay_out(artifacts, code)
    bare.mkdir()
    for name in ("task", "opt"):
        bytecode = shutil.ignore_patterns("__pycache__")
        shutil.copytree(code / name, bare / name, ignore=bytecode)
    # The runtime client's bytecode is Lambda's own.
    (bare / "runtime").symlink_to(code / "runtime")
    return code, bare


def _compared(outcome: Outcome) -> Table:
    floor = next(iter(outcome.rounds))
    return Table(
        "Cold start",
        [
            (
                "From the start of the process to the runtime client's first request for work, "
                f"wall time, median of {ROUNDS} interleaved starts."
            ),
            "All from the built artifacts, compiled, on the same layers.",
        ],
        [
            *(Figure(name, outcome.median(name) * 1000, "ms") for name in outcome.rounds),
            Figure("capture / floor", outcome.ratio("capture", floor), "x", at_most(1.25)),
            Figure(
                "capture / capture without bytecode",
                outcome.ratio("capture", "capture without bytecode"),
                "x",
                at_most(0.6),
            ),
            Figure("writer / floor", outcome.ratio("writer", floor), "x"),
        ],
    )


def _imports(code: Path) -> Table:
    rounds = [_seconds_by_package(code) for _ in range(IMPORT_ROUNDS)]
    costs = {name: median(it.get(name, 0) for it in rounds) for name in rounds[0]}
    dearest = sorted(costs, key=lambda name: -costs[name])[:SHOWN]
    return Table(
        "Where a cold start of capture goes",
        [
            (
                "Time in a package's own modules (-X importtime), without what they import; making "
                "the SQS client counts for capture."
            )
        ],
        [Figure(name, costs[name] * 1000, "ms") for name in dearest],
    )


def _seconds_by_package(code: Path) -> dict[str, float]:
    function = FUNCTIONS["capture"]
    place = layout(code, function.name)
    done = subprocess.run(
        [*place.python, "-X", "importtime", "-c", f"import {function.name}.app"],
        cwd=place.task_root,
        env={
            **settings_of(function, _NOWHERE),
            "PYTHONPATH": ":".join(map(str, place.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = defaultdict(float)
    for own, package in re.findall(r"^import time: +(\d+) \| +\d+ \| +(\w+)", done.stderr, re.M):
        seconds[package] += int(own) / 1e6
    return seconds
