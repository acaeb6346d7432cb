"""Messages that no writer can apply, of every kind that a queue may hold. Pure."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

# The harness forbids rows of such an owner, so that Postgres refuses what the writer could read.
REFUSED_OWNER = "refused"
# Of a batch that is applied in the order of capture, first and last.
FIRST_MS = 0
LAST_MS = 250_000_000_000_000


def poison(rng: Random, name: str) -> str:
    """Return the body of a poison message; no two of different names are equal."""
    return rng.choice(_KINDS)(name)


def refused(name: str, captured_at: int = LAST_MS) -> str:
    """Return well-formed work that the database refuses."""
    return json.dumps(_work(name, capturedAt=captured_at, scopes=[_scope(REFUSED_OWNER)]))


def _work(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "turnId": f"poison-{name}",
        "occurredAt": 1_790_000_000_000,
        "scopes": [_scope("u1")],
        **fields,
    }


def _scope(owner_id: str) -> dict[str, Any]:
    return {"scope": {"kind": "user", "ownerId": owner_id, "channelId": "c1"}, "live": True}


def _without_scopes(name: str) -> str:
    work = _work(name)
    del work["scopes"]
    return json.dumps(work)


_KINDS: tuple[Callable[[str], str], ...] = (
    refused,
    lambda name: refused(name, FIRST_MS),
    lambda name: f"not work {name}",
    lambda name: f"ünwörk 🧨 {name}",
    lambda name: json.dumps([name]),
    lambda name: json.dumps(name),
    lambda name: "[" * 5_000 + name,
    lambda name: json.dumps(_work(name))[:-2],
    lambda name: json.dumps(_work(name, version=2)),
    lambda name: json.dumps(_work(name, kind="dream")),
    lambda name: json.dumps(_work(name, occurredAt=-1)),
    lambda name: json.dumps(_work(name, scopes=[])),
    lambda name: json.dumps(_work(name, scopes=[_scope("u:1")])),
    lambda name: json.dumps(_work(f"{name}\u0000")),
    _without_scopes,
)
