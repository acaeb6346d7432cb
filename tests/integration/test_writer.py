"""The writer on a real Postgres: exactly once in effect, whatever comes twice, late or broken."""

import json
import threading
import time
from datetime import UTC, datetime

import psycopg
import pytest
from given import NOW, failures, sqs, work
from psycopg.conninfo import make_conninfo

from shortterm.database import Database
from shortterm.scope import Scope
from shortterm.settings import DatabaseSettings
from shortterm.work import ScopeWork, TurnWork
from writer import store

USERS = ("user", "u", "c", "7")
SERVERS = ("server", "s", "c", "7")


def at(ms):
    return datetime.fromtimestamp(ms / 1000, UTC)


def test_the_sample_turn_makes_its_rows(writer, event, rows):
    assert writer.handler(event("sqs-one-turn"), None) == {"batchItemFailures": []}
    found = rows()
    assert set(found) == {("user", "201", "301", "7"), ("server", "101", "301", "7")}
    live = found["server", "101", "301", "7"]
    assert live["turns_since_refresh"] == 1
    assert live["persona_lineage_id"] == "3"
    assert live["server_id"] == "101"
    assert live["last_turn_at"] == at(1796031200000)
    assert (live["summary"], live["categories"], live["last_refreshed_turn"]) == (None, {}, 0)
    assert found["user", "201", "301", "7"]["turns_since_refresh"] == 0


def test_of_the_sample_batch_a_repeat_counts_once_and_the_poison_comes_back(writer, event, rows):
    sample = event("sqs-batch-with-repeat-and-poison")
    poison = sample["Records"][3]["messageId"]
    assert failures(writer.handler(sample, None)) == [poison]
    counts = {key[:3]: row["turns_since_refresh"] for key, row in rows().items()}
    assert counts == {
        ("user", "201", "301"): 0,
        ("server", "101", "301"): 1,
        ("user", "201", "401"): 1,
        ("user", "201", "302"): 0,
        ("server", "101", "302"): 1,
    }


def test_the_metrics_tell_applied_repeated_and_refused(writer, emitted):
    writer.handler(sqs(work("t1"), work("t1"), work("t2"), "not json"), None)
    counted = emitted()
    assert (counted["TurnsApplied"], counted["TurnsRepeated"]) == (2, 1)
    assert counted["WorkRefused"] == 1


def test_what_is_refused_is_logged_by_the_id_of_its_message(writer, logged):
    unknown, bad = "not json", work("t\0")
    writer.handler(sqs(work("t1"), unknown, bad), None)
    refused = [line for line in logged().splitlines() if "Work was refused" in line]
    assert [json.loads(line)["message_id"] for line in refused] == ["m1", "m2"]


def test_the_same_turn_delivered_ten_times_counts_once(write, rows):
    for _ in range(5):
        assert write(work("t1"), work("t1")) == []
    assert rows()[SERVERS]["turns_since_refresh"] == 1


def test_the_same_row_twice_in_a_batch_goes_up_by_two(write, rows):
    assert write(work("t1"), work("t2")) == []
    assert rows()[SERVERS]["turns_since_refresh"] == 2


def test_three_turns_without_persona_make_one_row(write, rows):
    write(work("t1", persona=None), work("t2", persona=None))
    write(work("t3", persona=None))
    found = rows()
    assert set(found) == {("user", "u", "c", None), ("server", "s", "c", None)}
    assert found["server", "s", "c", None]["turns_since_refresh"] == 3


def test_a_batch_that_times_out_after_its_commit_and_returns_whole_counts_each_once(write, rows):
    turns = [work(f"t{number}") for number in range(10)]
    write(*turns[:6])
    write(*turns)
    assert rows()[SERVERS]["turns_since_refresh"] == 10


@pytest.mark.parametrize("poison", ["not json", '{"version":2}', "", "null", "[" * 1000, "\ud83d"])
def test_one_bad_body_of_ten_fails_alone(write, rows, poison):
    turns = [work(f"t{number}") for number in range(9)]
    assert write(*turns[:4], poison, *turns[4:]) == ["m4"]
    assert rows()[SERVERS]["turns_since_refresh"] == 9


def test_a_batch_of_nothing_but_poison_comes_back_whole(write):
    assert write("a", "b") == ["m0", "m1"]


@pytest.fixture
def refusing(sql):
    """The database refuses rows of the owner `poison`."""
    sql("ALTER TABLE short_term_memories ADD CHECK (owner_id <> 'poison')")


def test_a_message_that_the_database_refuses_fails_alone(write, rows, refusing, emitted):
    assert write(work("t1"), work("t2", server="poison"), work("t3")) == ["m1"]
    assert rows()[SERVERS]["turns_since_refresh"] == 2
    counted = emitted()
    assert (counted["BatchFallbacks"], counted["WorkRefused"]) == (1, 1)
    assert (counted["TurnsApplied"], counted["TurnsRepeated"]) == (2, 0)


def test_unreadable_and_refused_messages_each_fail_under_their_own_id(write, rows, refusing):
    batch = ["not json", work("t1"), work("t2", server="poison"), work("t3")]
    assert write(*batch) == ["m0", "m2"]
    assert rows()[SERVERS]["turns_since_refresh"] == 2


def test_a_refused_turn_is_not_in_the_ledger_and_counts_when_it_is_good(write, rows, refusing, sql):
    write(work("t1", server="poison"))
    assert sql("SELECT turn_id FROM applied_turns") == []
    sql("ALTER TABLE short_term_memories DROP CONSTRAINT short_term_memories_owner_id_check1")
    assert write(work("t1", server="poison")) == []
    assert rows()["server", "poison", "c", "7"]["turns_since_refresh"] == 1


def test_a_batch_without_fault_does_not_fall_back(write, emitted):
    write(work("t1"))
    assert "BatchFallbacks" not in emitted()


def summarized(sql):
    sql(
        "INSERT INTO short_term_memories (scope, owner_id, channel_id, persona_id, summary,"
        " categories, last_refreshed_turn) VALUES ('server', 's', 'c', '7', 'tides',"
        ' \'{"mood": "calm"}\', 9)'
    )


def test_a_container_that_never_read_the_row_does_not_lose_its_summary(write, rows, sql):
    summarized(sql)
    write(work("t1", lineage="3"))
    row = rows()[SERVERS]
    assert (row["summary"], row["categories"]) == ("tides", {"mood": "calm"})
    assert (row["last_refreshed_turn"], row["turns_since_refresh"]) == (9, 1)
    assert row["persona_lineage_id"] == "3"


def test_a_repeated_turn_writes_no_row(write, sql):
    write(work("t1", lineage="3"))
    versions = sql("SELECT xmin::text, updated_at FROM short_term_memories ORDER BY scope")
    write(work("t1", lineage="3"))
    assert sql("SELECT xmin::text, updated_at FROM short_term_memories ORDER BY scope") == versions


def test_a_turn_moves_the_time_of_update(write, sql, rows):
    write(work("t1"))
    sql("UPDATE short_term_memories SET updated_at = '2020-01-01'")
    write(work("t2", at=NOW + 1))
    assert {it["updated_at"].year for it in rows().values()} == {datetime.now(UTC).year}


def test_the_place_of_a_row_once_known_stays(write, rows):
    write(work("t1", parent_channel_id="p"))
    write(work("t2", at=NOW + 1, parent_channel_id="q"))
    write(work("t3", at=NOW + 2))
    assert {it["parent_channel_id"] for it in rows().values()} == {"p"}
    assert {it["server_id"] for it in rows().values()} == {"s"}


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_latest_turn_says_whether_a_channel_is_private(write, rows, apart, order):
    turns = [work("t1", at=NOW, is_private=True), work("t2", at=NOW + 1, is_private=False)]
    batch = [turns[number] for number in order]
    for part in [[it] for it in batch] if apart else [batch]:
        write(*part)
    assert {it["is_private"] for it in rows().values()} == {False}


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_turns_at_the_same_time_the_private_one_counts(write, rows, apart, order):
    turns = [work("t1", is_private=True), work("t2", is_private=False)]
    batch = [turns[number] for number in order]
    for part in [[it] for it in batch] if apart else [batch]:
        write(*part)
    assert {it["is_private"] for it in rows().values()} == {True}


def test_a_turn_posted_again_as_private_makes_its_rows_private(write, rows):
    write(work("t1"))
    write(work("t1", is_private=True))
    assert {it["is_private"] for it in rows().values()} == {True}


@pytest.mark.parametrize("apart", [True, False])
def test_a_parent_once_told_stands_in_one_batch_or_several(write, rows, apart):
    batch = [work("t1", at=NOW, parent_channel_id="p"), work("t2", at=NOW + 1)]
    for part in [[it] for it in batch] if apart else [batch]:
        write(*part)
    assert {it["parent_channel_id"] for it in rows().values()} == {"p"}


@pytest.mark.parametrize("apart", [True, False])
def test_the_first_lineage_stands_in_one_batch_or_several(write, rows, apart):
    batch = [work("t1", at=NOW, lineage="9"), work("t2", at=NOW + 1, lineage="3")]
    for part in [[it] for it in batch] if apart else [batch]:
        write(*part)
    assert {it["persona_lineage_id"] for it in rows().values()} == {"9"}


def test_a_lineage_is_filled_in_once_and_never_changed(write, rows):
    for turn_id, lineage in [("t1", None), ("t2", "3"), ("t3", "4"), ("t4", None)]:
        write(work(turn_id, lineage=lineage))
    assert {it["persona_lineage_id"] for it in rows().values()} == {"3"}


def test_a_repeated_turn_may_still_bring_the_lineage(write, rows):
    write(work("t1"))
    write(work("t1", lineage="3"))
    assert rows()[SERVERS]["persona_lineage_id"] == "3"
    assert rows()[SERVERS]["turns_since_refresh"] == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_count_may_come_before_the_row_that_it_counts_on(write, rows, order):
    """The counter's work first, or the placeholder's: both end in the same row."""
    scope = Scope("server", "s", "c", "7")
    placeholder = TurnWork(1, "t1", NOW, (ScopeWork(scope, "3"),), server_id="s")
    counter = TurnWork(1, "t2", NOW + 5, (ScopeWork(scope, None, live=True),), server_id="s")
    for number in order:
        write((placeholder, counter)[number])
    (row,) = rows().values()
    assert (row["turns_since_refresh"], row["persona_lineage_id"]) == (1, "3")
    assert row["last_turn_at"] == at(NOW + 5)


def test_the_latest_turn_is_remembered_whatever_the_order(write, rows):
    write(work("t2", at=NOW), work("t1", at=NOW - 5))
    write(work("t0", at=NOW - 9, is_private=True))
    row = rows()[SERVERS]
    assert row["last_turn_at"] == at(NOW)
    assert row["is_private"] is False


def test_a_channel_that_became_private_is_private_in_its_rows(write, rows):
    write(work("t1", at=NOW))
    write(work("t2", at=NOW + 1, is_private=True, parent_channel_id="p"))
    row = rows()[USERS]
    assert (row["is_private"], row["parent_channel_id"]) == (True, "p")


def test_several_personas_each_count(write, rows):
    scopes = [ScopeWork(Scope("server", "s", "c", persona), live=True) for persona in ("7", "8")]
    write(TurnWork(1, "t1", NOW, tuple(scopes), server_id="s"))
    assert [it["turns_since_refresh"] for it in rows().values()] == [1, 1]


def test_a_connection_that_died_while_idle_is_replaced_and_nothing_counts_twice(
    writer, write, rows, sql
):
    write(work("t1"))
    first = writer.database._connection
    terminate(sql)
    assert write(work("t2")) == []
    assert writer.database._connection is not first
    assert rows()[SERVERS]["turns_since_refresh"] == 2


def terminate(sql):
    """Cut the writer's connections, and wait until the server has."""
    sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE usename = 'stm_writer' AND datname = current_database()"
    )


def test_when_postgres_is_away_all_come_back_and_nothing_is_lost(app_of, event, emitted, logged):
    away = app_of("writer", DATABASE_URL="postgresql://stm_writer@127.0.0.1:1/shortterm")
    answer = away.handler(sqs(work("t1"), "not json", work("t2")), None)
    assert failures(answer) == ["m0", "m1", "m2"]
    assert emitted()["BatchesReturned"] == 1
    assert "A batch goes back to the queue" in logged()


def test_the_writer_finds_postgres_again(app_of, server, database_url, writer_url, rows, sql):
    """The database is renamed away and back: as good as down, without stopping the others'."""
    app = app_of("writer", DATABASE_URL=writer_url)
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]
    admin = make_conninfo(database_url, dbname="postgres")
    assert failures(app.handler(sqs(work("t1")), None)) == []
    terminate(sql)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} RENAME TO {name}_away")
        assert failures(app.handler(sqs(work("t2")), None)) == ["m0"]
        connection.execute(f"ALTER DATABASE {name}_away RENAME TO {name}")
    assert failures(app.handler(sqs(work("t2")), None)) == []
    assert rows()[SERVERS]["turns_since_refresh"] == 2


def test_a_commit_whose_answer_is_lost_counts_once(writer, rows, monkeypatch):
    """The transaction commits, and the connection breaks before the writer hears of it."""
    apply, answers = store.apply, []

    def unheard(connection, works):
        answers.append(apply(connection, works))
        if len(answers) == 1:
            connection.close()
            raise psycopg.OperationalError("the answer never came")
        return answers[-1]

    monkeypatch.setattr(store, "apply", unheard)
    writer.database.run(lambda connection: connection.execute("SELECT 1"))
    assert failures(writer.handler(sqs(work("t1")), None)) == []
    assert [it.turns for it in answers] == [1, 0]
    assert rows()[SERVERS]["turns_since_refresh"] == 1


def test_an_error_that_is_not_the_datas_brings_all_back(writer, sql, emitted):
    sql("REVOKE ALL ON applied_turns FROM stm_writer")
    answer = writer.handler(sqs(work("t1"), work("t2")), None)
    assert failures(answer) == ["m0", "m1"]
    assert emitted()["BatchesReturned"] == 1


def test_no_transaction_is_left_open(write, sql, refusing):
    write(work("t1"), "not json", work("t2", server="poison"))
    states = sql(
        "SELECT state FROM pg_stat_activity"
        " WHERE usename = 'stm_writer' AND datname = current_database()"
    )
    assert states == [("idle",)]


def test_the_session_has_the_time_limits(writer, write):
    write(work("t1"))
    connection = writer.database._connection
    limits = {
        name: connection.execute(f"SHOW {name}").fetchone()[0]
        for name in ("statement_timeout", "idle_in_transaction_session_timeout")
    }
    assert limits == {"statement_timeout": "10s", "idle_in_transaction_session_timeout": "15s"}


@pytest.fixture
def at_once(writer_url):
    """Let writers apply eight batches each for the same five channels, every other one backwards.

    Returns the errors of all.
    """
    channels = [f"c{number}" for number in range(5)]
    errors = []

    def run(name, apply, started):
        with psycopg.connect(writer_url, autocommit=True) as connection:
            for batch in range(8):
                order = channels if (batch + ord(name)) % 2 else channels[::-1]
                works = [work(f"{name}-{batch}-{channel}", channel=channel) for channel in order]
                started.wait(timeout=20)
                try:
                    apply(connection, works)
                except psycopg.Error as error:
                    errors.append(error)

    def start(*acts):
        started = threading.Barrier(len(acts))
        writers = [
            threading.Thread(target=run, args=(name, apply, started))
            for name, apply in zip("abc", acts, strict=False)
        ]
        for thread in writers:
            thread.start()
        for thread in writers:
            thread.join()
        return errors

    return start


@pytest.mark.parametrize(
    "acts",
    [
        (store.apply, store.apply),
        (store.apply_each, store.apply_each),
        (store.apply, store.apply, store.apply_each),
    ],
    ids=["whole batches", "one by one", "both kinds"],
)
def test_writers_with_the_same_rows_in_opposite_orders_do_not_deadlock(at_once, acts, rows, sql):
    """A whole batch takes its locks in one order; message by message, one batch alone."""
    assert at_once(*acts) == []
    assert sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [
        (0,)
    ]
    counts = {it["turns_since_refresh"] for key, it in rows().items() if key[0] == "server"}
    assert counts == {8 * len(acts)}


def test_a_deadlock_with_somebody_else_is_tried_again(writer_url, sql, rows):
    """Another session holds one row and then asks for the other; the writer loses and retries."""
    with psycopg.connect(writer_url, autocommit=True) as connection:
        store.apply(connection, [work("t0")])
    impatient = Database(DatabaseSettings(writer_url), application_name="impatient")
    done = threading.Thread(
        target=lambda: impatient.run(lambda it: store.apply(it, [work("t1")])), daemon=True
    )
    lock = "SELECT 1 FROM short_term_memories WHERE scope = %s FOR UPDATE"
    # Only the writer looks for deadlocks while they wait, so it is the one that loses.
    other = make_conninfo(writer_url, user="postgres", options="-c deadlock_timeout=60s")
    with psycopg.connect(other) as connection:
        connection.execute(lock, ("user",))
        done.start()
        _until_waiting(sql, "impatient")
        connection.execute(lock, ("server",))
        connection.commit()
    done.join(timeout=20)
    impatient.close()
    assert rows()[SERVERS]["turns_since_refresh"] == 2
    assert sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") != [
        (0,)
    ]


def _until_waiting(sql, application):
    deadline = time.monotonic() + 10
    waiting = (
        "SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    )
    while not sql(waiting, application):
        assert time.monotonic() < deadline


def test_nothing_that_postgres_quotes_is_logged(writer, sql, refusing, logged):
    summarized(sql)
    sql("UPDATE short_term_memories SET summary = 'CANARY-7f3a', turns_since_refresh = 1")
    sql("ALTER TABLE short_term_memories ADD CHECK (turns_since_refresh < 2)")
    answer = writer.handler(sqs(work("t1"), json.dumps({"version": 1, "turnId": "CANARY 1"})), None)
    assert failures(answer) == ["m0", "m1"]
    assert "CheckViolation" in logged()
    assert "CANARY" not in logged()


def thread(turn_id, *, at, parent="p", is_private=False):
    return work(turn_id, at=at, channel="thread", parent_channel_id=parent, is_private=is_private)


THREAD = ("server", "s", "thread", "7")


def test_a_thread_under_a_private_channel_is_private_whatever_is_said(write, rows):
    write(work("t1", channel="p", is_private=True))
    write(thread("t2", at=NOW + 1))
    assert rows()[THREAD]["is_private"] is True


def test_a_thread_is_public_again_once_its_parent_is(write, rows):
    write(work("t1", channel="p", is_private=True), thread("t2", at=NOW, is_private=True))
    write(work("t3", channel="p", at=NOW + 1))
    write(thread("t4", at=NOW + 2))
    assert rows()[THREAD]["is_private"] is False


def test_a_thread_stays_private_when_nothing_of_its_parent_is_known_any_more(write, rows, sql):
    write(work("t1", channel="p", is_private=True))
    write(thread("t2", at=NOW + 1))
    sql("DELETE FROM short_term_memories WHERE channel_id = 'p'")
    write(thread("t3", at=NOW + 2))
    assert rows()[THREAD]["is_private"] is True
