"""What the functions ask of ten million rows: by which indexes Postgres answers, and how fast.

It fills a server first: some minutes and gigabytes.
"""

import itertools
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from psycopg import Connection

from benchmarks import many_rows, plans, scene
from benchmarks.many_rows import Place
from benchmarks.plans import Plan
from benchmarks.report import Figure, Table, at_most
from capture.durable import Durable, Reading, Wanted
from capture.patience import Away
from local.functions import as_role
from local.postgres import Postgres
from schema.migrate import migrate, read
from shortterm import clock
from shortterm.database import Database
from shortterm.notes import Category, Notes
from shortterm.scope import Scope, ScopeKind
from shortterm.settings import DatabaseSettings
from shortterm.work import NotesWork, ScopeWork, TurnWork, Work
from writer import janitor, store
from writer.settings import Settings

GB = 10**9
DISK_NEEDED = 25 * GB
# More often than Postgres plans a prepared statement for its parameters: its general plan, too.
REPEATS = 20
BATCH = 100
# What a read may touch for each row that it returns: the row, whether its channel and the channel
# above it are private, and the way through their indexes.
PAGES_PER_ROW = 20
COLD, WARM = (f"recall in the giant guild, by a {it} container" for it in ("cold", "warm"))
# Nothing of these may ever be read from end to end.
TABLES = ("short_term_memories", "applied_turns")

_SIZES = """
SELECT
    (SELECT count(*) FROM short_term_memories),
    (
        SELECT count(*) FROM short_term_memories
        WHERE live_hour >= (now() - interval '1 day') AT TIME ZONE 'UTC'
    ),
    pg_table_size('short_term_memories'),
    pg_indexes_size('short_term_memories')
"""

Act = Callable[[], object]

_numbers = itertools.count(1)


def measure() -> list[Table]:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    assert free > DISK_NEEDED, f"{free / GB:.0f} GB are free, {DISK_NEEDED / GB:.0f} are needed"
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        postgres = Postgres(Path(directory) / "postgres")
        postgres.start()
        try:
            return list(_measured(postgres))
        finally:
            # Nothing of it is kept.
            postgres.kill()


def _measured(postgres: Postgres) -> Iterator[Table]:
    with _superuser(postgres) as connection:
        for name, value in many_rows.SETTINGS.items():
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
    postgres.restart()
    with _superuser(postgres) as connection:
        migrate(connection, read())
        start = time.monotonic()
        many_rows.fill(connection)
        yield _filled(connection, time.monotonic() - start)
        plans.tell(connection)
    yield _asked({name: _told(postgres, acts) for name, acts in _acts(postgres.database_url)})


def _superuser(postgres: Postgres) -> Connection[Any]:
    return psycopg.connect(postgres.database_url, autocommit=True)


def _told(postgres: Postgres, acts: Iterable[Act]) -> list[list[Plan]]:
    """Return the plans of each statement that `acts` run on our tables; none is a full scan."""
    same: dict[str, list[Plan]] = defaultdict(list)
    for act in acts:
        for plan in plans.of(postgres, act):
            full = [table for table, way in plan.scans if way == "Seq Scan"]
            assert not set(full) & set(TABLES), f"a full scan of {full} in:\n{plan.statement}"
            if plan.scans:
                same[plan.statement].append(plan)
    assert same, "the server told no plan"
    return list(same.values())


def _filled(connection: Connection[Any], seconds: float) -> Table:
    row = connection.execute(_SIZES).fetchone()
    assert row is not None
    rows, alive, table_size, index_size = row
    return Table(
        "Rows at scale",
        [
            (
                f"{many_rows.SERVERS:,} servers and {many_rows.USERS:,} users over ninety days, one"
                f" guild of {many_rows.GIANT_ROWS:,} rows; fsync off."
            ),
        ],
        [
            Figure("rows", rows, ""),
            Figure("alive within a day", alive, ""),
            Figure("table", table_size / GB, "GB"),
            Figure("indexes", index_size / GB, "GB"),
            Figure("filling it", seconds, "s"),
        ],
    )


def _asked(told: dict[str, list[list[Plan]]]) -> Table:
    statements = {
        f"{name}: {_label(same[0])}" if len(of_act) > 1 else name: same
        for name, of_act in told.items()
        for same in of_act
    }
    return Table(
        "What the functions ask of them",
        [
            (
                f"Time in Postgres by auto_explain, without planning, the median of {REPEATS} and "
                "more. No statement reads rows or ledger from end to end:"
            ),
            *(f"{name}: {_ways(same)}" for name, same in statements.items()),
        ],
        [
            *(
                Figure(name, median(it.milliseconds for it in same), "ms")
                for name, same in statements.items()
            ),
            *(
                Figure(
                    f"{name}, of {many_rows.GIANT_LIVE} rows in {many_rows.GIANT_ROWS:,}: pages",
                    median(it.pages for it in statements[name]),
                    "",
                    at_most(PAGES_PER_ROW * many_rows.GIANT_LIVE),
                )
                for name in (COLD, WARM)
            ),
        ],
    )


def _label(plan: Plan) -> str:
    tables = sorted({table for table, _ in plan.scans})
    return f"{plan.operation.lower()} {' and '.join(tables)}"


def _ways(same: list[Plan]) -> str:
    ways: dict[str, set[str]] = defaultdict(set)
    for plan in same:
        for table, way in plan.scans:
            ways[table].add(way)
    told = (f"{table} by {', '.join(sorted(it))}" for table, it in sorted(ways.items()))
    return f"{'; '.join(told)}; {median(it.pages for it in same):,.0f} pages"


def _acts(database_url: str) -> Iterator[tuple[str, Iterable[Act]]]:
    yield from _reads(_connected(as_role(database_url, "stm_capture")))
    settings = Settings(database_url=as_role(database_url, "stm_writer"))
    database = Database(settings, application_name="shortterm-writer")
    for name, batch in (
        (f"{BATCH} turns of known scopes", _known_scopes),
        (f"{BATCH} turns of new scopes", _new_scopes),
        (f"{BATCH} notes", _notes),
    ):
        yield name, _repeated(partial(_apply, database, batch))
    yield (
        "the janitor",
        [lambda: janitor.tidy(database, settings, clock.now(), lambda: 10 * clock.MINUTE_MS)],
    )
    durable = _connected(as_role(database_url, "stm_capture"))
    yield (
        "forgetting a channel",
        _repeated(
            lambda: durable.forget("channel", _place().user_scope.channel_id, now=clock.now())
        ),
    )
    yield (
        "forgetting a user",
        _repeated(lambda: durable.forget("user", _place().user_scope.owner_id, now=clock.now())),
    )


def _reads(durable: Durable) -> Iterator[tuple[str, Iterable[Act]]]:
    giants = [many_rows.giant(number) for number in range(many_rows.GIANT_LIVE)]
    yield (
        COLD,
        _repeated(lambda: _recall_giant(durable, giants[:1])),
    )
    yield (
        WARM,
        _repeated(lambda: _recall_giant(durable, giants)),
    )
    yield (
        "rows for a prompt in the giant guild",
        _repeated(lambda: _recall(durable, giants[:1], many_rows.GIANT, for_prompt=True)),
    )
    yield "recall in a guild", _repeated(lambda: _recall_in_guild(durable, "server"))
    yield "recall of a user in a guild", _repeated(lambda: _recall_in_guild(durable, "user"))
    yield (
        "recall of a user everywhere",
        _repeated(lambda: _recall(durable, [_place().user_scope], None, everywhere=True)),
    )
    yield "the rows of two scopes", _repeated(lambda: durable.rows_of(_place().scopes, obeyed=0))
    yield (
        "export of a user",
        _repeated(lambda: durable.export(_place().user_scope.owner_id, None, most=1_000, obeyed=0)),
    )


def _repeated(act: Act) -> Iterable[Act]:
    return itertools.repeat(act, REPEATS)


def _connected(database_url: str) -> Durable:
    """Return what the capture function reads with; its first connection may take too long."""
    durable = Durable(DatabaseSettings(database_url), since=clock.now(), clock=clock.now)
    for _ in range(10):
        try:
            durable.rows_of(many_rows.place(0).scopes, obeyed=0)
        except Away:
            time.sleep(0.5)
    return durable


def _place() -> Place:
    return many_rows.place(scene.CHANCE.randrange(many_rows.USERS))


def _recall_giant(durable: Durable, scopes: list[Scope]) -> None:
    found = _recall(durable, scopes, many_rows.GIANT)
    assert len(found.rows) == many_rows.GIANT_LIVE, len(found.rows)


def _recall_in_guild(durable: Durable, kind: ScopeKind) -> None:
    place = _place()
    asked = place.server_scope if kind == "server" else place.user_scope
    # A thread above which the container knows nothing.
    _recall(durable, [asked], place.server_id, channels=(_place().user_scope.channel_id,))


def _recall(
    durable: Durable,
    scopes: list[Scope],
    server_id: str | None,
    *,
    everywhere: bool = False,
    for_prompt: bool = False,
    channels: tuple[str, ...] = (),
) -> Reading:
    """Read what the first of `scopes` asks for. Raises Away if it takes too long for a reply."""
    now = clock.now()
    wanted = Wanted(
        asked=scopes[0],
        server_id=server_id,
        lineage_id=None,
        everywhere=everywhere,
        sees_private=False,
        for_prompt=for_prompt,
        scopes=tuple(scopes),
        channels=channels,
        limit=50,
        alive_since=now - 12 * clock.HOUR_MS,
        summary_alive_since=now - 24 * clock.HOUR_MS,
    )
    return durable.read(wanted, obeyed=many_rows.TOMBSTONES)


def _apply(database: Database, batch: Callable[[], Sequence[Work]]) -> None:
    works = batch()
    database.run(lambda connection: store.apply(connection, works))


def _known_scopes() -> list[TurnWork]:
    return [_turn(_place()) for _ in range(BATCH)]


def _new_scopes() -> list[TurnWork]:
    return [_turn(many_rows.new_place(next(_numbers))) for _ in range(BATCH)]


def _turn(place: Place) -> TurnWork:
    return TurnWork(
        version=1,
        turn_id=f"19{next(_numbers):017}",
        occurred_at=clock.now(),
        captured_at=clock.now(),
        scopes=(ScopeWork(place.user_scope, "3"), ScopeWork(place.server_scope, "3", live=True)),
        server_id=place.server_id,
    )


def _notes() -> list[NotesWork]:
    now = clock.now()
    notes = Notes(scene.text(300), now, (Category("mood", now, "calm"),))
    return [
        NotesWork(
            version=1,
            kind="notes",
            captured_at=now,
            scopes=(ScopeWork(place.server_scope, "3", live=True),),
            notes=notes,
            server_id=place.server_id,
        )
        for place in (_place() for _ in range(BATCH))
    ]
