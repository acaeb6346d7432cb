"""Forgetting in a container's memory: what was captured before is gone, what comes after is not."""

import msgspec
import pytest
from given import HOUR, NOW, SERVERS, USERS, memory, said, summarize, window

from capture import memory as module
from shortterm.scope import Scope
from shortterm.tombstone import Tombstone
from shortterm.work import ScopeWork

GUILD = [ScopeWork(USERS), ScopeWork(SERVERS, live=True)]


def forget(held, subject="user", subject_id="u", at=NOW):
    held.forget(Tombstone(1, subject, subject_id, at))


def obey(held, *tombstones):
    held.obey(Tombstone(number, *it) for number, it in enumerate(tombstones, 1))


def shown(held, scope):
    return [line.content for line in held.lines(held.get(scope).window)]


def test_a_forgotten_user_has_no_entry_left(held):
    held.remember("t1", GUILD, window("a"))
    forget(held)
    assert held.get(USERS) is None
    assert not held.knows("user", "u")


def test_the_servers_entry_stays_without_the_users_lines(held):
    held.remember("t1", GUILD, window("a", author="u"))
    forget(held)
    assert said(held.get(SERVERS).window) == []


def test_the_lines_of_others_stay(held):
    held.remember("t1", GUILD, window("a", author="v"))
    forget(held)
    assert said(held.get(SERVERS).window) == ["a"]


def test_the_users_lines_leave_the_memory_of_other_users_too(held):
    others = Scope("user", "v", "c", "7")
    held.remember("t1", [ScopeWork(others), ScopeWork(SERVERS, live=True)], window("a", author="u"))
    forget(held)
    assert said(held.get(others).window) == []


def test_the_text_itself_is_gone_and_not_only_hidden(held):
    held.remember("t1", GUILD, window("CANARY", author="u"))
    forget(held)
    assert b"CANARY" not in held.get(SERVERS).window.packed_lines


def test_a_window_counts_the_lines_that_are_left(held):
    held.remember("t1", GUILD, window("a", "b", author="u"))
    forget(held)
    assert held.get(SERVERS).window.length == 0


def test_two_entries_share_one_window_after_the_lines_are_taken_out(held):
    held.remember("t1", GUILD, window("a", author="v"))
    before = held.size().bytes
    held.forget(Tombstone(1, "user", "v", NOW))
    assert held.get(USERS).window is held.get(SERVERS).window
    assert held.size().bytes < before


def test_a_forgotten_channel_has_no_entry_left_whoever_owned_it(held):
    others = ScopeWork(Scope("user", "v", "c", "7"))
    held.remember("t1", [*GUILD, others], window("a"))
    forget(held, "channel", "c")
    assert held.size() == (0, 0)


def test_another_channel_stays(held):
    held.remember("t1", GUILD, window("a"))
    forget(held, "channel", "d")
    assert held.size().entries == 2


def test_what_was_captured_after_stays(held, clock):
    clock.now += 1
    held.remember("t1", GUILD, window("a", occurred_at=clock.now, author="u"))
    forget(held)
    for scope in (USERS, SERVERS):
        assert said(held.get(scope).window) == ["a"]


def test_it_goes_by_when_a_turn_was_captured_and_not_by_when_it_occurred(held, clock):
    clock.now += 1
    held.remember("t1", GUILD, window("a", occurred_at=NOW - 5_000, captured_at=clock.now))
    forget(held)
    assert held.get(USERS) is not None
    held.remember("t2", GUILD, window("b", occurred_at=NOW + 5_000, captured_at=NOW))
    forget(held)
    assert held.get(USERS) is None


def test_a_new_turn_begins_afresh_though_the_container_hears_of_the_forgetting_later(held, clock):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "tides", mood="calm")
    clock.now += 1
    held.remember("t2", GUILD, window("b", occurred_at=clock.now))
    obey(held, ("user", "u", NOW))
    entry = held.get(USERS)
    assert said(entry.window) == ["b"]
    assert (entry.notes.summary, entry.notes.by_category) == (None, {})
    assert (entry.turns_since_refresh, entry.last_refreshed_turn) == (0, 0)


def test_what_only_a_forgotten_summary_kept_alive_is_gone(held, clock):
    held.remember("t1", GUILD, window("a"))
    clock.now += 1
    held.remember("t2", GUILD, window("b", occurred_at=clock.now))
    summarize(held, USERS, "tides")
    clock.now += 13 * HOUR
    obey(held, ("user", "u", NOW))
    assert list(held.of_owner("user", "u")) == []
    assert held.size() == (0, 0)


def test_an_entry_that_begins_afresh_is_only_as_new_as_its_turn(held, clock):
    alone = {channel: [ScopeWork(Scope("user", "u", channel))] for channel in "ab"}
    held.remember("t0", alone["a"], window("x"))
    for channel in "ab":
        clock.now += 1
        held.remember(f"t{channel}", alone[channel], window("x", occurred_at=clock.now))
    clock.now += 1
    summarize(held, Scope("user", "u", "a"), "tides")
    obey(held, ("user", "u", NOW))
    assert [it.scope.channel_id for it in held.of_owner("user", "u")] == ["b", "a"]


def test_what_was_told_when_the_clock_had_stepped_back_is_forgotten_too(held, clock):
    held.remember("t1", GUILD, window("a"))
    clock.now -= HOUR
    summarize(held, USERS, "tides")
    forget(held, at=clock.now)
    assert held.get(USERS).notes.summary is None


def test_what_was_told_since_the_forgetting_stays_when_an_older_one_is_heard_of(held, clock):
    held.remember("t1", GUILD, window("a"))
    clock.now += 1
    held.remember("t2", GUILD, window("b", occurred_at=clock.now))
    obey(held, ("user", "u", NOW))
    summarize(held, USERS, "tides")
    obey(held, ("user", "u", NOW - 1), ("user", "u", NOW))
    assert held.get(USERS).notes.summary == "tides"


def test_turns_before_the_forgetting_count_no_more(held, clock):
    for number in range(3):
        held.remember(f"t{number}", GUILD, window("a"))
    clock.now += 1
    held.remember("later", GUILD, window("b", occurred_at=clock.now))
    obey(held, ("channel", "c", NOW))
    assert held.get(SERVERS).turns_since_refresh <= 1


def test_a_forgotten_users_lines_are_left_out_when_they_are_read(held):
    held.remember("t1", GUILD, window("a", author="u"))
    obey(held, ("user", "u", NOW))
    assert shown(held, SERVERS) == []


def test_lines_said_after_the_forgetting_are_read(held, clock):
    obey(held, ("user", "u", NOW))
    clock.now += 1
    held.remember("t1", GUILD, window("a", author="u", occurred_at=clock.now))
    assert shown(held, SERVERS) == ["a"]


def test_lines_captured_after_the_forgetting_are_read_whenever_they_were_said(held, clock):
    obey(held, ("user", "u", NOW))
    clock.now += 1
    late = window("a", author="u", occurred_at=NOW - 5_000, captured_at=clock.now)
    held.remember("t1", GUILD, late)
    assert shown(held, SERVERS) == ["a"]


def test_an_older_tombstone_does_not_undo_a_newer_one(held):
    held.remember("t1", GUILD, window("a", author="u"))
    obey(held, ("user", "u", NOW), ("user", "u", NOW - 1))
    assert shown(held, SERVERS) == []


def test_forgetting_twice_is_forgetting_once(held):
    held.remember("t1", GUILD, window("a", author="u"))
    forget(held)
    left = held.size()
    forget(held)
    obey(held, ("user", "u", NOW))
    assert shown(held, SERVERS) == []
    assert held.size() == left


def test_more_forgotten_users_than_are_minded_are_taken_out_for_good(held, monkeypatch):
    monkeypatch.setattr(module, "FORGOTTEN_USERS", 2)
    held.remember("t1", GUILD, window("CANARY", author="u0"))
    obey(held, *[("user", f"u{number}", NOW) for number in range(3)])
    assert held.get(SERVERS).window.packed_lines.count(b"CANARY") == 0
    assert held._forgotten_users == {}
    assert held.obeyed == 3


def test_forgetting_here_does_not_skip_what_others_forgot_before(held):
    forget(held)
    assert held.obeyed == 0


def test_looking_for_lines_to_forget_does_not_keep_an_entry(clock):
    held = memory(clock, max_bytes=50_000)
    held.remember("t1", GUILD, window("x" * 20_000))
    elsewhere = [ScopeWork(Scope("user", "v", "d")), ScopeWork(Scope("server", "s", "d"))]
    held.remember("t2", elsewhere, window("x" * 20_000))
    held.forget(Tombstone(1, "user", "w", NOW))
    held.remember("t3", [ScopeWork(Scope("user", "w", "e"))], window("x" * 20_000))
    assert held.get(SERVERS) is None
    assert held.get(Scope("server", "s", "d")) is not None


@pytest.mark.parametrize("author", ["u", "12", "u.1"])
def test_an_id_within_a_text_is_no_author(held, author):
    held.remember("t1", GUILD, window(f"I am {author}", author="v"))
    forget(held, subject_id=author)
    assert said(held.get(SERVERS).window) == [f"I am {author}"]


def test_what_a_user_said_among_others_can_be_handed_out(held):
    held.remember("t1", GUILD, window("a", author="u"))
    assert [[it.content for it in lines] for _, lines in held.lines_of("u")] == [["a"]]
    assert list(held.lines_of("v")) == []


def test_what_a_user_said_in_windows_of_other_users_only_can_be_handed_out(held, clock):
    others = ScopeWork(Scope("user", "v", "c", "7"))
    held.remember("t1", [others, GUILD[1]], window("a", author="u"))
    clock.now += 1
    held.remember("t2", [GUILD[1]], window("b", author="u"))
    held.remember("t3", [ScopeWork(Scope("user", "u", "dm"))], window("mine", author="u"))
    handed_out = [(it.scope, *(line.content for line in lines)) for it, lines in held.lines_of("u")]
    assert handed_out == [(SERVERS, "b"), (others.scope, "a")]


@pytest.mark.parametrize("moved", [False, True])
def test_a_window_that_others_share_is_handed_out_once(held, moved):
    kept = window("a", author="u")
    scopes = [ScopeWork(Scope("user", "v", "c", "7")), GUILD[1]]
    theirs, _ = held.remember("t1", scopes, kept)
    if moved:
        place = msgspec.structs.replace(kept, parent_channel_id="p")
        held.note(theirs, lambda it: msgspec.structs.replace(it, window=place))
    assert [it.scope for it, _ in held.lines_of("u")] == [SERVERS]


def test_a_window_that_only_names_a_user_has_nothing_that_the_user_said(held):
    held.remember("t1", GUILD, window("ask u", author="v"))
    assert list(held.lines_of("u")) == []


def test_what_a_forgotten_user_said_is_handed_out_no_more(held):
    held.remember("t1", GUILD, window("a", author="u"))
    obey(held, ("user", "u", NOW))
    assert list(held.lines_of("u")) == []
