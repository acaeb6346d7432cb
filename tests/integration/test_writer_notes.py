"""Notes in the writer, on a real Postgres: the newest telling stands, and no turn is lost."""

import random
import threading
from datetime import UTC, datetime, timedelta
from functools import reduce

import psycopg
import pytest
from given import NOW, SERVERS, USERS, attachment, notes, work
from psycopg.conninfo import make_conninfo
from waiting import until

from shortterm.notes import NOTHING, Notes, join
from shortterm.scope import Scope
from writer import store

LATEST_MS = 253_402_300_799_999
ROW = ("server", "s", "c", "7")
CADENCE = ("turns_since_refresh", "last_refreshed_turn")


def at(ms):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


@pytest.fixture
def cadence(rows):
    """The turns since the last refresh, and those before it."""
    return lambda: tuple(rows()[ROW][it] for it in CADENCE)


@pytest.fixture
def versions(sql):
    """What changes with each writing of a row."""
    return lambda: sql("SELECT xmin::text, updated_at FROM short_term_memories ORDER BY scope")


def test_notes_make_the_row_that_is_missing(write, rows):
    told = notes(NOW, "tides", mood="calm", topic=None)
    assert write(attachment(told, lineage="3", is_private=True, parent_channel_id="p")) == []
    (row,) = rows().values()
    assert (row["summary"], row["summary_updated_at"]) == ("tides", at(NOW))
    assert row["categories"] == {"mood": "calm"}
    assert row["category_times"] == {"mood": NOW, "topic": NOW}
    assert row["refreshed_at"] == at(NOW)
    assert (row["server_id"], row["parent_channel_id"]) == ("s", "p")
    assert (row["persona_lineage_id"], row["is_private"]) == ("3", True)
    assert (row["last_turn_at"], row["turns_since_refresh"]) == (None, 0)


def test_notes_reach_every_scope_that_they_are_for(write, rows):
    write(attachment(notes(NOW, "tides"), USERS, SERVERS))
    assert [it["summary"] for it in rows().values()] == ["tides", "tides"]


def test_a_scope_without_persona_keeps_its_notes(write, rows):
    scope = Scope("server", "s", "c")
    write(attachment(notes(NOW, "tides"), scope))
    write(attachment(notes(NOW + 1, "storms"), scope))
    assert write(attachment(notes(NOW, "other"))) == []
    summaries = {key[3]: it["summary"] for key, it in rows().items()}
    assert summaries == {None: "storms", "7": "other"}


@pytest.mark.parametrize(
    "text", ["a,b,,c", 'say "hi"', "back\\slash {x} %s", "two\nlines", "🌊\u2028é"]
)
def test_a_summary_and_a_category_hold_any_text(write, rows, text):
    write(attachment(notes(NOW, text, **{text: text})))
    assert (rows()[ROW]["summary"], rows()[ROW]["categories"]) == (text, {text: text})


def test_notes_never_change_where_or_when_a_row_is(write, rows):
    write(work("t1", is_private=True))
    write(attachment(notes(NOW + 9, "tides"), server_id="other", parent_channel_id="p", at=NOW + 9))
    row = rows()[ROW]
    assert (row["server_id"], row["parent_channel_id"], row["is_private"]) == ("s", None, True)
    assert row["last_turn_at"] == at(NOW)


def test_notes_that_bring_a_lineage_leave_a_direct_message_one(write, rows, sql):
    sql("INSERT INTO short_term_memories (scope, owner_id, channel_id, persona_id)"
        " VALUES ('server', 's', 'c', '7')")  # fmt: skip
    write(attachment(notes(), lineage="3", parent_channel_id="p", is_private=True))
    row = rows()[ROW]
    assert (row["server_id"], row["parent_channel_id"], row["is_private"]) == (None, None, False)
    assert row["persona_lineage_id"] == "3"


@pytest.mark.parametrize("private", [True, False])
def test_where_a_row_is_that_notes_made_the_first_turn_says(write, rows, private):
    write(attachment(notes(NOW, "tides"), is_private=not private, server_id=None))
    write(work("t1", at=NOW - 5, is_private=private, parent_channel_id="p"))
    row = rows()[ROW]
    assert (row["server_id"], row["parent_channel_id"], row["is_private"]) == ("s", "p", private)
    assert (row["last_turn_at"], row["summary"]) == (at(NOW - 5), "tides")


def test_a_lineage_is_filled_in_once_whoever_brings_it(write, rows):
    for number, lineage in enumerate([None, "3", "4"]):
        write(attachment(notes(NOW, "tides"), lineage=lineage, at=NOW + number))
    write(work("t1", lineage="5"))
    assert rows()[ROW]["persona_lineage_id"] == "3"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("apart", [True, False])
def test_the_newest_summary_stands(write, rows, order, apart):
    told = [attachment(notes(NOW, "tides"), at=NOW), attachment(notes(NOW + 1, "storms"), at=NOW)]
    batch = [told[number] for number in order]
    for part in [[it] for it in batch] if apart else [batch]:
        write(*part)
    assert rows()[ROW]["summary"] == "storms"
    assert rows()[ROW]["summary_updated_at"] == at(NOW + 1)


def test_a_summary_that_was_taken_away_does_not_come_back_late(write, rows):
    write(attachment(notes(NOW + 1, "")))
    write(attachment(notes(NOW, "tides")))
    assert rows()[ROW]["summary"] is None
    assert rows()[ROW]["summary_updated_at"] == at(NOW + 1)


def test_categories_are_merged_and_a_removed_one_keeps_its_time(write, rows):
    write(attachment(notes(NOW, mood="calm", topic="tides")))
    write(attachment(notes(NOW + 1, mood=None)))
    write(attachment(notes(NOW, mood="rough")))
    assert rows()[ROW]["categories"] == {"topic": "tides"}
    assert rows()[ROW]["category_times"] == {"mood": NOW + 1, "topic": NOW}


def test_what_is_told_starts_the_cadence_anew_and_no_turn_is_lost(write, cadence):
    write(*(work(f"t{number}") for number in range(5)))
    write(attachment(notes(NOW, "tides")))
    assert cadence() == (0, 5)
    write(work("t5"), work("t6"))
    assert cadence() == (2, 5)
    write(attachment(notes(NOW + 1, mood="calm")))
    assert cadence() == (0, 7)


def test_the_same_notes_again_do_not_start_it_again(write, cadence):
    write(attachment(notes(NOW, "tides")))
    write(work("t1"))
    write(attachment(notes(NOW, "tides")))
    assert cadence() == (1, 0)


def test_what_was_told_before_the_last_telling_is_kept_and_starts_nothing(write, rows, cadence):
    write(attachment(notes(NOW, "tides")))
    write(work("t1"))
    write(attachment(notes(NOW - 1, mood="calm")))
    assert rows()[ROW]["categories"] == {"mood": "calm"}
    assert rows()[ROW]["refreshed_at"] == at(NOW)
    assert cadence() == (1, 0)


def test_notes_that_say_nothing_refresh_nothing(write, rows, cadence):
    write(work("t1"))
    write(attachment(NOTHING))
    assert cadence() == (1, 0)
    assert rows()[ROW]["refreshed_at"] is None


def test_notes_delivered_again_write_no_row(write, versions):
    told = [
        attachment(notes(NOW, "tides", mood="calm"), USERS, SERVERS, lineage="3"),
        attachment(notes(NOW + 1, topic=None), lineage="3"),
    ]
    write(*told)
    before = versions()
    write(*told, told[0])
    write(told[1])
    assert versions() == before


def test_notes_move_the_time_of_update(write, sql, rows):
    write(work("t1"))
    sql("UPDATE short_term_memories SET updated_at = '2020-01-01'")
    write(attachment(notes(NOW, "tides")))
    assert {key[0]: it["updated_at"].year for key, it in rows().items()} == {
        "user": 2020,
        "server": datetime.now(UTC).year,
    }


def test_every_millisecond_survives_the_column(writer_url, rows, versions):
    chance = random.Random(7)  # noqa: S311
    edges = [1, 999, 1000, NOW, LATEST_MS - 1, LATEST_MS]
    times = edges + [chance.randrange(LATEST_MS) for _ in range(200)]
    told = [
        attachment(notes(ms, "tides", mood="calm"), Scope("server", "s", f"c{number}"))
        for number, ms in enumerate(times)
    ]
    with psycopg.connect(writer_url, autocommit=True) as connection:
        store.apply(connection, told)
        found = {
            int(key[2][1:]): (it["summary_updated_at"], it["refreshed_at"], it["category_times"])
            for key, it in rows().items()
        }
        before = versions()
        store.apply(connection, told)
    expected = [(at(ms), at(ms), {"mood": ms}) for ms in times]
    assert [found[number] for number in range(len(times))] == expected
    assert versions() == before


@pytest.mark.parametrize(("last_told_at", "turns_since"), [(3, 1), (0, 3)])
def test_a_batch_ends_as_its_messages_one_after_the_other_as_they_were_captured(
    writer_url, rows, sql, last_told_at, turns_since
):
    turns = [work(f"t{number}", at=NOW + 2 * number, lineage="3") for number in range(4)]
    told = [
        attachment(notes(NOW + 2, "tides", mood="calm"), USERS, SERVERS, at=NOW + 1),
        attachment(notes(NOW + 1, "older", topic="sea"), at=NOW + 3, lineage="9"),
        attachment(notes(NOW + last_told_at, mood=None), at=NOW + 5),
    ]
    in_order = sorted(turns + told, key=lambda it: it.known_at)
    mixed = told + turns[::-1] + turns

    def after(*batches):
        sql("TRUNCATE short_term_memories, applied_turns")
        with psycopg.connect(writer_url, autocommit=True) as connection:
            for batch in batches:
                store.apply(connection, batch)
        own = {"created_at", "updated_at", "live_hour"}
        return {
            key: {name: it for name, it in row.items() if name not in own}
            for key, row in rows().items()
        }

    assert after(mixed) == after(*([it] for it in in_order))
    live = after(mixed)["server", "s", "c", "7"]
    assert (live["turns_since_refresh"], live["last_refreshed_turn"]) == (
        turns_since,
        4 - turns_since,
    )


def test_a_turn_posted_twice_moves_the_cadence_of_the_scope_it_counted_on(writer_url, rows):
    first = work("t1", channel="b", at=NOW + 9, captured_at=NOW + 1)
    again = work("t1", channel="c", at=NOW, captured_at=NOW + 4)
    told = attachment(notes(NOW + 2, "tides"), at=NOW + 2)
    with psycopg.connect(writer_url, autocommit=True) as connection:
        store.apply(connection, [work("t0", channel="c", at=NOW)])
        store.apply(connection, [again, first, told])
    found = rows()
    cadence = {it: [found["server", "s", it, "7"][name] for name in CADENCE] for it in "bc"}
    assert cadence == {"b": [1, 0], "c": [0, 1]}


def _telling(chance, told_at):
    summary = chance.choice([None, "", "tides", f"storms, {told_at}"])
    names = chance.sample("abcd", 2)
    return notes(told_at, summary, **{it: chance.choice([None, "calm", "rough"]) for it in names})


@pytest.mark.parametrize("seed", range(6))
def test_however_often_and_in_whatever_order_all_comes_the_rows_end_the_same(
    writer_url, rows, versions, seed
):
    chance = random.Random(seed)  # noqa: S311
    turns = [work(f"t{number}", at=NOW + number) for number in range(12)]
    told = [_telling(chance, NOW + number) for number in range(8)]
    messages = turns + [attachment(it, USERS, SERVERS) for it in told]
    deliveries = [it for it in messages for _ in range(chance.randint(1, 3))]
    chance.shuffle(deliveries)
    with psycopg.connect(writer_url, autocommit=True) as connection:
        while deliveries:
            size = chance.randint(1, 9)
            batch, deliveries = deliveries[:size], deliveries[size:]
            chance.choice([store.apply, store.apply_each])(connection, batch)
        before = versions()
        store.apply(connection, messages)
    assert versions() == before
    expected = reduce(join, told, NOTHING)
    for key, row in rows().items():
        assert (row["summary"], row["categories"]) == (expected.summary, expected.by_category)
        assert row["category_times"] == {it.name: it.told_at for it in expected.categories}
        assert (row["refreshed_at"], row["last_turn_at"]) == (at(expected.told_at), at(NOW + 11))
        assert sum(row[it] for it in CADENCE) == (12 if key[0] == "server" else 0)


@pytest.mark.parametrize("first", [[], [work("t1")]], ids=["a new row", "a row that is there"])
def test_two_writers_with_notes_of_one_row_lose_none(writer_url, rows, sql, first):
    """The second one waits for the first one's row, and joins what it finds then."""
    named = make_conninfo(writer_url, application_name="second")
    with (
        psycopg.connect(writer_url, autocommit=True) as one,
        psycopg.connect(named, autocommit=True) as other,
    ):
        store.apply(one, [work("t0", channel="d"), *first])
        one.execute("BEGIN")
        store.apply(one, [attachment(notes(NOW, mood="calm"))])
        second = [attachment(notes(NOW + 1, topic="tides"))]
        waiting = threading.Thread(target=store.apply, args=(other, second), daemon=True)
        waiting.start()
        until(
            lambda: bool(
                sql(
                    "SELECT 1 FROM pg_stat_activity"
                    " WHERE application_name = 'second' AND wait_event_type = 'Lock'"
                )
            )
        )
        one.execute("COMMIT")
        waiting.join(timeout=20)
        assert not waiting.is_alive()
    assert rows()[ROW]["categories"] == {"mood": "calm", "topic": "tides"}


POISON = [Notes("x" * 1501, NOW + 1), Notes("a \0", NOW + 1), notes(NOW + 1, **{"a \0": "x"})]


@pytest.mark.parametrize("poison", POISON, ids=["too long", "a NUL", "a NUL in a name"])
def test_notes_that_the_database_refuses_fail_alone(write, rows, emitted, poison):
    batch = [work("t1"), attachment(poison), attachment(notes(NOW, "tides")), work("t2")]
    assert write(*batch) == ["m1"]
    assert (rows()[ROW]["summary"], rows()[ROW]["last_refreshed_turn"]) == ("tides", 1)
    counted = emitted()
    assert (counted["BatchFallbacks"], counted["WorkRefused"]) == (1, 1)
    assert (counted["TurnsApplied"], counted["TurnsRepeated"]) == (2, 0)
    assert counted["NotesApplied"] == 1


def test_refused_notes_leave_no_row_behind(write, rows):
    assert write(attachment(POISON[0])) == ["m0"]
    assert rows() == {}


def test_the_metrics_count_notes_that_changed_nothing_but_no_turn(write, emitted):
    write(attachment(notes(NOW, "tides")), attachment(notes(NOW, "tides")), work("t1"))
    counted = emitted()
    assert (counted["NotesApplied"], counted["TurnsApplied"]) == (2, 1)
    assert counted["TurnsRepeated"] == 0


def test_no_word_of_refused_notes_is_logged(write, logged):
    write(attachment(Notes("CANARY-7f3a" * 200, NOW)), attachment(Notes("CANARY \0", NOW)))
    assert "Work was refused" in logged()
    assert "CANARY" not in logged()
