"""Forgetting, on a real Postgres: no work captured before a tombstone brings a row back."""

import threading
from contextlib import contextmanager

import psycopg
import pytest
from given import SERVERS, USERS, attachment, failures, notes, sqs, work
from psycopg.conninfo import make_conninfo
from waiting import until

from writer import store

USER_ROW = ("user", "u", "c", "7")
SERVER_ROW = ("server", "s", "c", "7")


def turn_captured(at):
    return work("late", captured_at=at)


def notes_captured(at):
    return attachment(notes(at, "tides"), USERS, SERVERS, at=at)


WORKS = pytest.mark.parametrize("captured", [turn_captured, notes_captured])
LEFT = pytest.mark.parametrize(
    ("subject", "subject_id", "left"), [("user", "u", {SERVER_ROW}), ("channel", "c", set())]
)


def batch(connection, works):
    return store.apply(connection, works)


def one_by_one(connection, works):
    applied, errors = store.apply_each(connection, works)
    assert errors == {}
    return applied


WAYS = pytest.mark.parametrize("apply", [batch, one_by_one])


@pytest.fixture
def capture_url(database_url):
    """The database as the capture function logs in to it."""
    return make_conninfo(database_url, user="stm_capture", application_name="forgetting")


@pytest.fixture
def forget(capture_url):
    """Forget a user or a channel; return when (ms)."""

    def insert(subject, subject_id):
        with psycopg.connect(capture_url) as connection:
            return _insert(connection, subject, subject_id)

    return insert


def _insert(connection, subject, subject_id):
    (forgotten_at,) = connection.execute(
        "INSERT INTO tombstones (subject, subject_id, forgotten_at) VALUES (%s, %s, 'epoch')"
        " RETURNING floor(extract(epoch FROM forgotten_at) * 1000)::bigint",
        (subject, subject_id),
    ).fetchone()
    return forgotten_at


@pytest.fixture
def connection(writer_url):
    with psycopg.connect(writer_url, autocommit=True, application_name="writing") as connection:
        yield connection


@contextmanager
def meanwhile(act, *arguments):
    """Start `act` beside the block, and end with the later of the two."""
    thread = threading.Thread(target=act, args=arguments, daemon=True)
    thread.start()
    yield
    thread.join(timeout=20)
    assert not thread.is_alive()


def until_waiting(sql, application):
    waiting = (
        "SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
    )
    until(lambda: bool(sql(waiting, application)))


@WAYS
@WORKS
@LEFT
def test_what_was_captured_before_brings_no_row_back(
    connection, forget, rows, captured, apply, subject, subject_id, left
):
    forgotten_at = forget(subject, subject_id)
    apply(connection, [captured(forgotten_at)])
    assert set(rows()) == left


@WAYS
@LEFT
def test_what_was_captured_after_starts_afresh(
    connection, forget, rows, apply, subject, subject_id, left
):
    apply(connection, [work("t1"), work("t2"), attachment(notes(1, "old"), USERS, SERVERS)])
    forgotten_at = forget(subject, subject_id)
    assert set(rows()) == left
    apply(connection, [turn_captured(forgotten_at + 1)])
    for key in {USER_ROW, SERVER_ROW} - left:
        row = rows()[key]
        assert (row["summary"], row["last_refreshed_turn"]) == (None, 0)
        assert row["turns_since_refresh"] == (1 if key == SERVER_ROW else 0)


@WAYS
def test_notes_captured_after_are_all_that_is_known(connection, forget, rows, apply):
    apply(connection, [work("t1"), attachment(notes(1, "old", mood="calm"))])
    apply(connection, [notes_captured(forget("channel", "c") + 1)])
    row = rows()[SERVER_ROW]
    assert (row["summary"], row["categories"], row["last_refreshed_turn"]) == ("tides", {}, 0)


def test_a_forgotten_users_turn_still_counts_on_the_servers_row(connection, forget, rows):
    store.apply(connection, [work("t1", captured_at=forget("user", "u"))])
    assert rows()[SERVER_ROW]["turns_since_refresh"] == 1


def test_a_dropped_turn_stays_in_the_ledger(connection, forget, sql, rows):
    forgotten_at = forget("channel", "c")
    for _ in range(2):
        store.apply(connection, [work("t1", captured_at=forgotten_at)])
    assert sql("SELECT turn_id FROM applied_turns") == [("t1",)]
    assert rows() == {}


def test_the_rest_of_a_batch_is_applied(connection, forget, rows):
    forgotten_at = forget("channel", "c")
    others = work("t2", captured_at=forgotten_at, channel="d")
    store.apply(connection, [work("t1", captured_at=forgotten_at), others])
    assert {key[2] for key in rows()} == {"d"}


def test_a_message_without_a_time_of_capture_goes_by_when_its_turn_occurred(
    connection, forget, rows
):
    forgotten_at = forget("channel", "c")
    store.apply(connection, [work("t1", at=forgotten_at)])
    assert rows() == {}
    store.apply(connection, [work("t2", at=forgotten_at + 1)])
    assert set(rows()) == {USER_ROW, SERVER_ROW}


def test_of_several_forgettings_the_last_one_counts(connection, forget, rows):
    for _ in range(2):
        forgotten_at = forget("channel", "c")
    store.apply(connection, [work("t1", captured_at=forgotten_at)])
    assert rows() == {}


def test_another_subject_with_the_same_id_is_not_meant(connection, forget, rows):
    forgotten_at = max(forget("user", "c"), forget("channel", "u"), forget("user", "s"))
    store.apply(connection, [work("t1", captured_at=forgotten_at)])
    assert set(rows()) == {USER_ROW, SERVER_ROW}


def test_dropped_scopes_are_counted_and_their_notes_are_not(app_of, writer_url, forget, emitted):
    forgotten_at = forget("channel", "c")
    app = app_of("writer", DATABASE_URL=writer_url)
    event = sqs(turn_captured(forgotten_at), notes_captured(forgotten_at), work("t2", channel="d"))
    assert failures(app.handler(event, None)) == []
    counted = emitted()
    assert (counted["WorkForgotten"], counted["NotesApplied"]) == (4, 0)
    assert counted["TurnsApplied"] == 2


@WAYS
@WORKS
def test_a_tombstone_waits_for_the_writer_and_takes_its_rows(
    connection, forget, sql, rows, captured, apply
):
    """The writer has passed the gate, where it saw no tombstone, and has not committed."""
    connection.execute("BEGIN")
    apply(connection, [captured(1)])
    with meanwhile(forget, "channel", "c"):
        until_waiting(sql, "forgetting")
        connection.execute("COMMIT")
    assert sql("SELECT subject FROM tombstones") == [("channel",)]
    assert rows() == {}


@WAYS
@WORKS
def test_a_writer_waits_for_the_tombstone_and_sees_it(
    connection, capture_url, sql, rows, captured, apply
):
    """The tombstone is not committed when the writer comes to the gate, so it is not to be seen."""
    with psycopg.connect(capture_url) as forgetting:
        forgotten_at = _insert(forgetting, "channel", "c")
        with meanwhile(apply, connection, [captured(forgotten_at)]):
            until_waiting(sql, "writing")
            forgetting.commit()
    assert rows() == {}


def test_what_was_captured_while_a_tombstone_waited_is_forgotten_too(connection, forget, sql):
    connection.execute("BEGIN")
    store.apply(connection, [turn_captured(1)])
    with meanwhile(forget, "channel", "c"):
        until_waiting(sql, "forgetting")
        ((waiting_at,),) = sql("SELECT clock_timestamp()")
        connection.execute("COMMIT")
    ((forgotten_at,),) = sql("SELECT forgotten_at FROM tombstones")
    assert forgotten_at > waiting_at


def test_a_tombstone_that_waits_has_no_number_yet(connection, forget, sql):
    """Else one with a later number might be seen first, and a container would skip this one."""
    connection.execute("BEGIN")
    store.apply(connection, [turn_captured(1)])
    with meanwhile(forget, "channel", "c"):
        until_waiting(sql, "forgetting")
        handed_out = sql("SELECT is_called FROM tombstone_numbers")
        connection.execute("COMMIT")
    assert handed_out == [(False,)]


def test_rows_that_writers_fight_for_stay_forgotten(writer_url, forget, rows, sql):
    """Writers and forgettings at once: none deadlocks, and the last forgetting takes all."""
    errors = []

    def write(name):
        try:
            with psycopg.connect(writer_url, autocommit=True) as connection:
                for number in range(20):
                    works = [
                        work(f"{name}-{number}-{channel}", channel=channel, captured_at=1)
                        for channel in "cd"
                    ]
                    store.apply(connection, works[:: 1 if number % 2 else -1])
        except psycopg.Error as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in writers:
        thread.start()
    for subject, subject_id in [("channel", "c"), ("user", "u"), ("channel", "d")]:
        forget(subject, subject_id)
    for thread in writers:
        thread.join()
    assert errors == []
    assert rows() == {}
