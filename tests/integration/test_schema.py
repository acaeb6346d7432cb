"""Migrations: once each, in order, under a lock, never an edited one; and the roles they make."""

import threading

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from schema.migrate import Edited, Migration, migrate, read
from shortterm.database import Unavailable

ONE = Migration(1, "one", "CREATE TABLE one (n integer)")
TWO = Migration(2, "two", "CREATE TABLE two (n integer)")


@pytest.fixture
def connection(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as connection:
        yield connection


def tables(connection):
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {name for (name,) in found} - {"schema_migrations"}


def test_migrations_are_applied_in_order_and_once(connection):
    assert migrate(connection, [ONE]) == [ONE]
    assert migrate(connection, [ONE, TWO]) == [TWO]
    assert migrate(connection, [ONE, TWO]) == []
    assert tables(connection) == {"one", "two"}


def test_a_migration_that_fails_leaves_nothing_and_those_before_it_stay(connection):
    broken = TWO._replace(sql="CREATE TABLE two (n integer); SELECT 1/0")
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(connection, [ONE, broken])
    assert tables(connection) == {"one"}
    assert migrate(connection, [ONE, TWO]) == [TWO]


@pytest.mark.parametrize(
    "release",
    [ONE._replace(sql="CREATE TABLE other (n integer)"), ONE._replace(name="renamed")],
    ids=["edited", "renamed"],
)
def test_a_past_that_does_not_match_is_refused_and_nothing_applied(connection, release):
    migrate(connection, [ONE])
    with pytest.raises(Edited):
        migrate(connection, [release, TWO])
    assert tables(connection) == {"one"}


def test_a_database_of_a_later_release_is_left_as_it_is(connection):
    """A deployment that is rolled back runs the older release's migrations again."""
    migrate(connection, [ONE, TWO])
    assert migrate(connection, [ONE]) == []
    assert tables(connection) == {"one", "two"}


def test_a_migration_is_recorded_in_its_own_transaction(connection):
    migrate(connection, [ONE])
    connection.execute("ALTER TABLE schema_migrations ADD CHECK (number < 2)")
    with pytest.raises(psycopg.errors.CheckViolation):
        migrate(connection, [ONE, TWO])
    assert tables(connection) == {"one"}


def test_two_deployments_at_once_apply_each_migration_once(empty_database):
    applied, errors = [], []

    def deploy():
        try:
            with psycopg.connect(empty_database, autocommit=True) as connection:
                applied.extend(migrate(connection, [ONE, TWO]))
        except psycopg.Error as error:
            errors.append(error)

    deployments = [threading.Thread(target=deploy) for _ in range(4)]
    for deployment in deployments:
        deployment.start()
    for deployment in deployments:
        deployment.join()
    assert (errors, sorted(applied)) == ([], [ONE, TWO])


@pytest.mark.parametrize("name", ["1_one.sql", "0002_two.sql", "0001-one.sql", "0001_One.sql"])
def test_a_file_that_is_not_numbered_in_order_is_refused(tmp_path, name):
    (tmp_path / name).write_text("SELECT 1")
    with pytest.raises(ValueError, match=name):
        read(tmp_path)


def test_the_function_brings_the_database_up_to_date_and_says_what_it_did(
    app_of, empty_database, event
):
    app = app_of("schema", DATABASE_URL=empty_database)
    assert app.handler(event("schema-migrate"), None) == {
        "schema": 3,
        "applied": [
            "0001_short_term_memories",
            "0002_roles",
            "0003_recall_and_forgetting",
        ],
    }
    assert app.handler(event("schema-migrate"), None) == {"schema": 3, "applied": []}


def test_a_migration_that_fails_is_told_without_postgres_own_words(
    app_of, empty_database, monkeypatch, logged
):
    app = app_of("schema", DATABASE_URL=empty_database)
    quoting = "DO $$ BEGIN RAISE EXCEPTION 'CANARY' USING ERRCODE = '23514'; END $$"
    monkeypatch.setattr(app, "read", lambda: [ONE._replace(sql=quoting)])
    with pytest.raises(app.Failed, match="SQLSTATE 23514") as caught:
        app.handler({}, None)
    assert caught.value.__suppress_context__
    assert "CheckViolation" in logged()
    assert "CANARY" not in logged() + str(caught.value)


def test_a_database_that_stays_away_fails_the_deployment_and_says_why(app_of, monkeypatch):
    app = app_of("schema", DATABASE_URL="postgresql://postgres@127.0.0.1:1/none")
    monkeypatch.setattr(app, "CONNECT_FOR_S", 0)
    with pytest.raises(app.Failed, match=r"(?s)127\.0\.0\.1.*refused"):
        app.handler({}, None)


def test_a_database_that_is_not_to_be_had_yet_is_waited_for(app_of, empty_database, monkeypatch):
    app = app_of("schema", DATABASE_URL=empty_database)
    connect, refused = app.connect, [Unavailable("not yet")] * 2
    monkeypatch.setattr(app, "CONNECT_EVERY_S", 0)

    def connect_at_last(*given):
        if refused:
            raise refused.pop()
        return connect(*given)

    monkeypatch.setattr(app, "connect", connect_at_last)
    assert app.handler({}, None)["schema"] == 3


def test_an_edited_migration_fails_the_deployment_and_is_named(app_of, empty_database, monkeypatch):
    app = app_of("schema", DATABASE_URL=empty_database)
    monkeypatch.setattr(app, "read", lambda: [ONE])
    app.handler({}, None)
    monkeypatch.setattr(app, "read", lambda: [ONE._replace(sql="SELECT 1")])
    with pytest.raises(app.Failed, match="0001_one"):
        app.handler({}, None)


def test_no_column_can_hold_a_crude_line(sql):
    columns = {
        name
        for (name,) in sql(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_name = 'short_term_memories'"
        )
    }
    assert columns == {
        "scope", "owner_id", "channel_id", "persona_id", "server_id", "persona_lineage_id",
        "parent_channel_id", "is_private", "summary", "summary_updated_at", "categories",
        "turns_since_refresh", "last_refreshed_turn", "last_turn_at", "created_at", "updated_at",
        "category_times", "refreshed_at", "live_hour",
    }  # fmt: skip


def test_a_scope_without_persona_is_one_row(sql):
    insert = (
        "INSERT INTO short_term_memories (scope, owner_id, channel_id) VALUES ('user', 'u', 'c')"
    )
    sql(insert)
    with pytest.raises(psycopg.errors.UniqueViolation):
        sql(insert)


@pytest.mark.parametrize(
    ("role", "table", "may"),
    [
        ("stm_capture", "short_term_memories", {"SELECT"}),
        ("stm_capture", "applied_turns", set()),
        ("stm_capture", "schema_migrations", set()),
        ("stm_writer", "short_term_memories", {"SELECT", "INSERT", "UPDATE", "DELETE"}),
        ("stm_writer", "applied_turns", {"SELECT", "INSERT", "UPDATE", "DELETE"}),
        ("stm_writer", "schema_migrations", set()),
        # It may insert into three columns of it, which is no right to the table.
        ("stm_capture", "tombstones", {"SELECT"}),
        ("stm_writer", "tombstones", {"SELECT", "DELETE"}),
    ],
)
def test_each_role_may_do_what_it_needs_and_no_more(sql, role, table, may):
    rights = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
    granted = {
        right
        for right in rights
        if sql("SELECT has_table_privilege(%s, %s, %s)", role, table, right) == [(True,)]
    }
    assert granted == may


@pytest.mark.parametrize(
    ("table", "may"),
    [
        ("short_term_memories", {"SELECT"}),
        ("tombstones", {"SELECT", "INSERT"}),
        ("applied_turns", set()),
    ],
)
def test_capture_may_write_no_column_of_anything_but_tombstones(sql, table, may):
    asked = "SELECT has_any_column_privilege('stm_capture', %s, %s)"
    rights = ["SELECT", "INSERT", "UPDATE", "REFERENCES"]
    assert {it for it in rights if sql(asked, table, it) == [(True,)]} == may


@pytest.mark.parametrize(
    ("column", "may"),
    [("subject", True), ("subject_id", True), ("forgotten_at", True), ("number", False)],
)
def test_capture_may_write_tombstones_but_not_their_numbers(sql, column, may):
    asked = "SELECT has_column_privilege('stm_capture', 'tombstones', %s, 'INSERT')"
    assert sql(asked, column) == [(may,)]


@pytest.mark.parametrize("role", ["stm_capture", "stm_writer"])
def test_what_forgets_as_the_owner_can_be_hung_on_no_other_table(database_url, role):
    """A table of one's own would take rows without leaving a tombstone."""
    hang = "CREATE TRIGGER take BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION"
    with psycopg.connect(make_conninfo(database_url, user=role)) as connection:
        connection.execute("CREATE TEMPORARY TABLE mine (LIKE tombstones)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"{hang} take_the_forgotten()")


def test_what_runs_as_the_owner_looks_only_where_the_owner_said(sql):
    """Else its caller's search path could put other tables and operators in their place."""
    found = sql("SELECT proname, proconfig FROM pg_proc WHERE prosecdef")
    assert found == [("take_the_forgotten", ["search_path=pg_catalog, pg_temp"])]


@pytest.mark.parametrize("role", ["stm_capture", "stm_writer"])
def test_no_function_may_change_the_schema(database_url, role):
    with (
        psycopg.connect(make_conninfo(database_url, user=role)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("CREATE TABLE mine (n integer)")
