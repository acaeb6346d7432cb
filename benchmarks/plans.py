"""The plans by which Postgres ran what it was asked, whoever asked: auto_explain, in its log."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from psycopg import Connection

from local.postgres import Postgres

_SETTINGS = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    # What a trigger runs, too.
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_format": "json",
}
_LOGGED = re.compile(r"duration: ([0-9.]+) ms  plan:\n((?:\t.*\n)+)")

Node = dict[str, Any]


class Plan(NamedTuple):
    """How one statement was run: `scans` are the nodes that touch a table, by table."""

    statement: str
    operation: str
    milliseconds: float
    pages: int
    scans: frozenset[tuple[str, str]]


def tell(connection: Connection[Any]) -> None:
    """Have every session from now on tell its plans."""
    connection.execute("LOAD 'auto_explain'")
    for name, value in _SETTINGS.items():
        connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
    connection.execute("SELECT pg_reload_conf()")


def of(postgres: Postgres, act: Callable[[], object]) -> list[Plan]:
    """Return the plans of all that the server runs during `act()`."""
    log = postgres.directory / "log"
    start = log.stat().st_size
    act()
    with log.open("rb") as told:
        told.seek(start)
        text = told.read().decode()
    return [_plan(float(duration), json.loads(plan)) for duration, plan in _LOGGED.findall(text)]


def _plan(milliseconds: float, told: dict[str, Any]) -> Plan:
    root = told["Plan"]
    return Plan(
        told["Query Text"],
        root.get("Operation", "Select"),
        milliseconds,
        root["Shared Hit Blocks"] + root["Shared Read Blocks"],
        frozenset(_scans(root, root.get("Relation Name", ""))),
    )


def _scans(node: Node, table: str) -> Iterator[tuple[str, str]]:
    """Yield table and way; a scan of an index alone counts for the table of the node above it."""
    table = node.get("Relation Name", table)
    index = node.get("Index Name")
    if arbiters := node.get("Conflict Arbiter Indexes"):
        yield table, f"conflict on {', '.join(arbiters)}"
    elif index:
        yield table, f"{node['Node Type']} {index}"
    elif node["Node Type"] in ("Seq Scan", "Tid Scan", "Sample Scan"):
        yield table, node["Node Type"]
    for below in node.get("Plans", ()):
        yield from _scans(below, table)
