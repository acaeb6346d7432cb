"""Turns per second of the writer's SQL, beside the leanest upsert and beside a commit per turn."""

import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.conninfo import make_conninfo

from benchmarks import scene
from benchmarks.contest import Contender, Outcome, compete
from benchmarks.report import Figure, Table, at_least
from local.postgres import Postgres
from schema.migrate import migrate, read
from shortterm.scope import Scope
from shortterm.work import ScopeWork, TurnWork
from writer import store
from writer.rows import changes

BATCH = 100
BATCHES = 5
ROUNDS = 9
SERVERS = 200
CHANNELS_PER_SERVER = 5
USERS_PER_SERVER = 50

# The same rows in all their columns, upserted without a ledger: what a turn comes to if nobody ever
# sends it twice.
_LEAN_SAME_ROWS = """
INSERT INTO short_term_memories AS held (
    scope, owner_id, channel_id, persona_id, persona_lineage_id,
    server_id, parent_channel_id, is_private, turns_since_refresh, last_turn_at
)
SELECT
    scope, owner_id, channel_id, nullif(persona_id, ''), nullif(lineage_id, ''),
    nullif(server_id, ''), nullif(parent_id, ''), is_private, turns,
    to_timestamp(ms / 1000.0::float8)
FROM unnest(
    string_to_array(%s, ','), string_to_array(%s, ','), string_to_array(%s, ','),
    string_to_array(%s, ','), string_to_array(%s, ','), string_to_array(%s, ','),
    string_to_array(%s, ','), string_to_array(%s, ',')::boolean[],
    string_to_array(%s, ',')::integer[], string_to_array(%s, ',')::bigint[]
) AS work (
    scope, owner_id, channel_id, persona_id, lineage_id, server_id, parent_id, is_private, turns, ms
)
ON CONFLICT ON CONSTRAINT one_row_per_scope DO UPDATE SET
    turns_since_refresh = held.turns_since_refresh + excluded.turns_since_refresh,
    last_turn_at = excluded.last_turn_at
"""
# Identity and counter, nothing else. The sums are made before, since an upsert may touch a row only
# once.
_LEAN = """
INSERT INTO short_term_memories AS held (
    scope, owner_id, channel_id, persona_id, turns_since_refresh
)
SELECT * FROM unnest(
    %s::text[], %s::text[], %s::text[], %s::text[], %s::integer[]
)
ON CONFLICT ON CONSTRAINT one_row_per_scope DO UPDATE SET
    turns_since_refresh = held.turns_since_refresh + excluded.turns_since_refresh
"""
_LEAN_ROW = """
INSERT INTO short_term_memories AS held (
    scope, owner_id, channel_id, persona_id, turns_since_refresh
)
VALUES (%s, %s, %s, %s, %s)
ON CONFLICT ON CONSTRAINT one_row_per_scope DO UPDATE SET
    turns_since_refresh = held.turns_since_refresh + excluded.turns_since_refresh
"""
# Text that the server splits: psycopg spends more on lists than the server does.
_LEAN_JOINED = _LEAN.replace("%s::text[]", "string_to_array(%s, ',')").replace(
    "%s::integer[]", "string_to_array(%s, ',')::integer[]"
)
_LEAN_WITH_LEDGER = f"""
WITH ledger AS (
    INSERT INTO applied_turns (turn_id) SELECT unnest(string_to_array(%s, ','))
    ON CONFLICT DO NOTHING
)
{_LEAN_JOINED}
"""

Batch = list[TurnWork]
Scenario = Callable[[], Batch]
Writer = Callable[[Connection[Any], Batch], object]

_numbers = itertools.count(1)
_new_places = itertools.count(1)


def measure() -> list[Table]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        postgres = Postgres(Path(directory) / "postgres")
        postgres.start()
        try:
            return [
                _measured(postgres, name, scenario, synchronous_commit)
                for name, scenario in SCENARIOS.items()
                for synchronous_commit in ("on", "off")
            ]
        finally:
            postgres.stop()


def _measured(postgres: Postgres, name: str, scenario: Scenario, synchronous_commit: str) -> Table:
    with ExitStack() as stack:
        contenders = []
        for writer, write in WRITERS.items():
            connection = stack.enter_context(_database(postgres, synchronous_commit))
            contenders.append(_contender(writer, write, connection, scenario))
        # Wall time: most of the work is done by the server.
        outcome = compete(contenders, rounds=ROUNDS, clock=time.perf_counter)
    return Table(
        f"Writer: {name}, synchronous_commit={synchronous_commit}",
        [
            (
                f"Batches of {BATCH} guild turns (two rows each), wall time, median of {ROUNDS} "
                "rounds, each writer on its own database."
            ),
            ("Lean, the same rows: every column that the writer fills, one statement, no ledger."),
            (
                "Bare: identity and counter alone, in three spellings, the sums made beforehand; "
                "with ledger is the joined text plus the ledger."
            ),
        ],
        list(_figures(outcome)),
    )


def _figures(outcome: Outcome) -> Iterator[Figure]:
    for writer in WRITERS:
        yield Figure(writer, 1 / outcome.median(writer), "t/s")
    same = "lean, the same rows"
    yield Figure(f"writer / {same}", outcome.ratio(same, "writer"), "x", at_least(0.7))
    for other in (*BARE, "bare with ledger"):
        yield Figure(f"writer / {other}", outcome.ratio(other, "writer"), "x")
    one = "writer, one commit per turn"
    yield Figure(f"writer / {one}", outcome.ratio(one, "writer"), "x", at_least(10))


def _contender(
    name: str, write: Writer, connection: Connection[Any], scenario: Scenario
) -> Contender:
    def act(batches: list[Batch]) -> None:
        for batch in batches:
            write(connection, batch)

    return Contender(name, BATCHES * BATCH, lambda: [scenario() for _ in range(BATCHES)], act)


@contextmanager
def _database(postgres: Postgres, synchronous_commit: str) -> Iterator[Connection[Any]]:
    """Yield a connection to a fresh, migrated database."""
    name = f"bench_{next(_numbers)}"
    with psycopg.connect(postgres.database_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(
        make_conninfo(postgres.database_url, dbname=name),
        autocommit=True,
        options=f"-c synchronous_commit={synchronous_commit}",
    ) as connection:
        migrate(connection, read())
        yield connection


def _busy_guilds() -> Batch:
    """Some channels are much busier than others, so a batch meets the same scope several times."""
    batch = []
    for _ in range(BATCH):
        server = min(int(scene.CHANCE.expovariate(1 / 20)), SERVERS - 1)
        channel = min(int(scene.CHANCE.expovariate(1)), CHANNELS_PER_SERVER - 1)
        user = min(int(scene.CHANCE.expovariate(1 / 10)), USERS_PER_SERVER - 1)
        batch.append(_turn(f"{server}-{user}", f"{server}-{channel}", f"{server}"))
    return batch


def _new_scopes() -> Batch:
    """Every turn its own user, server and channel, never seen before."""
    return [_turn(f"u{it}", f"c{it}", f"s{it}") for it in itertools.islice(_new_places, BATCH)]


def _known_scopes() -> Batch:
    """Every turn of a batch its own scopes, which earlier batches have written."""
    places = scene.CHANCE.sample(range(5 * BATCH), BATCH)
    return [_turn(f"u{it}", f"c{it}", f"s{it}") for it in places]


def _turn(user: str, channel: str, server: str) -> TurnWork:
    place = (channel, scene.PERSONA)
    number = next(_numbers)
    return TurnWork(
        version=1,
        turn_id=f"13000000{number:011}",
        occurred_at=1_796_000_000_000 + number,
        scopes=(
            ScopeWork(Scope("user", user, *place), "3"),
            ScopeWork(Scope("server", server, *place), "3", live=True),
        ),
        server_id=server,
    )


def _lean_rows(batch: Batch) -> list[tuple[Any, ...]]:
    turns: Counter[Scope] = Counter()
    for work in batch:
        for it in work.scopes:
            turns[it.scope] += int(it.live)
    return sorted(
        (it.kind, it.owner_id, it.channel_id, it.persona_id, n) for it, n in turns.items()
    )


def _lean_same_rows(connection: Connection[Any], batch: Batch) -> None:
    columns = zip(*changes(batch), strict=True)
    connection.execute(
        _LEAN_SAME_ROWS,
        [",".join("" if it is None else str(it) for it in column) for column in columns],
    )


def _lean(connection: Connection[Any], batch: Batch) -> None:
    connection.execute(_LEAN, [list(column) for column in zip(*_lean_rows(batch), strict=True)])


def _lean_joined(connection: Connection[Any], batch: Batch) -> None:
    connection.execute(_LEAN_JOINED, _joined_columns(batch))


def _lean_with_ledger(connection: Connection[Any], batch: Batch) -> None:
    turn_ids = ",".join(sorted(work.turn_id for work in batch))
    connection.execute(_LEAN_WITH_LEDGER, [turn_ids, *_joined_columns(batch)])


def _joined_columns(batch: Batch) -> list[str]:
    return [",".join(map(str, column)) for column in zip(*_lean_rows(batch), strict=True)]


def _lean_by_row(connection: Connection[Any], batch: Batch) -> None:
    with connection.pipeline(), connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(_LEAN_ROW, _lean_rows(batch))


def _one_by_one(connection: Connection[Any], batch: Batch) -> None:
    for work in batch:
        store.apply(connection, [work])


SCENARIOS: dict[str, Scenario] = {
    "busy guilds": _busy_guilds,
    "new scopes": _new_scopes,
    "known scopes": _known_scopes,
}
WRITERS: dict[str, Writer] = {
    "writer": store.apply,
    "lean, the same rows": _lean_same_rows,
    "bare, unnest of lists": _lean,
    "bare, unnest of joined text": _lean_joined,
    "bare, executemany": _lean_by_row,
    "bare with ledger": _lean_with_ledger,
    "writer, one commit per turn": _one_by_one,
}
BARE = ("bare, unnest of lists", "bare, unnest of joined text", "bare, executemany")
