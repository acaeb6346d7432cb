"""The functions' one connection: what is tried again, what is not, and what replaces it."""

import psycopg
import pytest

from shortterm.database import Database, Unavailable
from shortterm.settings import DatabaseSettings


@pytest.fixture
def database(writer_url):
    database = Database(DatabaseSettings(writer_url), application_name="test")
    yield database
    database.close()


def test_a_conflict_is_tried_again(database):
    tries = []

    def conflicting(connection):
        tries.append(1)
        if len(tries) < 3:
            connection.execute("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
        return "done"

    assert database.run(conflicting) == "done"
    assert len(tries) == 3


def test_a_conflict_without_end_is_given_up(database):
    def conflicting(connection):
        connection.execute("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$")

    with pytest.raises(Unavailable):
        database.run(conflicting)


def test_a_connection_that_breaks_again_at_once_is_not_tried_for_ever(database, sql):
    tries = []

    def dying(connection):
        tries.append(1)
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    database.run(lambda connection: connection.execute("SELECT 1"))
    with pytest.raises(Unavailable):
        database.run(dying)
    assert len(tries) == 2


def test_a_statement_that_takes_too_long_is_not_tried_again(database):
    tries = []

    def slow(connection):
        tries.append(1)
        connection.execute("SET statement_timeout = 10")
        connection.execute("SELECT pg_sleep(5)")

    with pytest.raises(Unavailable):
        database.run(slow)
    assert len(tries) == 1


def test_a_server_that_no_longer_takes_writes_is_left(database):
    def write(connection):
        connection.execute("SET default_transaction_read_only = on")
        connection.execute("DELETE FROM applied_turns")

    with pytest.raises(Unavailable):
        database.run(write)
    assert database._connection is None


def test_a_data_error_passes_and_the_connection_stays(database):
    with pytest.raises(psycopg.DataError):
        database.run(lambda connection: connection.execute("SELECT 1/0"))
    connection = database._connection
    database.run(lambda connection: connection.execute("SELECT 1"))
    assert database._connection is connection
