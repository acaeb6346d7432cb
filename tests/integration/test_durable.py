"""The rows behind the memory on a real Postgres: what a read finds, and what forgetting takes."""

import contextlib
import json
import sys
import threading
import time
from datetime import UTC, datetime

import psycopg
import pytest
from given import HOUR
from psycopg.conninfo import make_conninfo

from capture import durable as module
from capture import patience
from capture.durable import Durable, Wanted
from capture.patience import Away
from shortterm.database import Unavailable
from shortterm.scope import Scope
from shortterm.settings import DatabaseSettings

NOW = time.time_ns() // 1_000_000
ASKED = Scope("server", "s", "c", "7")
USERS = Scope("user", "u", "c", "7")


@pytest.fixture
def capture_url(database_url):
    """The database as the capture function logs in to it."""
    return make_conninfo(database_url, user="stm_capture")


@pytest.fixture
def clock():
    class Clock:
        now = NOW

        def __call__(self):
            return self.now

    return Clock()


def durable_at(url, clock, since=0):
    return Durable(DatabaseSettings(url), since=since, clock=clock)


@pytest.fixture
def rows(capture_url, clock, monkeypatch):
    """As a container reads them, with time for a machine that is busy; the server's limit stays."""
    monkeypatch.setattr(module, "READ_S", 1.0)
    found = durable_at(capture_url, clock)
    yield found
    if found._database._opened is not None:
        found._database._opened.close()


@pytest.fixture
def insert(database_url):
    """Insert a row of a scope; times in ms before now."""

    def run(scope, *, age=0, told=None, **columns):
        summary_told_at = None if told is None else datetime.fromtimestamp((NOW - told) / 1e3, UTC)
        given = {
            "scope": scope.kind,
            "owner_id": scope.owner_id,
            "channel_id": scope.channel_id,
            "persona_id": scope.persona_id,
            "server_id": "s",
            "last_turn_at": None if age is None else datetime.fromtimestamp((NOW - age) / 1e3, UTC),
            "summary_updated_at": summary_told_at,
            "refreshed_at": summary_told_at,
        } | columns
        names = ", ".join(given)
        places = ", ".join(f"%({name})s" for name in given)
        statement = f"INSERT INTO short_term_memories ({names}) VALUES ({places})"  # noqa: S608
        with psycopg.connect(database_url) as connection:
            connection.execute(statement, given)

    return run


def wanted(**fields):
    return Wanted(
        **{
            "asked": ASKED,
            "server_id": "s",
            "lineage_id": None,
            "everywhere": False,
            "sees_private": False,
            "for_prompt": False,
            "scopes": (ASKED,),
            "channels": (),
            "limit": 50,
            "alive_since": NOW - 12 * HOUR,
            "summary_alive_since": NOW - 24 * HOUR,
        }
        | fields
    )


def server(channel, persona="7"):
    return Scope("server", "s", channel, persona)


def read(rows, *, obeyed=0, **fields):
    return rows.read(wanted(**fields), obeyed=obeyed)


def channels(reading):
    return [it.channel_id for it in reading.rows]


def test_a_row_is_read_with_all_it_holds(rows, insert):
    insert(
        ASKED,
        age=5_000,
        told=7_000,
        summary="tides",
        categories=json.dumps({"mood": "calm"}),
        category_times=json.dumps({"mood": NOW - 7_000, "gone": NOW - 8_000}),
        turns_since_refresh=2,
        last_refreshed_turn=9,
        parent_channel_id="p",
        persona_lineage_id="3",
    )
    (row,) = read(rows).rows
    assert row.scope == ASKED
    assert (row.server_id, row.parent_channel_id, row.persona_lineage_id) == ("s", "p", "3")
    assert (row.notes.summary, row.notes.summary_told_at) == ("tides", NOW - 7_000)
    assert row.notes.by_category == {"mood": "calm"}
    assert [it.name for it in row.notes.categories] == ["gone", "mood"]
    assert (row.turns_since_refresh, row.last_refreshed_turn) == (2, 9)
    assert (row.last_turn_at, row.live_at) == (NOW - 5_000, NOW - 5_000)


def test_a_row_without_persona_is_found(rows, insert):
    bare = server("c", None)
    insert(bare)
    assert channels(read(rows, asked=bare, scopes=(bare,))) == ["c"]


def test_other_channels_come_newest_first(rows, insert):
    for channel, age in (("d", 1), ("b", 0), ("a", 2)):
        insert(server(channel), age=age * 1_000)
    assert channels(read(rows)) == ["b", "d", "a"]


def test_no_more_rows_come_than_were_asked_for_and_are_needed(rows, insert):
    """One limit for all: beside the others it has room for what is held, and for the live row."""
    for number in range(9):
        insert(server(f"c{number}"), age=number * 1_000)
    held = (ASKED, server("held"))
    found = channels(read(rows, scopes=held, limit=2))
    assert found == [f"c{number}" for number in range(2 + len(held) + 1)]


def test_rows_of_the_asked_channel_and_other_personas_are_no_others(rows, insert):
    insert(server("c", "8"))
    assert channels(read(rows)) == []


@pytest.mark.parametrize(
    ("hours", "summary", "found"),
    [(11, None, True), (12, None, False), (23, "tides", True), (24, "tides", False)],
)
def test_a_row_is_found_as_long_as_it_lives(rows, insert, hours, summary, found):
    insert(server("a"), age=hours * HOUR, told=30 * HOUR, summary=summary)
    assert (channels(read(rows)) == ["a"]) is found


def test_a_summary_is_a_sign_of_life(rows, insert):
    insert(server("a"), age=50 * HOUR, told=HOUR, summary="tides")
    assert read(rows).rows[0].live_at == NOW - HOUR


def test_a_summary_that_was_taken_away_is_none(rows, insert):
    insert(server("a"), age=50 * HOUR, told=HOUR, summary=None)
    assert channels(read(rows)) == []


def test_categories_are_a_sign_of_life(rows, insert):
    insert(server("a"), age=50 * HOUR, told=HOUR, categories=json.dumps({"mood": "calm"}))
    (row,) = read(rows).rows
    assert row.live_at == NOW - HOUR


def test_notes_that_were_taken_away_are_no_sign_of_life(rows, insert):
    insert(ASKED, age=50 * HOUR, told=HOUR, summary=None)
    assert read(rows).rows[0].live_at == NOW - 50 * HOUR


def test_a_row_without_any_sign_of_life_is_as_old_as_itself(rows, insert):
    insert(ASKED, age=None)
    assert read(rows).rows[0].live_at >= NOW


def test_a_row_in_the_last_moment_of_its_life_is_found(rows, insert):
    insert(server("a"), age=24 * HOUR - 1, told=30 * HOUR, summary="tides")
    assert channels(read(rows)) == ["a"]


def test_a_row_that_only_notes_made_is_found(rows, insert):
    insert(server("a"), age=None, told=HOUR, categories=json.dumps({"mood": "calm"}))
    assert channels(read(rows)) == ["a"]


def test_rows_that_the_container_holds_come_however_many_are_newer(rows, insert):
    insert(server("held"), age=HOUR)
    for number in range(9):
        insert(server(f"c{number}"))
    assert "held" in channels(read(rows, scopes=(ASKED, server("held")), limit=1))


def test_rows_that_the_container_holds_take_no_other_ones_place(rows, insert):
    for scope in (ASKED, server("held"), server("new")):
        insert(scope)
    found = channels(read(rows, scopes=(ASKED, server("held")), limit=1))
    assert sorted(found) == ["c", "held", "new"]


def test_rows_of_other_owners_are_not_read(rows, insert):
    for channel, persona in (("a", None), ("c", "7")):
        insert(Scope("user", "s", channel, persona))
        insert(Scope("user", "v", channel, persona))
        insert(Scope("server", "u", channel, persona))
    assert read(rows).rows == ()
    assert read(rows, **OF_USER).rows == ()


def test_others_are_narrowed_to_a_lineage(rows, insert):
    insert(server("a"), persona_lineage_id="3")
    insert(server("b"), persona_lineage_id="4")
    insert(server("d"))
    assert channels(read(rows, lineage_id="3")) == ["a"]


OF_USER = {"asked": USERS, "scopes": (USERS,)}


def test_the_users_rows_of_another_server_come_only_when_asked_for(rows, insert):
    insert(Scope("user", "u", "a"), server_id="s2")
    insert(Scope("user", "u", "d"), server_id=None)
    assert channels(read(rows, **OF_USER)) == []
    assert sorted(channels(read(rows, **OF_USER, everywhere=True))) == ["a", "d"]
    assert channels(read(rows, **OF_USER | {"server_id": None})) == ["d"]


def test_a_private_row_is_found_only_by_a_private_channel(rows, insert):
    insert(server("a"), is_private=True)
    assert channels(read(rows)) == []
    assert channels(read(rows, sees_private=True)) == ["a"]


def test_a_private_row_of_another_server_is_never_found(rows, insert):
    insert(Scope("user", "u", "a"), server_id="s2", is_private=True)
    assert channels(read(rows, **OF_USER, everywhere=True, sees_private=True)) == []


def test_a_thread_whose_parent_is_private_is_private_too(rows, insert):
    insert(server("p"), is_private=True)
    insert(server("thread"), parent_channel_id="p")
    assert channels(read(rows)) == []
    assert sorted(channels(read(rows, sees_private=True))) == ["p", "thread"]


def test_what_the_container_holds_is_told_to_be_private(rows, insert):
    insert(server("p"), is_private=True)
    insert(server("thread"), parent_channel_id="p")
    (row,) = read(rows, scopes=(server("thread"),)).rows
    assert (row.is_private, row.is_hidden) == (False, True)


def test_the_parents_of_entries_without_a_row_are_told_apart(rows, insert):
    insert(server("p"), is_private=True)
    insert(server("q"))
    assert read(rows, channels=("p", "q", "r")).private_channels == {"p"}


def test_a_channel_is_as_private_as_the_last_turn_of_its_server_says(rows, insert):
    insert(server("p", "8"), age=2_000, is_private=True)
    insert(server("p", "7"), age=1_000)
    insert(server("thread"), parent_channel_id="p")
    assert channels(read(rows)) == ["thread", "p"]


def test_notes_alone_do_not_tell_whether_a_channel_is_private(rows, insert):
    insert(server("p", "8"), age=None, told=HOUR, summary="tides")
    insert(server("p", "7"), age=HOUR, is_private=True)
    insert(server("thread"), parent_channel_id="p")
    assert channels(read(rows)) == []


def test_a_users_row_is_private_once_its_channel_is(rows, insert):
    insert(Scope("user", "u", "a"), age=1_000)
    insert(server("a"), is_private=True)
    assert channels(read(rows, **OF_USER)) == []


def test_in_a_guild_the_live_row_comes_with_a_users_rows(rows, insert):
    insert(ASKED, turns_since_refresh=4)
    (live,) = read(rows, **OF_USER).rows
    assert (live.scope, live.turns_since_refresh) == (ASKED, 4)
    assert len(read(rows).rows) == 1


def test_no_other_live_row_comes_with_a_users_rows(rows, insert):
    for scope in (server("d"), server("c", "8"), Scope("server", "s2", "c", "7")):
        insert(scope)
    assert read(rows, **OF_USER).rows == ()


def test_for_notes_no_row_of_another_channel_or_persona_is_read(rows, insert):
    bare = Scope("user", "u", "c")
    for scope in (bare, Scope("user", "u", "d"), USERS):
        insert(scope)
    assert [it.scope for it in rows.rows_of([bare], obeyed=0).rows] == [bare]


def test_the_rows_of_both_scopes_are_read_for_notes(rows, insert):
    insert(ASKED)
    insert(USERS)
    insert(server("c", "8"))
    assert {it.scope for it in rows.rows_of([USERS, ASKED], obeyed=0).rows} == {ASKED, USERS}
    assert [it.scope for it in rows.rows_of([USERS], obeyed=0).rows] == [USERS]


def test_an_export_pages_through_every_row_however_old(rows, insert):
    scopes = [Scope("user", "u", channel, it) for channel in "abc" for it in (None, "7")]
    for scope in reversed(scopes):
        insert(scope, age=80 * 24 * HOUR)
    insert(Scope("user", "v", "a"))
    insert(Scope("server", "u", "a"))
    found, after = [], None
    while page := rows.export("u", after, most=4, obeyed=0).rows:
        assert len(page) <= 4
        found += [it.scope for it in page]
        assert len(found) <= len(scopes)
        after = found[-1]
    assert found == scopes


def test_forgetting_a_user_takes_the_users_rows_and_no_others(rows, insert, sql):
    for scope in (USERS, ASKED, Scope("user", "v", "c")):
        insert(scope)
    tombstone = rows.forget("user", "u", now=NOW)
    assert (tombstone.subject, tombstone.subject_id) == ("user", "u")
    left = sql("SELECT scope, owner_id FROM short_term_memories ORDER BY 1, 2")
    assert left == [("server", "s"), ("user", "v")]


def test_a_server_with_a_forgotten_users_id_keeps_its_rows(rows, insert, sql):
    insert(Scope("server", "u", "c"))
    rows.forget("user", "u", now=NOW)
    assert sql("SELECT scope FROM short_term_memories") == [("server",)]


def test_forgetting_a_channel_takes_its_rows_whoever_owns_them(rows, insert, sql):
    for scope in (USERS, ASKED, server("d")):
        insert(scope)
    rows.forget("channel", "c", now=NOW)
    assert sql("SELECT channel_id FROM short_term_memories") == [("d",)]


def test_a_tombstone_is_no_older_than_its_commit(rows):
    before = time.time_ns() // 1_000_000
    assert rows.forget("user", "u", now=NOW - HOUR).forgotten_at >= before


def test_a_container_whose_clock_is_ahead_forgets_all_that_it_captured(rows):
    ahead = time.time_ns() // 1_000_000 + 50_000
    assert rows.forget("user", "u", now=ahead).forgotten_at == ahead


def test_forgetting_waits_for_the_writers_at_work_longer_than_a_read_would(rows, database_url):
    read(rows)
    with psycopg.connect(database_url) as writer:
        writer.execute("SELECT pg_advisory_xact_lock_shared(x'6F6E65206279206F'::bigint)")
        done = threading.Timer(2 * module.READ_S, writer.commit)
        done.start()
        assert rows.forget("user", "u", now=NOW).subject_id == "u"
        done.join()


def test_another_container_finds_the_tombstones_after_those_that_it_obeyed(rows):
    first, second = (rows.forget("user", it, now=NOW) for it in ("u", "v"))
    assert read(rows).tombstones == (first, second)
    assert read(rows, obeyed=first.number).tombstones == (second,)
    assert rows.export("u", None, most=1, obeyed=first.number).tombstones == (second,)


def test_a_container_need_not_heed_tombstones_from_before_its_memory(rows, capture_url, clock):
    old = rows.forget("user", "u", now=NOW)
    younger = durable_at(capture_url, clock, since=old.forgotten_at + 1)
    assert read(younger).tombstones == ()
    younger._database._opened.close()


def test_a_tombstone_of_the_moment_when_memory_began_is_heeded(rows, capture_url, clock):
    ahead = time.time_ns() // 1_000_000 + 50_000
    told = rows.forget("user", "u", now=ahead)
    began = durable_at(capture_url, clock, since=ahead)
    assert read(began).tombstones == (told,)
    began._database._opened.close()


def test_tombstones_become_visible_in_the_order_of_their_numbers(capture_url, rows):
    """A later number is not handed out while an earlier one cannot be seen yet."""
    insert = "INSERT INTO tombstones (subject, subject_id, forgotten_at) VALUES ('user', %s, now())"
    with psycopg.connect(capture_url) as slow:
        slow.execute(insert, ("first",))
        done = threading.Event()

        def forget_another():
            with psycopg.connect(capture_url) as connection:
                connection.execute(insert, ("second",))
            done.set()

        other = threading.Thread(target=forget_another)
        other.start()
        assert not done.wait(0.2)
        assert read(rows).tombstones == ()
        slow.commit()
        other.join()
    assert [it.subject_id for it in read(rows).tombstones] == ["first", "second"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM short_term_memories",
        "UPDATE short_term_memories SET summary = NULL",
        "INSERT INTO short_term_memories (scope, owner_id, channel_id) VALUES ('user', 'u', 'c')",
        "DELETE FROM tombstones",
        "UPDATE tombstones SET forgotten_at = now()",
        "SELECT * FROM applied_turns",
        "SELECT nextval('tombstone_numbers')",
        "INSERT INTO tombstones VALUES (1, 'user', 'u', now())",
    ],
)
def test_capture_may_write_tombstones_and_nothing_else(capture_url, statement):
    with (
        psycopg.connect(capture_url) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


def test_a_database_that_is_not_there_is_told_at_once_and_then_left_alone(clock, monkeypatch):
    rows = durable_at(NOWHERE, clock)
    with pytest.raises(Away):
        read(rows)
    monkeypatch.setattr(rows._database, "_open", lambda: pytest.fail("it was asked again"))
    clock.now += patience.REST_MS - 1
    with pytest.raises(Away):
        read(rows)


def test_after_a_rest_it_is_tried_again(clock, rows, capture_url, monkeypatch):
    good = rows._database._open()
    monkeypatch.setattr(rows._database, "_opened", durable_at(NOWHERE, clock)._database._open())
    with pytest.raises(Away):
        read(rows)
    monkeypatch.setattr(rows._database, "_opened", good)
    clock.now += patience.REST_MS
    assert read(rows).rows == ()


def test_a_database_that_hangs_keeps_no_reader_waiting(rows, sql, database_url, monkeypatch):
    """Held up by a lock, as by a failing disk: the statement's own limit ends it."""
    assert read(rows).rows == ()
    with psycopg.connect(database_url) as connection:
        connection.execute("LOCK TABLE short_term_memories IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        with pytest.raises(Away):
            read(rows)
        waited = time.monotonic() - began
    assert waited < 1


def test_the_server_ends_a_read_that_nobody_waits_for_any_more(rows):
    limit = rows._database._open().run(lambda it: it.execute("SHOW statement_timeout").fetchone())
    assert limit == ("300ms",)


def test_a_connection_that_broke_meanwhile_is_replaced_without_a_failure(rows, sql):
    read(rows)
    sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'shortterm-capture'"
    )
    assert read(rows).rows == ()


def test_it_reads_by_index_alone(rows, insert, sql):
    """Whatever the statement is asked: its one generic plan has no scan over the whole table."""
    sql(
        "INSERT INTO short_term_memories (scope, owner_id, channel_id, server_id, last_turn_at)"
        " SELECT kind, 's' || mod(n, 500), 'c' || n, 's' || mod(n, 500), now()"
        " FROM generate_series(1, 10000) AS n, unnest(ARRAY['user', 'server']) AS kind"
    )
    sql("ANALYZE short_term_memories")
    plans = []

    def explain(connection, statement, parameters, kind):
        explained = f"EXPLAIN (FORMAT JSON) {statement}".encode()
        (plan,) = connection.execute(explained, parameters).fetchone()
        plans.append(json.dumps(plan))
        return original(connection, statement, parameters, kind)

    original = module._one
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_one", explain)
        read(rows, channels=("p",))
        read(rows, **OF_USER, everywhere=True)
        read(rows, for_prompt=True)
        rows.rows_of([USERS, ASKED], obeyed=0)
        rows.export("u", None, most=10, obeyed=0)
    assert len(plans) == 5
    assert all("Index" in it for it in plans)
    assert all("memories_of_channel" in it for it in plans[:3])
    scans = [it for plan in plans for it in _nodes(json.loads(plan)[0]["Plan"])]
    assert "Seq Scan" not in {kind for kind, table in scans if table == "short_term_memories"}


def test_a_database_that_always_answers_too_late_is_left_alone(rows, clock, monkeypatch):
    read(rows)
    bounded, database = rows._database, rows._database._open()

    def slowly(act):
        value = original(act)
        clock.now += 10_000
        return value

    original = database.run
    monkeypatch.setattr(database, "run", slowly)
    monkeypatch.setattr(bounded._breaker, "succeeded", lambda: pytest.fail("it is trusted again"))
    bounded._breaker.failed()
    clock.now += patience.REST_MS
    assert read(rows).rows == ()


def test_a_database_that_answered_too_late_once_is_left_alone_for_a_while(rows, clock, monkeypatch):
    read(rows)
    database = rows._database._open()
    asked, answers = threading.Event(), threading.Event()

    def late(act):
        asked.set()
        answers.wait(10)
        clock.now += 1_000
        return original(act)

    original = database.run
    monkeypatch.setattr(database, "run", late)
    monkeypatch.setattr(module, "READ_S", 0.01)
    with pytest.raises(Away):
        read(rows)
    assert asked.wait(10)
    monkeypatch.setattr(rows._database, "_open", lambda: pytest.fail("it was asked again"))
    answers.set()
    rows._database._aside._last.result(timeout=10)
    with pytest.raises(Away):
        read(rows)


@pytest.fixture
def waits(rows, monkeypatch):
    """Read, and return how long the reader would have waited; what is given breaks it."""

    def begin(error=None) -> float:
        seconds = []

        def run(act, within_s):
            seconds.append(within_s)
            return original(act, 10)

        def fail(act):
            raise error

        original = rows._database._aside.run
        with monkeypatch.context() as patch:
            patch.setattr(rows._database._aside, "run", run)
            if error:
                patch.setattr(rows._database._open(), "run", fail)
            with contextlib.suppress(Away):
                read(rows)
        return seconds[0]

    return begin


def test_the_first_read_waits_for_its_connection_too(waits):
    assert [waits(), waits()] == [patience.CONNECT_S, module.READ_S]


def test_after_a_connection_was_lost_a_read_waits_for_the_next(waits, clock):
    waits()
    clock.now += patience.CONNECT_EVERY_MS - 1
    assert waits() == module.READ_S
    clock.now += 1
    assert waits(Unavailable("gone")) == module.READ_S
    clock.now += patience.REST_MS
    assert waits() == patience.CONNECT_S


def test_a_connection_that_nobody_used_for_a_minute_may_be_gone(waits, clock):
    waits()
    clock.now += patience.CONNECT_EVERY_MS
    assert [waits(), waits()] == [patience.CONNECT_S, module.READ_S]


def test_in_an_outage_one_read_a_minute_waits_for_a_connection(waits, clock):
    patient = 0
    for _ in range(3 * patience.CONNECT_EVERY_MS // patience.REST_MS):
        patient += waits(Unavailable("away")) == patience.CONNECT_S
        clock.now += patience.REST_MS
    assert patient == 3


def _nodes(plan):
    yield plan["Node Type"], plan.get("Relation Name")
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def test_a_row_that_the_container_needs_is_read_however_old(rows, insert):
    """Its entry may be alive: the bot's clock, which rows go by, may be days behind."""
    insert(ASKED, age=80 * 24 * HOUR)
    insert(server("held"), age=80 * 24 * HOUR, is_private=True)
    found = read(rows, scopes=(ASKED, server("held"))).rows
    assert {it.channel_id: it.is_hidden for it in found} == {"c": False, "held": True}


def test_for_a_prompt_rows_without_notes_do_not_stand_in_the_way(rows, insert):
    insert(server("silent"))
    insert(server("noted"), age=HOUR, told=HOUR, summary="tides")
    insert(server("labelled"), age=2 * HOUR, told=HOUR, categories=json.dumps({"mood": "calm"}))
    assert channels(read(rows, for_prompt=True, limit=2)) == ["labelled", "noted"]


def test_a_channel_of_many_personas_keeps_no_other_channel_out_of_a_prompt(rows, insert):
    for number, channel in enumerate("xyz"):
        insert(server(channel), age=HOUR + number, told=HOUR + number, summary="tides")
    for persona in ("7", "8", "9", "10"):
        insert(server("lounge", persona), age=int(persona), told=int(persona), summary="tides")
    found = read(rows, for_prompt=True, limit=2).rows
    assert [(it.channel_id, it.persona_id) for it in found[:3]] == [
        ("lounge", "7"),
        ("lounge", "8"),
        ("x", "7"),
    ]


def test_a_row_comes_once_even_if_it_is_needed_and_among_the_newest(rows, insert):
    insert(server("held"))
    assert channels(read(rows, scopes=(ASKED, server("held")))) == ["held"]


def test_the_live_row_takes_no_place_of_the_others(rows, insert):
    insert(ASKED)
    insert(USERS)
    for channel in "abd":
        insert(Scope("user", "u", channel))
    found = read(rows, **OF_USER, limit=2).rows
    assert len([it for it in found if it.kind == "user" and it.channel_id != "c"]) >= 2


def test_notes_are_told_behind_the_tombstones_too(rows):
    tombstone = rows.forget("user", "u", now=NOW)
    assert rows.rows_of([USERS], obeyed=0).tombstones == (tombstone,)


def test_no_more_tombstones_come_at_once_than_a_read_can_take(rows, sql):
    sql(
        "INSERT INTO tombstones (subject, subject_id, forgotten_at)"
        " SELECT 'user', n::text, now() FROM generate_series(1, 5001) AS n"
    )
    page = read(rows)
    assert page.may_be_behind
    assert len(page.tombstones) == 5_000
    rest = read(rows, obeyed=page.tombstones[-1].number)
    assert (len(rest.tombstones), rest.may_be_behind) == (1, False)


def test_a_clock_that_is_far_ahead_forgets_nothing_that_is_yet_to_come(rows):
    forgotten_at = rows.forget("user", "u", now=NOW + 100 * 24 * HOUR).forgotten_at
    assert forgotten_at < time.time_ns() // 1_000_000 + 61_000


def test_the_threads_of_a_forgotten_private_channel_stay_private(rows, insert):
    insert(server("p"), is_private=True)
    insert(server("thread"), parent_channel_id="p")
    insert(server("q"))
    insert(server("open"), parent_channel_id="q")
    for channel in ("p", "q"):
        rows.forget("channel", channel, now=NOW)
    assert channels(read(rows)) == ["open"]


@pytest.mark.parametrize(("first", "last", "shown"), [(True, False, ["t"]), (False, True, [])])
def test_threads_of_a_forgotten_channel_are_as_private_as_it_was_last(
    rows, insert, first, last, shown
):
    for persona, age, is_private in (("8", 2_000, first), ("7", 1_000, last), ("9", 3_000, first)):
        insert(server("p", persona), age=age, is_private=is_private)
    insert(server("t"), parent_channel_id="p")
    rows.forget("channel", "p", now=NOW)
    assert channels(read(rows)) == shown


def test_data_that_postgres_refuses_does_not_take_the_rows_from_others(rows):
    with pytest.raises(Away):
        rows.rows_of([Scope("user", "\0", "c")], obeyed=0)
    assert read(rows).rows == ()


def test_without_a_driver_reads_go_without_rows(capture_url, clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "shortterm.database", None)
    with pytest.raises(Away):
        read(durable_at(capture_url, clock))
