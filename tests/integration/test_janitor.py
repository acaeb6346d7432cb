"""The janitor on a real Postgres: what is past its time goes, in small steps, and nothing else."""

from types import SimpleNamespace

import psycopg
import pytest
from given import HOUR, NOW

from shortterm.database import Database, Unavailable
from writer import janitor
from writer.settings import Settings

DAY = 24 * HOUR
SETTINGS = {
    "row_retention_days": 90,
    "ledger_retention_days": 15,
    "tombstone_retention_days": 15,
}


@pytest.fixture
def tidy(writer_url):
    """Run the janitor at NOW; settings and limits as named."""
    database = Database(Settings(database_url=writer_url), application_name="janitor")

    def run(remaining_ms=lambda: 30_000, batch=janitor.BATCH, **settings):
        chosen = Settings(database_url=writer_url, **{**SETTINGS, **settings})
        return janitor.tidy(database, chosen, NOW, remaining_ms, batch)

    yield run
    database.close()


@pytest.fixture
def row(sql):
    """Insert a row that is `age` ms old in every respect but those named."""

    def insert(channel, age, *, updated=None, summary=None, categories="{}", turned=None):
        times = [(NOW - it) / 1000 for it in (age, updated or age, turned or age)]
        sql(
            "INSERT INTO short_term_memories (scope, owner_id, channel_id, summary, categories,"
            " created_at, updated_at, last_turn_at) VALUES ('user', 'u', %s, %s, %s,"
            " to_timestamp(%s), to_timestamp(%s), to_timestamp(%s))",
            *(channel, summary, categories, *times),
        )

    return insert


@pytest.fixture
def remembered(sql):
    """The ids of the turns in the ledger."""
    return lambda: {it for (it,) in sql("SELECT turn_id FROM applied_turns")}


def fill_ledger(sql, *ages):
    for number, age in enumerate(ages):
        sql(
            "INSERT INTO applied_turns VALUES (%s, to_timestamp(%s))",
            *(f"t{number}", (NOW - age) / 1000),
        )


def bury(sql, *ages):
    """Set tombstones that are `ages` ms old; the trigger would set the time to that of today."""
    sql("ALTER TABLE tombstones DISABLE TRIGGER USER")
    for number, age in enumerate(ages):
        sql(
            "INSERT INTO tombstones VALUES (%s, 'user', 'u', to_timestamp(%s))",
            *(number, (NOW - age) / 1000),
        )


def test_an_empty_row_past_its_time_goes(tidy, row, rows):
    row("old", 90 * DAY + HOUR)
    row("young", 90 * DAY - HOUR)
    assert tidy() == (1, 0, 0, True)
    assert {key[2] for key in rows()} == {"young"}


@pytest.mark.parametrize(
    "reason",
    [{"summary": "tides"}, {"categories": '{"mood": "calm"}'}],
    ids=["summary", "category"],
)
def test_a_row_that_somebody_wrote_notes_in_stays(tidy, row, rows, reason):
    row("noted", 900 * DAY, **reason)
    assert tidy().rows == 0
    assert len(rows()) == 1


@pytest.mark.parametrize("sign", ["updated", "turned"])
def test_a_row_with_one_late_sign_of_life_stays(tidy, row, sign):
    row("alive", 900 * DAY, **{sign: DAY})
    assert tidy().rows == 0


def test_no_row_goes_before_its_time_within_the_hour(tidy, row):
    """NOW is 53 minutes past the hour."""
    row("lives for a minute", 90 * DAY - 60_000)
    row("lived a minute too long", 90 * DAY + 60_000)
    assert tidy().rows == 0
    row("lived an hour too long", 90 * DAY + HOUR)
    assert tidy().rows == 1


def test_the_ledger_forgets_turns_that_cannot_come_again(tidy, sql, remembered):
    fill_ledger(sql, 15 * DAY + 1000, 15 * DAY - 1000, 0)
    assert tidy() == (0, 1, 0, True)
    assert remembered() == {"t1", "t2"}


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({"tombstone_retention_days": 2}, {0, 1}),
        ({"tombstone_retention_days": 1, "memory_ttl_hours": 72}, {0, 1, 2}),
        ({"tombstone_retention_days": 1, "summary_ttl_hours": 72}, {0, 1, 2}),
    ],
)
def test_a_tombstone_outlives_whatever_it_keeps_away(tidy, sql, settings, left):
    bury(sql, 0, DAY + HOUR, 2 * DAY + HOUR, 3 * DAY + HOUR)
    assert tidy(**settings).tombstones == 4 - len(left)
    assert {it for (it,) in sql("SELECT number FROM tombstones")} == left


def test_each_batch_is_a_transaction_of_its_own(tidy, sql, remembered):
    """What is seen from outside between two batches."""
    fill_ledger(sql, *[20 * DAY] * 5)
    seen = []

    def remaining():
        seen.append(len(remembered()))
        return 30_000

    assert tidy(remaining, batch=2) == (0, 5, 0, True)
    assert seen == [5, 3, 1, 0, 0]


def test_the_oldest_go_first(tidy, sql, remembered):
    fill_ledger(sql, 17 * DAY, 19 * DAY, 18 * DAY)
    time_left = iter([30_000, 30_000, 0, 0, 0])
    tidy(lambda: next(time_left), batch=1)
    assert remembered() == {"t0"}


def test_it_stops_in_time_and_says_so(tidy, sql, row, remembered):
    row("old", 100 * DAY)
    fill_ledger(sql, *[20 * DAY] * 5)
    time_left = iter([30_000, 12_000, 11_999, 11_999, 4_000])
    assert tidy(lambda: next(time_left), batch=2) == (0, 4, 0, False)
    assert len(remembered()) == 1


def test_a_backlog_of_rows_keeps_neither_ledger_nor_tombstones_from_their_turn(tidy, sql, row):
    for number in range(5):
        row(f"old{number}", 100 * DAY)
    fill_ledger(sql, 20 * DAY)
    time_left = iter([30_000, 30_000, 30_000, 30_000, 4_000])
    assert tidy(lambda: next(time_left), batch=2) == (4, 1, 0, False)


def test_without_time_nothing_is_begun(tidy, sql, row, remembered):
    row("old", 100 * DAY)
    fill_ledger(sql, 20 * DAY)
    assert tidy(lambda: 4_999) == (0, 0, 0, False)
    assert len(remembered()) == 1


def test_a_row_that_a_writer_holds_is_left_alone(tidy, row, rows, writer_url):
    """Waiting for it would take the statement's whole time, and end in an error."""
    row("held", 100 * DAY)
    row("free", 100 * DAY)
    with psycopg.connect(writer_url) as writer:
        writer.execute("SELECT FROM short_term_memories WHERE channel_id = 'held' FOR UPDATE")
        assert tidy() == (1, 0, 0, True)
    assert {key[2] for key in rows()} == {"held"}


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (janitor._TIDY_ROWS, "memories_by_hour"),
        (janitor._TIDY_LEDGER, "applied_turns_by_time"),
    ],
)
def test_the_oldest_are_found_by_an_index_in_their_order(database_url, statement, index):
    with psycopg.connect(database_url) as connection:
        connection.execute("SET enable_seqscan = off")
        explained = connection.execute(
            "EXPLAIN " + statement, {"before": NOW, "batch": 1}
        ).fetchall()
    plan = "\n".join(line for (line,) in explained)
    assert f"Index Scan using {index}" in plan
    assert "Sort" not in plan


@pytest.fixture
def app(app_of, writer_url):
    return app_of("writer", DATABASE_URL=writer_url)


CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: 30_000)


def test_the_scheduled_event_tidies_and_answers_how_much(app, sql, emitted):
    sql("INSERT INTO applied_turns VALUES ('t1', now() - interval '16 days'), ('t2', now())")
    answer = app.handler({"action": "tidy"}, CONTEXT)
    assert answer == {"rows": 0, "ledger": 1, "tombstones": 0, "complete": True}
    counted = emitted()
    assert (counted["RowsTidied"], counted["LedgerTidied"], counted["TombstonesTidied"]) == (
        0,
        1,
        0,
    )


@pytest.mark.parametrize(
    "event", [{}, None, [], "CANARY", {"action": "CANARY"}, {"Records": "CANARY"}, {"CANARY": 1}]
)
def test_an_event_of_neither_shape_is_refused_without_quoting_it(app, event):
    with pytest.raises(ValueError, match="expected an SQS event") as refused:
        app.handler(event, CONTEXT)
    assert "CANARY" not in str(refused.value)


def test_when_postgres_is_away_it_raises_and_quotes_nothing(app_of, logged):
    app = app_of("writer", DATABASE_URL="postgresql://CANARY@127.0.0.1:1/shortterm")
    with pytest.raises(Unavailable, match=r"\Athe janitor could not finish: see the log\Z"):
        app.handler({"action": "tidy"}, CONTEXT)
    assert "The janitor stopped" in logged()


def test_what_it_may_not_delete_is_an_error_told_by_its_type(app, sql, logged):
    sql("REVOKE DELETE ON tombstones FROM stm_writer")
    with pytest.raises(Unavailable):
        app.handler({"action": "tidy"}, CONTEXT)
    assert "InsufficientPrivilege" in logged()


def test_what_was_deleted_before_an_error_is_counted(tidy, sql, emitted):
    sql("REVOKE DELETE ON tombstones FROM stm_writer")
    fill_ledger(sql, 20 * DAY)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tidy()
    assert emitted()["LedgerTidied"] == 1
