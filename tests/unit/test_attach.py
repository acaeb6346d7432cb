"""Attaching notes: container at once, rows through the queue, the newest telling stands."""

import json

import msgspec
import pytest
from faults import FakeQueue, FakeRows, unreachable
from given import HOUR, NOW, SERVERS, USERS, Clock, memory, notes, row, said, window

from capture.attach import attach
from capture.outbox import Outbox
from capture.refresh import decode
from shortterm.scope import Scope
from shortterm.tombstone import Tombstone
from shortterm.wire import Mismatch
from shortterm.work import NotesWork, ScopeWork
from shortterm.work import decode as decode_work

GUILD = [ScopeWork(USERS), ScopeWork(SERVERS, live=True)]


class Bench:
    def __init__(self, *rows):
        self.clock = Clock()
        self.memory = memory(self.clock)
        self.queue = FakeQueue()
        self.outbox = Outbox(self.queue, "https://queue", capacity=100)
        self.rows = FakeRows(*rows)

    def put(self, **fields):
        place = {"userId": "u", "serverId": "s", "channelId": "c", "personaId": "7"}
        refresh = decode(json.dumps(place | fields))
        return attach(refresh, self.memory, self.rows, self.outbox, now=self.clock.now)

    def notes(self, scope=SERVERS):
        entry = self.memory.get(scope)
        return entry and (entry.notes.summary, entry.notes.by_category)

    @property
    def work(self):
        return [decode_work(body) for body in self.queue.bodies]


@pytest.fixture
def bench():
    return Bench()


def test_in_a_guild_both_the_users_and_the_servers_entry_get_them(bench):
    bench.put(summary="tides", categories={"mood": "calm"})
    expected = ("tides", {"mood": "calm"})
    assert (bench.notes(USERS), bench.notes(SERVERS)) == (expected, expected)


@pytest.mark.parametrize("server", [None, "", "DM"])
def test_in_a_direct_message_the_users_entry_gets_them(bench, server):
    attached = bench.put(serverId=server, summary="tides")
    assert [it.scope for it in attached.entries] == [USERS]


def test_the_rows_get_them_through_the_queue(bench):
    bench.put(summary="tides", categories={"mood": "calm"}, parentChannelId="p")
    (work,) = bench.work
    assert work == NotesWork(
        version=1,
        kind="notes",
        captured_at=NOW,
        scopes=tuple(GUILD),
        notes=notes(NOW, "tides", mood="calm"),
        server_id="s",
        parent_channel_id="p",
    )


@pytest.mark.parametrize(("server", "group"), [("s", "s"), (None, "u")])
def test_their_message_is_in_the_group_of_whose_cadence_starts_anew(bench, server, group):
    bench.put(summary="tides", serverId=server)
    assert bench.queue.groups == [group]


def test_a_forgetting_goes_by_when_they_came_and_not_by_when_they_were_told(bench):
    bench.put(summary="tides", occurredAt=NOW - HOUR)
    assert (bench.work[0].captured_at, bench.work[0].notes.told_at) == (NOW, NOW - HOUR)


def test_lines_stay_as_they_are(bench):
    bench.memory.remember("t1", GUILD, window("a"))
    bench.put(summary="tides")
    assert said(bench.memory.get(SERVERS).window) == ["a"]


def test_the_newest_telling_stands_whatever_comes_first(bench):
    bench.put(summary="new", occurredAt=NOW)
    bench.put(summary="old", occurredAt=NOW - 1)
    assert bench.notes()[0] == "new"


def test_an_old_telling_does_not_undo_what_only_the_row_knows():
    bench = Bench(row(SERVERS, told=notes(NOW, "new")))
    bench.put(summary="old", occurredAt=NOW - 1)
    assert bench.notes()[0] == "new"


def test_a_telling_from_the_future_counts_as_now(bench):
    assert bench.put(summary="tides", occurredAt=NOW + HOUR).told_at == NOW


def test_categories_are_merged_key_by_key(bench):
    bench.put(categories={"mood": "calm", "topic": "tides"}, occurredAt=NOW - 2)
    bench.put(categories={"mood": "rough"}, occurredAt=NOW - 1)
    bench.put(categories={"topic": None})
    assert bench.notes() == (None, {"mood": "rough"})


def test_an_empty_summary_clears_it(bench):
    bench.put(summary="tides", occurredAt=NOW - 1)
    bench.put(summary=" ")
    assert bench.notes() == (None, {})


def test_clearing_where_nothing_lives_leaves_nothing_but_that_it_was_cleared(bench):
    for _ in range(2):
        assert bench.put(summary="").stands
    assert bench.memory.get(SERVERS).is_bare


def test_an_entry_that_is_over_without_its_summary_leaves_no_line_behind(bench):
    bench.memory.remember("t1", GUILD, window("words"))
    bench.put(summary="tides")
    bench.clock.now += 13 * HOUR
    bench.put(summary="")
    assert bench.memory.get(SERVERS).is_bare


def test_a_long_summary_is_cut_and_said_to_be(bench):
    assert bench.put(summary="x" * 1_500).is_cut is False
    assert bench.put(summary="y" * 1_501).is_cut is True
    assert len(bench.notes()[0]) == 1_500


FIVE = {f"c{number}": "text" for number in range(5)}


def test_more_categories_than_a_scope_keeps_are_refused_and_nothing_is_attached(bench):
    bench.put(categories=FIVE)
    with pytest.raises(Mismatch) as caught:
        bench.put(summary="tides", categories={"c6": "text"})
    assert caught.value.field == "categories"
    assert bench.notes() == (None, FIVE)
    assert len(bench.work) == 1


@pytest.mark.parametrize("scope", [USERS, SERVERS])
def test_too_many_for_one_of_both_scopes_are_too_many(scope):
    bench = Bench(row(scope, told=notes(NOW - 1, **FIVE)))
    with pytest.raises(Mismatch):
        bench.put(categories={"c6": "text"})
    assert (bench.notes(USERS), bench.notes(SERVERS)) == (None, None)


def test_categories_that_only_the_row_knows_count_too():
    bench = Bench(row(SERVERS, told=notes(NOW - 1, **FIVE)))
    with pytest.raises(Mismatch):
        bench.put(categories={"c6": "text"})
    assert bench.work == []


def test_one_may_be_exchanged_for_another(bench):
    bench.put(categories=FIVE, occurredAt=NOW - 1)
    bench.put(categories={"c0": None, "c6": "text"})
    assert list(bench.notes()[1]) == ["c1", "c2", "c3", "c4", "c6"]


def turns(bench, count):
    for number in range(count):
        bench.memory.remember(f"t{number}", GUILD, window("a"))


def cadence(bench):
    entry = bench.memory.get(SERVERS)
    return entry.turns_since_refresh, entry.last_refreshed_turn


def test_the_cadence_starts_anew(bench):
    turns(bench, 3)
    bench.put(summary="tides")
    assert cadence(bench) == (0, 3)


def test_it_starts_anew_once_however_often_the_same_request_comes(bench):
    turns(bench, 3)
    bench.put(summary="tides", occurredAt=NOW - 1)
    bench.memory.remember("later", GUILD, window("b"))
    for _ in range(3):
        bench.put(summary="tides", occurredAt=NOW - 1)
    assert cadence(bench) == (1, 3)


def test_it_counts_on_from_what_the_row_knows():
    bench = Bench(row(SERVERS, turns_since_refresh=4, last_refreshed_turn=5))
    attached = bench.put(summary="tides")
    assert attached.entries[1].last_refreshed_turn == 9
    assert cadence(bench) == (0, 9)


@pytest.mark.parametrize("told", [{"summary": "tides"}, {"categories": {"mood": "calm"}}])
def test_what_is_told_prolongs_the_life_of_an_entry_and_its_repetition_does_not(bench, told):
    turns(bench, 1)
    bench.clock.now += HOUR
    for _ in range(2):
        bench.put(**told, occurredAt=NOW + HOUR)
        assert bench.memory.get(SERVERS).updated_at == NOW + HOUR
        bench.clock.now += HOUR


def test_a_lineage_that_notes_tell_is_known_from_then_on(bench):
    bench.put(summary="tides", personaLineageId="3")
    turns(bench, 1)
    assert bench.memory.get(SERVERS).persona_lineage_id == "3"
    assert {it.persona_lineage_id for it in bench.work[0].scopes} == {"3"}


def test_without_the_database_they_are_attached_all_the_same(bench):
    bench.rows.away = True
    assert bench.put(summary="tides").queued
    assert bench.notes()[0] == "tides"


def test_without_the_queue_they_wait_in_the_outbox(bench):
    bench.queue.then(unreachable)
    assert not bench.put(summary="tides").queued
    assert len(bench.outbox) == 1


def test_an_entry_that_began_with_notes_is_replaced_by_any_turn(bench):
    bench.put(summary="tides")
    bench.memory.remember("t1", GUILD, window("a", occurred_at=NOW - HOUR))
    assert said(bench.memory.get(SERVERS).window) == ["a"]
    assert bench.notes()[0] == "tides"


def test_notes_of_a_private_channel_are_private(bench):
    bench.put(summary="tides", isPrivateChannel=True)
    assert bench.memory.get(SERVERS).window.is_private
    assert bench.work[0].is_private


@pytest.mark.parametrize("place", [{"channelId": "p"}, {"parentChannelId": "p"}])
def test_notes_of_a_channel_that_is_known_as_private_are_private(bench, place):
    of_parent = [ScopeWork(Scope("server", "s", "p"), live=True)]
    bench.memory.remember("t1", of_parent, window("a", is_private=True))
    assert bench.put(summary="tides", **place).entries[0].window.is_private


def test_a_message_with_notes_is_ascii_whatever_they_say(bench):
    bench.put(summary="Ebbe und Flut 🌊 \ufffe", categories={"Laune": "größer"})
    assert bench.queue.bodies[0].isascii()
    assert bench.work[0].notes.summary == "Ebbe und Flut 🌊 \ufffe"


def test_no_type_that_holds_notes_prints_them(bench):
    attached = bench.put(summary="CANARY", categories={"CANARY": "CANARY"})
    held = [attached, attached.entries[0], bench.work[0], bench.work[0].notes]
    assert "CANARY" not in repr(held)
    assert "CANARY" in msgspec.json.encode(bench.work[0]).decode()


def test_what_was_told_anew_meanwhile_is_said_not_to_stand(bench):
    assert bench.put(summary="new", categories={"mood": "calm"}, occurredAt=NOW).stands
    assert not bench.put(summary="old", occurredAt=NOW - 1).stands
    assert bench.put(summary="old", categories={"topic": "sea"}, occurredAt=NOW - 1).stands


def test_categories_that_no_read_shows_any_more_do_not_count():
    bench = Bench(row(SERVERS, at=NOW - 12 * HOUR, told=notes(NOW - 12 * HOUR, **FIVE)))
    bench.put(categories={"c6": "text"})
    assert "c6" in bench.notes()[1]


def test_what_was_forgotten_elsewhere_is_neither_answered_nor_kept(bench):
    bench.put(categories={"mood": "SECRET"}, occurredAt=NOW - 1)
    bench.rows.tombstones = (Tombstone(1, "user", "u", NOW),)
    bench.clock.now += 1
    bench.put(categories={"gear": "boots"})
    assert bench.notes(USERS) == (None, {"gear": "boots"})


def test_forgotten_categories_do_not_count_among_the_five(bench):
    bench.put(categories=FIVE, occurredAt=NOW - 1)
    bench.rows.tombstones = (Tombstone(1, "channel", "c", NOW),)
    bench.clock.now += 1
    bench.put(categories={"c6": "text"})
    assert bench.notes() == (None, {"c6": "text"})


def test_what_is_told_after_a_forgetting_stays(bench):
    bench.put(summary="old", occurredAt=NOW - 1)
    bench.rows.tombstones = (Tombstone(1, "user", "u", NOW),)
    bench.clock.now += 1
    bench.put(summary="new")
    bench.memory.obey(bench.rows.tombstones)
    assert bench.notes(USERS)[0] == "new"


def test_it_is_told_whether_the_rows_could_be_read(bench):
    assert bench.put(summary="tides").is_verified
    bench.rows.away = True
    assert not bench.put(summary="tides").is_verified


def test_a_row_that_a_summary_keeps_alive_counts_for_as_long():
    known = notes(NOW - 20 * HOUR, "tides", **FIVE)
    bench = Bench(row(SERVERS, at=NOW - 20 * HOUR, told=known))
    with pytest.raises(Mismatch):
        bench.put(categories={"c6": "text"})


def test_of_two_tellings_at_the_same_time_one_stands(bench):
    assert bench.put(summary="b", occurredAt=NOW).stands
    assert not bench.put(summary="a", occurredAt=NOW).stands


def test_what_stands_in_one_of_both_scopes_stands(bench):
    bench.put(userId="v", summary="new", occurredAt=NOW)
    assert bench.put(summary="old", occurredAt=NOW - 1).stands
    assert (bench.notes(USERS)[0], bench.notes(SERVERS)[0]) == ("old", "new")
