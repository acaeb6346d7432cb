"""The memory: expiry to the millisecond, the byte bound, counting, and the order of entries."""

import tracemalloc

import pytest
from given import HOUR, NOW, SERVERS, USERS, memory, said, summarize, window

from capture import memory as module
from capture.entry import Entry
from shortterm.scope import Scope
from shortterm.work import ScopeWork

GUILD = [ScopeWork(USERS, "3", live=False), ScopeWork(SERVERS, "3", live=True)]


def in_channel(channel: str, user: str = "u") -> list[ScopeWork]:
    return [
        ScopeWork(Scope("user", user, channel), None, live=False),
        ScopeWork(Scope("server", "s", channel), None, live=True),
    ]


def test_a_turn_is_held_under_each_of_its_scopes(held):
    held.remember("t1", GUILD, window("a"))
    for scope in (USERS, SERVERS):
        entry = held.get(scope)
        assert entry is not None
        assert said(entry.window) == ["a"]


@pytest.mark.parametrize(("age", "lives"), [(-1, True), (0, False), (1, False)])
def test_an_entry_lives_for_twelve_hours(held, clock, age, lives):
    held.remember("t1", GUILD, window("a"))
    clock.now += 12 * HOUR + age
    assert (held.get(USERS) is not None) is lives


@pytest.mark.parametrize(("age", "lives"), [(-1, True), (0, False), (1, False)])
def test_a_summary_extends_life_to_twenty_four_hours(held, clock, age, lives):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "about tides")
    clock.now += 24 * HOUR + age
    assert (held.get(USERS) is not None) is lives


def test_categories_alone_do_not_extend_life(held, clock):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, None, mood="calm")
    clock.now += 12 * HOUR
    assert held.get(USERS) is None


def test_a_turn_extends_the_life_of_an_entry_from_its_own_time(held, clock):
    held.remember("t1", GUILD, window("a"))
    clock.now += 11 * HOUR
    held.remember("t2", GUILD, window("b", occurred_at=clock.now))
    clock.now += 12 * HOUR - 1
    assert held.get(USERS) is not None


def test_a_turn_keeps_summary_categories_and_cadence(held):
    held.remember("t1", GUILD, window("a"))
    summarize(held, SERVERS, "about tides", mood="calm")
    held.remember("t2", GUILD, window("b"))
    entry = held.get(SERVERS)
    assert (entry.notes.summary, entry.notes.by_category) == ("about tides", {"mood": "calm"})
    assert (entry.turns_since_refresh, entry.last_refreshed_turn) == (1, 1)


def test_a_summary_that_expired_is_gone_even_if_a_turn_comes_then(held, clock):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "old")
    clock.now += 25 * HOUR
    held.remember("t2", GUILD, window("b", occurred_at=clock.now))
    assert held.get(USERS).notes.summary is None
    clock.now += 12 * HOUR
    assert held.get(USERS) is None


def test_clearing_a_summary_after_twelve_hours_expires_the_entry(held, clock):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "about tides")
    clock.now += 13 * HOUR
    summarize(held, USERS, "")
    assert held.get(USERS) is None
    assert list(held.of_owner("user", "u")) == []


def test_clearing_a_summary_at_exactly_twelve_hours_expires_the_entry(held, clock):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "about tides")
    clock.now += 12 * HOUR
    summarize(held, USERS, "")
    assert held.get(USERS) is None


def test_clearing_a_summary_before_that_leaves_the_rest_of_the_life(held, clock):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "about tides")
    clock.now += 3 * HOUR
    summarize(held, USERS, "")
    assert held.get(USERS) is not None
    clock.now += 9 * HOUR - 1
    assert held.get(USERS) is not None
    clock.now += 1
    assert held.get(USERS) is None


def test_a_clock_that_steps_back_prolongs_life_by_no_more_than_the_step(held, clock):
    held.remember("t1", GUILD, window("a"))
    clock.now -= HOUR
    assert held.get(USERS) is not None
    clock.now = NOW + 12 * HOUR
    assert held.get(USERS) is None


def test_a_late_turn_never_replaces_the_window(held):
    held.remember("t2", GUILD, window("new", occurred_at=NOW))
    held.remember("t1", GUILD, window("old", occurred_at=NOW - 1))
    assert said(held.get(USERS).window) == ["new"]


def test_a_late_turn_does_not_prolong_life(held, clock):
    held.remember("t2", GUILD, window("new", occurred_at=NOW))
    clock.now += 6 * HOUR
    held.remember("t1", GUILD, window("old", occurred_at=NOW - 1))
    clock.now += 6 * HOUR
    assert held.get(USERS) is None


def test_a_turn_after_the_clock_stepped_back_is_not_late(held, clock):
    held.remember("t1", GUILD, window("a", occurred_at=NOW))
    clock.now -= HOUR
    held.remember("t2", GUILD, window("b", occurred_at=clock.now))
    assert said(held.get(USERS).window) == ["b"]


def test_a_late_turn_still_counts(held):
    held.remember("t2", GUILD, window("new", occurred_at=NOW))
    held.remember("t1", GUILD, window("old", occurred_at=NOW - 1))
    assert held.get(SERVERS).turns_since_refresh == 2


def test_a_turn_of_the_same_time_replaces_the_window(held):
    held.remember("t1", GUILD, window("a"))
    held.remember("t2", GUILD, window("b"))
    assert said(held.get(USERS).window) == ["b"]


def test_only_the_live_entry_counts_and_once_per_turn(held):
    for _ in range(3):
        held.remember("t1", GUILD, window("a"))
    held.remember("t2", GUILD, window("b"))
    assert held.get(SERVERS).turns_since_refresh == 2
    assert held.get(USERS).turns_since_refresh == 0


def test_a_turn_posted_again_after_others_counts_once(held):
    for turn_id in ("t1", "t2", "t3", "t1", "t2"):
        held.remember(turn_id, GUILD, window("a"))
    assert held.get(SERVERS).turns_since_refresh == 3


def test_a_turn_posted_again_after_a_thousand_others_counts_once(held):
    for number in [*range(1_000), 0]:
        held.remember(f"t{number}", GUILD, window("a"))
    assert held.get(SERVERS).turns_since_refresh == 1_000


def test_a_turn_that_could_not_be_remembered_counts_when_it_comes_again(held, monkeypatch):
    def broken(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(held, "_put", broken)
        with pytest.raises(MemoryError):
            held.remember("t1", GUILD, window("a"))
    held.remember("t1", GUILD, window("a"))
    assert held.get(SERVERS).turns_since_refresh == 1


def test_the_time_of_a_recent_turn_is_known(held):
    held.remember("t1", GUILD, window("a", occurred_at=NOW - 7))
    held.remember("t1", GUILD, window("a", occurred_at=NOW))
    assert held.time_of("t1") == NOW - 7
    assert held.time_of("t2") is None


def test_each_persona_counts_for_itself(held):
    finns = Scope("server", "s", "c", "8")
    scopes = [*GUILD, ScopeWork(finns, None, live=True)]
    held.remember("t1", scopes, window("a"))
    assert held.get(SERVERS).turns_since_refresh == 1
    assert held.get(finns).turns_since_refresh == 1


def test_a_lineage_once_known_stays(held):
    held.remember("t1", [ScopeWork(USERS, None, live=True)], window("a"))
    held.remember("t2", [ScopeWork(USERS, "3", live=True)], window("b"))
    held.remember("t3", [ScopeWork(USERS, "4", live=True)], window("c"))
    assert held.get(USERS).persona_lineage_id == "3"


def test_what_a_reader_gets_cannot_change_the_memory(held):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "about tides", mood="calm")
    entry = held.get(USERS)
    with pytest.raises(AttributeError):
        entry.notes.summary = "forged"
    with pytest.raises(AttributeError):
        entry.window.lines({})[0].content = "forged"
    entry.notes.by_category["mood"] = "forged"
    known = held.get(USERS)
    assert said(known.window) == ["a"]
    assert (known.notes.summary, known.notes.by_category) == ("about tides", {"mood": "calm"})


def test_the_entries_of_one_turn_go_their_own_ways(held):
    held.remember("t1", GUILD, window("a"))
    held.remember("t2", GUILD[:1], window("b"))
    summarize(held, USERS, "mine")
    assert said(held.get(SERVERS).window) == ["a"]
    assert held.get(SERVERS).notes.summary is None


def test_entries_are_found_by_their_owner(held):
    held.remember("t1", in_channel("c1"), window("a"))
    held.remember("t2", in_channel("c2"), window("b"))
    held.remember("t3", in_channel("c2", user="v"), window("c"))
    assert {it.scope.channel_id for it in held.of_owner("user", "u")} == {"c1", "c2"}
    assert {it.scope.channel_id for it in held.of_owner("server", "s")} == {"c1", "c2"}
    assert list(held.of_owner("user", "s")) == []


def test_entries_come_last_updated_first(held, clock):
    for turn_id, channel in [("t1", "a"), ("t2", "b"), ("t3", "c"), ("t4", "a")]:
        clock.now += 1
        held.remember(turn_id, in_channel(channel), window("x", occurred_at=clock.now))
    held.remember("t0", in_channel("b"), window("late", occurred_at=NOW))
    assert [it.scope.channel_id for it in held.of_owner("server", "s")] == ["a", "c", "b"]


def test_what_a_row_of_the_past_brings_does_not_go_before_what_is_newer(held, clock):
    for turn_id, channel in [("t1", "a"), ("t2", "b")]:
        clock.now += HOUR
        held.remember(turn_id, in_channel(channel), window("x", occurred_at=clock.now))
    entry = held.get(Scope("user", "u", "a"))
    row = Entry(entry.scope, entry.window, entry.updated_at + 1, entry.created_at)
    clock.now += HOUR
    held.note(entry, lambda it: it.joined(row))
    assert [it.scope.channel_id for it in held.of_owner("user", "u")] == ["b", "a"]


def test_a_private_channel_is_known_even_when_nothing_of_it_is_held_any_more(held, clock):
    held.remember("t1", in_channel("c1"), window("a", is_private=True))
    clock.now += 13 * HOUR
    assert held.size().entries == 0
    assert held.private_channels.is_private("c1")
    assert not held.private_channels.is_private("c2")


@pytest.mark.parametrize("user", ["u", "v"])
def test_a_turn_that_comes_too_late_does_not_make_its_channel_private(held, user):
    def scopes(user):
        return [ScopeWork(Scope("user", user, "c", "7")), ScopeWork(SERVERS, live=True)]

    held.remember("t2", scopes("u"), window("b", occurred_at=NOW))
    held.remember("t1", scopes(user), window("a", occurred_at=NOW - 5, is_private=True))
    assert not held.private_channels.is_private("c")


def test_a_hundred_thousand_channels_seen_once_stay_within_the_byte_limit(clock):
    held = memory(clock, max_bytes=2**22)
    for number in range(100_000):
        held.remember(f"t{number}", in_channel(f"c{number}"), window("x" * 200))
        assert held._account.bytes <= 2**22
    assert 0 < held.size().entries < 10_000
    assert held.get(Scope("server", "s", "c99999")) is not None
    assert held.get(Scope("server", "s", "c0")) is None
    everything = [*held.of_owner("server", "s"), *held.of_owner("user", "u")]
    assert len(everything) == held.size().entries


def test_what_is_accounted_is_no_less_than_what_it_takes(clock, monkeypatch):
    """Real bytes of 20,000 scopes seen once, with all that evicted ones leave behind.

    `make bench` feeds a million.
    """
    monkeypatch.setattr(module, "RECENT_TURNS", 16)
    taken = 0
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        held = memory(clock, max_bytes=2**21)
        for number in range(10_000):
            owners = {"user": f"u{number}", "server": f"s{number}"}
            scopes = [ScopeWork(Scope(kind, it, f"c{number}")) for kind, it in owners.items()]
            held.remember(f"t{number}", scopes, window("x" * 200))
            taken = max(taken, tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert held.size().bytes > 0.99 * 2**21
    assert taken <= 2**21


def test_the_expired_leave_before_the_least_recently_used(clock):
    held = memory(clock, max_bytes=50_000)
    held.remember("kept", in_channel("kept"), window("x" * 10_000))
    clock.now += 6 * HOUR
    held.remember("doomed", in_channel("doomed"), window("x" * 10_000, occurred_at=NOW))
    summarize(held, Scope("user", "u", "kept"), "long")
    summarize(held, Scope("server", "s", "kept"), "long")
    held.get(Scope("user", "u", "doomed"))
    clock.now += 12 * HOUR
    held.remember("new", in_channel("new"), window("x" * 30_000, occurred_at=clock.now))
    assert held.get(Scope("user", "u", "kept")) is not None
    assert held.get(Scope("user", "u", "doomed")) is None


def test_the_least_recently_used_leaves_first(clock):
    held = memory(clock, max_bytes=40_000)
    held.remember("t1", in_channel("c1"), window("x" * 15_000))
    held.remember("t2", in_channel("c2"), window("x" * 15_000))
    assert held.get(Scope("user", "u", "c1")) is not None
    assert held.get(Scope("server", "s", "c1")) is not None
    held.remember("t3", in_channel("c3"), window("x" * 15_000))
    assert held.get(Scope("user", "u", "c1")) is not None
    assert held.get(Scope("user", "u", "c2")) is None


def test_looking_at_an_entry_does_not_keep_it(clock):
    held = memory(clock, max_bytes=40_000)
    held.remember("t1", in_channel("c1"), window("x" * 15_000))
    held.remember("t2", in_channel("c2"), window("x" * 15_000))
    assert len([*held.of_owner("user", "u"), *held.of_owner("server", "s")]) == 4
    held.remember("t3", in_channel("c3"), window("x" * 15_000))
    assert held.get(Scope("user", "u", "c1")) is None
    assert held.get(Scope("user", "u", "c2")) is not None


def test_names_summaries_and_categories_are_accounted(held):
    held.remember("t1", GUILD[:1], window("a"))
    before = held.size().bytes
    names = {"server_name": "s" * 200, "channel_name": "c" * 200}
    held.remember("t2", GUILD[:1], window("a", **names))
    assert held.size().bytes > before + 400
    before = held.size().bytes
    summarize(held, USERS, "x" * 1_000, **{"k" * 100: "v" * 100})
    assert held.size().bytes > before + 1_200


def test_a_window_that_a_turn_shares_is_accounted_once(held):
    held.remember("t1", GUILD[:1], window("x" * 10_000))
    alone = held.size().bytes
    held.remember("t2", GUILD, window("x" * 10_000))
    assert alone > 10_000
    assert held.size().bytes < alone + 2_000


def test_an_empty_memory_accounts_for_nothing(held, clock):
    held.remember("t1", GUILD, window("a"))
    summarize(held, USERS, "s", k="v")
    clock.now += 24 * HOUR
    assert held.size() == (0, 0)
