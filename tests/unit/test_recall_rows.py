"""Reading back what is durable: rows merged with memory, what is stale, and without a database."""

import pytest
from faults import FakeRows
from given import HOUR, NOW, notes, row, summarize, window
from recalling import ask, channels, keep, recalled

from capture import statements
from capture.entry import Entry
from capture.recall import MOST_READS
from capture.window import empty_window
from shortterm.scope import Scope
from shortterm.tombstone import Tombstone
from shortterm.work import ScopeWork

ASKED = Scope("server", "s", "c", "7")
OTHER = Scope("server", "s", "a", "7")


def state(found):
    return found["memory"]["state"], found["durable"]


def test_a_scope_that_this_container_never_saw_comes_with_summary_categories_and_cadence(held):
    known = row(
        OTHER,
        told=notes(NOW, "tides", mood="calm"),
        turns_since_refresh=2,
        last_refreshed_turn=5,
        persona_lineage_id="3",
        parent_channel_id="p",
    )
    (entry,) = ask(held, known)["others"]
    assert entry == {
        "key": "shortterm:server:s:a:7",
        "scope": "server",
        "ownerId": "s",
        "serverId": "s",
        "serverName": None,
        "channelId": "a",
        "channelName": None,
        "parentChannelId": "p",
        "isPrivateChannel": False,
        "personaId": "7",
        "personaLineageId": "3",
        "lines": [],
        "summary": "tides",
        "categories": {"mood": "calm"},
        "turnsSinceRefresh": 2,
        "lastRefreshedTurn": 5,
        "updatedAt": NOW,
    }


def test_the_asked_scope_comes_from_its_row_when_memory_has_nothing(held):
    found = ask(held, row(ASKED, told=notes(NOW, "tides")))
    assert found["current"]["summary"] == "tides"
    assert state(found) == ("cold", "fresh")


def test_categories_without_a_summary_are_told(held):
    current = ask(held, row(ASKED, told=notes(NOW, mood="calm")))["current"]
    assert (current["summary"], current["categories"]) == (None, {"mood": "calm"})


def test_a_category_whose_time_the_row_does_not_know_is_told(held):
    current = ask(held, row(ASKED, categories={"mood": "calm"}))["current"]
    assert current["categories"] == {"mood": "calm"}


def test_lines_of_memory_are_joined_with_the_summary_of_the_row(held):
    keep(held)
    current = ask(held, row(ASKED, told=notes(NOW, "tides")))["current"]
    assert [it["content"] for it in current["lines"]] == ["words"]
    assert current["summary"] == "tides"


@pytest.mark.parametrize(("age", "stands"), [(-1, "memory"), (1_000, "row")])
def test_the_newest_summary_stands(held, age, stands):
    keep(held)
    summarize(held, ASKED, "memory")
    told = held.get(ASKED).notes.told_at
    assert ask(held, row(ASKED, told=notes(told + age, "row")))["current"]["summary"] == stands


def test_a_summary_that_was_taken_away_elsewhere_is_gone(held):
    keep(held)
    summarize(held, ASKED, "memory")
    later = held.get(ASKED).notes.told_at + 1
    assert ask(held, row(ASKED, told=notes(later, "")))["current"]["summary"] is None


def test_the_cadence_is_that_which_counted_more(held):
    keep(held)
    more = row(ASKED, turns_since_refresh=3)
    assert ask(held, more)["current"]["turnsSinceRefresh"] == 3
    assert ask(held, row(ASKED))["current"]["turnsSinceRefresh"] == 1


def test_a_refresh_that_has_not_reached_the_row_yet_still_starts_the_cadence_anew(held):
    keep(held)
    summarize(held, ASKED, "tides")
    late = row(ASKED, turns_since_refresh=9)
    assert ask(held, late)["current"]["turnsSinceRefresh"] == 0


def test_a_refresh_that_came_to_another_container_starts_it_anew_here(held):
    for _ in range(3):
        keep(held)
        held._clock.now += 1
    elsewhere = row(ASKED, told=notes(held._clock(), "tides"), last_refreshed_turn=4)
    current = ask(held, elsewhere)["current"]
    assert (current["turnsSinceRefresh"], current["lastRefreshedTurn"]) == (0, 4)


def test_of_one_refresh_the_cadence_is_that_which_counted_more_turns_before_it(held):
    keep(held)
    summarize(held, ASKED, "tides")
    known = row(ASKED, told=held.get(ASKED).notes, last_refreshed_turn=4)
    assert ask(held, known)["current"]["lastRefreshedTurn"] == 4


def test_a_lineage_that_only_the_row_knows_is_told(held):
    keep(held)
    found = ask(held, row(ASKED, persona_lineage_id="3"))
    assert found["current"]["personaLineageId"] == "3"


def test_an_entry_was_updated_when_its_row_was_if_that_is_later(held):
    keep(held)
    assert ask(held, row(ASKED, at=NOW + 1))["current"]["updatedAt"] == NOW + 1
    assert ask(held, row(ASKED, at=NOW - 1))["current"]["updatedAt"] == NOW


def test_others_come_newest_first_whether_from_memory_or_row(held, clock):
    keep(held, "a")
    clock.now += 10
    keep(held, "b")
    between = row(Scope("server", "s", "r", "7"), at=NOW + 5)
    newest = row(Scope("server", "s", "n", "7"), at=NOW + 20)
    assert channels(ask(held, between, newest)) == ["n", "b", "r", "a"]
    assert channels(ask(held, between, newest, limit="2")) == ["n", "b"]


@pytest.mark.parametrize(
    ("summary", "hours", "lives"),
    [(None, 12, False), (None, 11, True), ("tides", 23, True), ("tides", 24, False)],
)
def test_a_row_lives_as_long_as_an_entry(held, clock, summary, hours, lives):
    known = row(ASKED, told=notes(NOW, summary))
    clock.now += hours * HOUR
    assert (ask(held, known)["current"] is not None) is lives


def test_a_row_is_as_old_as_its_last_sign_of_life_and_not_as_its_last_turn(held):
    known = row(ASKED, told=notes(NOW, "tides"), last_turn_at=NOW - 50 * HOUR)
    assert ask(held, known)["current"]["updatedAt"] == NOW


def test_lines_that_only_a_summary_kept_alive_go_with_it(held, clock):
    keep(held)
    summarize(held, ASKED, "tides")
    clock.now += 13 * HOUR
    assert ask(held)["current"] is not None
    cleared = row(ASKED, told=notes(clock.now, ""))
    assert ask(held, cleared)["current"] is None


def test_memory_that_saw_the_last_turn_is_warm(held):
    keep(held)
    assert state(ask(held, row(ASKED, at=NOW))) == ("warm", "fresh")


def test_memory_is_stale_when_the_row_saw_a_later_turn(held):
    keep(held)
    assert state(ask(held, row(ASKED, at=NOW + 1))) == ("stale", "fresh")


def test_memory_is_stale_when_another_channel_spoke_elsewhere(held):
    keep(held)
    assert state(ask(held, row(OTHER, at=NOW - 1))) == ("stale", "fresh")


def test_notes_alone_do_not_hide_that_turns_were_missed(held):
    summarize(held, ASKED, "tides")
    at = row(ASKED, at=NOW - 1)
    held.note(at.entry, lambda entry: entry.joined(at.entry))
    assert state(ask(held, at)) == ("stale", "fresh")


def test_without_the_database_memory_answers_and_says_so(held):
    keep(held)
    rows = FakeRows()
    rows.away = True
    found = ask(held, rows)
    assert found["current"]["lines"]
    assert state(found) == ("warm", "unavailable")


def test_without_the_database_memory_may_be_withheld(held):
    keep(held)
    keep(held, "a")
    rows = FakeRows()
    rows.away = True
    found = ask(held, rows, withhold=True)
    assert (found["current"], found["others"]) == (None, [])
    assert state(found) == ("warm", "unavailable")


def test_what_the_rows_know_as_private_is_hidden_even_if_memory_took_it_for_public(held):
    keep(held)
    keep(held, "a")
    hidden = [row(it, is_hidden=True) for it in (ASKED, OTHER)]
    found = ask(held, *hidden)
    assert (found["current"], found["others"]) == (None, [])


def test_an_entry_is_private_once_a_later_turn_elsewhere_was(held):
    keep(held)
    assert ask(held, row(ASKED, at=NOW + 1, is_private=True))["current"] is None


def test_an_entry_is_as_private_as_its_newest_turn_whatever_an_older_row_says(held, clock):
    keep(held, is_private=True)
    clock.now += 1
    keep(held, persona="8")
    assert ask(held, row(ASKED, at=NOW - 1))["current"] is None


def test_a_thread_without_a_row_is_hidden_when_its_parent_is_known_as_private(held):
    keep(held, "thread", parent_channel_id="p")
    rows = FakeRows(private_channels=frozenset("p"))
    assert channels(ask(held, rows)) == []
    assert set(rows.wanted[0].channels) == {"thread", "p"}
    assert channels(ask(held, rows, isPrivateChannel="true")) == ["thread"]


def threads(held, clock, *names):
    """Remember threads of channel p, each a ms after the one before, and as many other channels."""
    for channel in "abd"[: len(names)]:
        keep(held, channel)
        clock.now += 1
    for name in names:
        keep(held, name, parent_channel_id="p")
        clock.now += 1


@pytest.mark.parametrize("for_prompt", [False, True])
def test_what_comes_up_for_what_was_forgotten_elsewhere_is_asked_about_first(
    held, clock, for_prompt
):
    keep(held, "thread", parent_channel_id="p")
    for channel in "ab":
        clock.now += 1
        keep(held, channel)
    rows = FakeRows(private_channels=frozenset("p"))
    rows.tombstones = (Tombstone(1, "channel", "b", clock.now),)
    found = recalled(held, rows, limit="2", for_prompt=for_prompt)
    assert [it.channel_id for it in found.others] == ["a"]
    assert [set(it.channels) for it in rows.wanted] == [{"a", "b"}, {"a", "thread", "p"}]


@pytest.mark.parametrize("for_prompt", [False, True])
def test_hidden_threads_take_no_other_channels_place(held, clock, for_prompt):
    threads(held, clock, "t1", "t2", "t3")
    rows = FakeRows(private_channels=frozenset("p"))
    found = recalled(held, rows, limit="3", for_prompt=for_prompt)
    assert [it.channel_id for it in found.others] == ["d", "b", "a"]


def test_threads_that_are_known_to_be_hidden_cost_no_further_read(held, clock):
    threads(held, clock, "t1", "t2", "t3")
    rows = FakeRows(private_channels=frozenset("p"))
    for _ in range(2):
        recalled(held, rows, limit="3")
    assert len(rows.wanted) == 3


def test_threads_that_are_public_since_take_their_places_again(held, clock):
    threads(held, clock, "t1", "t2")
    recalled(held, FakeRows(private_channels=frozenset("p")), limit="2")
    assert channels(ask(held, FakeRows(), limit="2")) == ["t2", "t1"]


def test_hidden_threads_take_no_place_without_the_database_either(held, clock):
    threads(held, clock, "t1", "t2")
    recalled(held, FakeRows(private_channels=frozenset("p")), limit="2")
    assert channels(ask(held, away(), limit="2")) == ["b", "a"]


def test_rows_are_not_read_again_when_that_has_taken_long_already(held, clock, monkeypatch):
    watch = iter([0.0, 0.2])
    monkeypatch.setattr("capture.recall.monotonic", lambda: next(watch))
    threads(held, clock, "t1", "t2")
    rows = FakeRows(private_channels=frozenset("p"))
    assert channels(ask(held, rows, limit="2")) == []
    assert len(rows.wanted) == 1


def test_a_row_of_no_lineage_does_not_come_in_the_place_of_a_forgotten_entry(held, clock):
    keep(held, "a", lineage="3")
    clock.now += 1
    rows = FakeRows(row(OTHER, at=clock.now))
    rows.tombstones = (Tombstone(1, "channel", "a", NOW),)
    assert channels(ask(held, rows, personaLineageId="3")) == []


def test_rows_are_read_no_more_than_a_few_times_for_one_answer(held, clock):
    for number in range(9):
        keep(held, f"t{number}", parent_channel_id=f"p{number}")
        clock.now += 1
    rows = FakeRows(private_channels=frozenset(f"p{number}" for number in range(9)))
    assert channels(ask(held, rows, limit="1")) == []
    assert len(rows.wanted) == MOST_READS


def test_an_entry_that_says_nothing_takes_no_place_in_a_prompt(held, clock):
    keep(held, "a")
    clock.now += 1
    for channel in "ab":
        scope = Scope("server", "s", channel, "8")
        place = empty_window(clock.now, server_id="s", parent_channel_id=None, is_private=False)
        held.note(Entry(scope, place, clock.now, clock.now), lambda it: it)
    found = recalled(held, limit="1", for_prompt=True)
    assert [(it.channel_id, it.persona_id) for it in found.others] == [("a", "7")]


def test_a_row_of_another_server_is_shown_only_when_asked_for(held):
    abroad = row(Scope("user", "u", "a", "7"), server_id="s2")
    assert channels(ask(held, abroad, scope="user")) == []
    everywhere = {"scope": "user", "includeOtherServers": "true"}
    assert channels(ask(held, abroad, **everywhere)) == ["a"]


def test_what_was_private_on_another_server_is_never_shown(held):
    abroad = row(Scope("user", "u", "a", "7"), server_id="s2", is_private=True)
    everywhere = {"scope": "user", "includeOtherServers": "true", "isPrivateChannel": "true"}
    assert channels(ask(held, abroad, **everywhere)) == []


def forgotten(subject="user", subject_id="u", at=NOW):
    rows = FakeRows()
    rows.tombstones = (Tombstone(1, subject, subject_id, at),)
    return rows


def test_a_user_who_was_forgotten_elsewhere_is_not_shown(held):
    keep(held)
    assert ask(held, forgotten(), scope="user")["current"] is None
    assert held.get(Scope("user", "u", "c", "7")) is None


def test_the_lines_of_a_user_who_was_forgotten_elsewhere_are_not_shown(held):
    keep(held, author="u")
    found = ask(held, forgotten())
    assert found["current"]["lines"] == []


def test_a_channel_that_was_forgotten_elsewhere_is_not_shown(held):
    keep(held)
    keep(held, "a")
    found = ask(held, forgotten("channel", "a"))
    assert found["current"] is not None
    assert channels(found) == []


def test_a_turn_captured_after_the_forgetting_is_shown(held, clock):
    keep(held, author="u")
    clock.now += 1
    keep(held, author="u")
    assert ask(held, forgotten(), scope="user")["current"]["lines"]


def test_tombstones_are_asked_for_from_the_last_one_that_was_obeyed(held, monkeypatch):
    rows, asked = forgotten(), []
    read = rows.read

    def noting(wanted, *, obeyed):
        asked.append(obeyed)
        return read(wanted, obeyed=obeyed)

    monkeypatch.setattr(rows, "read", noting)
    for _ in range(2):
        ask(held, rows)
    assert asked == [0, 1]


def test_the_nudge_in_a_guild_goes_by_the_servers_row_whichever_scope_is_read(held):
    rows = FakeRows(row(ASKED, turns_since_refresh=6))
    assert recalled(held, rows, scope="user").turns_since_refresh == 6
    keep(held)
    assert recalled(held, scope="user").turns_since_refresh == 1


def test_the_servers_row_that_the_nudge_goes_by_is_not_told_with_a_users(held):
    found = ask(held, row(ASKED, told=notes(NOW, "tides")), scope="user")
    assert (found["current"], found["others"]) == (None, [])


def test_a_private_channel_gives_no_nudge_to_those_who_may_not_see_it(held):
    keep(held, is_private=True)
    assert recalled(held, scope="user").turns_since_refresh == 0
    assert recalled(held).turns_since_refresh == 0


def away():
    rows = FakeRows()
    rows.away = True
    return rows


def test_what_the_rows_told_to_be_private_stays_hidden_when_they_cannot_be_read(held):
    keep(held, "thread", parent_channel_id="p")
    keep(held, "a")
    known = FakeRows(row(OTHER, is_hidden=True), private_channels=frozenset("p"))
    assert channels(ask(held, known)) == []
    assert channels(ask(held, away())) == []


def test_what_the_rows_told_to_be_public_since_is_shown_again(held):
    keep(held, "thread", parent_channel_id="p")
    ask(held, FakeRows(private_channels=frozenset("p")))
    assert channels(ask(held, FakeRows())) == ["thread"]
    assert channels(ask(held, away())) == ["thread"]


def test_what_is_told_to_who_sees_everything_is_known_of_the_channel_and_not_of_its_row(held):
    keep(held, "a")
    rows = FakeRows(row(OTHER), private_channels=frozenset("a"))
    assert channels(ask(held, rows, isPrivateChannel="true")) == ["a"]
    assert channels(ask(held, away())) == []


def test_without_the_database_what_is_withheld_gives_no_nudge_either(held):
    keep(held)
    withheld = recalled(held, away(), withhold=True, scope="user")
    assert withheld.turns_since_refresh == 0


def test_more_tombstones_than_come_at_once_are_all_obeyed_before_anything_is_answered(
    held, monkeypatch
):
    monkeypatch.setattr(statements, "MOST_TOMBSTONES", 2)
    monkeypatch.setattr("faults.MOST_TOMBSTONES", 2)
    keep(held, author="u")
    rows = FakeRows()
    users = ("a", "b", "d", "u")
    rows.tombstones = tuple(Tombstone(n, "user", it, NOW) for n, it in enumerate(users, 1))
    assert ask(held, rows)["current"]["lines"] == []
    assert held.obeyed == 4


def test_without_the_database_the_nudge_goes_by_what_memory_holds(held):
    scopes = [ScopeWork(Scope("server", "s", "c", "7"), live=True)]
    held.remember("t1", scopes, window("a", server_id="s"))
    assert recalled(held, away(), scope="user").turns_since_refresh == 1


def test_lines_are_not_left_out_though_only_the_row_brings_their_scope_up(held, clock):
    for channel in ("a", "b"):
        keep(held, channel)
        clock.now += 1
    newer = row(OTHER, at=clock.now)
    (first,) = ask(held, newer, limit="1")["others"]
    assert (first["channelId"], len(first["lines"])) == ("a", 1)


@pytest.mark.parametrize("private", ["memory", "row"])
def test_of_two_that_know_no_turn_the_private_one_stands(held, private):
    place = empty_window(NOW, server_id="s", parent_channel_id=None, is_private=private == "memory")
    start = Entry(OTHER, place, updated_at=NOW, created_at=NOW)
    held.note(start, lambda entry: entry.with_notes(notes(NOW, "tides"), None, now=NOW))
    told = row(OTHER, told=notes(NOW, "tides"), is_private=private == "row", last_turn_at=None)
    assert channels(ask(held, told)) == []


def test_a_row_tells_whose_thread_an_entry_is_of(held):
    summarize(held, OTHER, "tides")
    of_parent = row(OTHER, parent_channel_id="p")
    keep(held, "p", is_private=True)
    assert channels(ask(held, of_parent)) == []


def wanted(held, **parameters):
    """What the rows were asked for."""
    rows = FakeRows()
    ask(held, rows, **parameters)
    return rows.wanted[0]


def test_the_rows_are_asked_for_what_still_lives(held):
    asked = wanted(held)
    assert (asked.alive_since, asked.summary_alive_since) == (NOW - 12 * HOUR, NOW - 24 * HOUR)


def test_the_asked_scopes_row_is_asked_for_though_memory_has_nothing(held):
    assert wanted(held).scopes == (ASKED,)


def test_no_more_entries_are_merged_with_their_rows_than_are_answered(held):
    for channel in "cabd":
        keep(held, channel)
    assert len(wanted(held, limit="2").scopes) == 1 + 2


@pytest.mark.parametrize(
    ("parameters", "field", "expected"),
    [
        ({}, "server_id", "s"),
        ({"personaLineageId": "3"}, "lineage_id", "3"),
        ({"includeOtherServers": "true"}, "everywhere", True),
        ({}, "everywhere", False),
        ({"isPrivateChannel": "true"}, "sees_private", True),
        ({}, "sees_private", False),
    ],
)
def test_the_rows_are_asked_for_what_the_asker_may_see(held, parameters, field, expected):
    assert getattr(wanted(held, **parameters), field) == expected


def test_a_row_tells_which_server_an_entry_is_of(held):
    users = Scope("user", "u", "c", "7")
    place = empty_window(NOW, server_id=None, parent_channel_id=None, is_private=False)
    start = Entry(users, place, updated_at=NOW, created_at=NOW)
    held.note(start, lambda entry: entry.with_notes(notes(NOW, "tides"), None, now=NOW))
    assert ask(held, row(users), scope="user")["current"]["summary"] == "tides"


def test_who_was_forgotten_pages_ago_is_not_shown_either(held, monkeypatch):
    monkeypatch.setattr(statements, "MOST_TOMBSTONES", 1)
    monkeypatch.setattr("faults.MOST_TOMBSTONES", 1)
    keep(held)
    assert ask(held, forgotten(), scope="user")["current"] is None


def test_who_was_forgotten_is_not_shown_though_the_database_went_away_after_that_page(
    held, monkeypatch
):
    monkeypatch.setattr(statements, "MOST_TOMBSTONES", 1)
    keep(held)
    rows = forgotten()
    read = rows.read

    def once(wanted, *, obeyed):
        reading = read(wanted, obeyed=obeyed)
        rows.away = True
        return reading

    monkeypatch.setattr(rows, "read", once)
    found = ask(held, rows, scope="user")
    assert (found["current"], found["durable"]) == (None, "unavailable")


def test_a_live_row_that_is_hidden_gives_no_nudge(held):
    rows = FakeRows(row(ASKED, turns_since_refresh=6, is_hidden=True))
    assert recalled(held, rows, scope="user").turns_since_refresh == 0


def test_a_channel_is_remembered_as_private_if_any_of_its_rows_is(held):
    keep(held, "a")
    other = row(Scope("server", "s", "a", "8"), is_hidden=False)
    for told in ((row(OTHER, is_hidden=True), other), (other, row(OTHER, is_hidden=True))):
        ask(held, *told)
        assert channels(ask(held, away())) == []
