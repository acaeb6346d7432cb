"""What a batch does to each row: sums, firsts and latests, in one order. Pure."""

import pytest
from given import NOW, SERVERS, USERS, attachment, notes, work
from hypothesis import given
from hypothesis import strategies as st

from shortterm.notes import Notes
from shortterm.scope import Scope
from shortterm.tombstone import Tombstone
from shortterm.work import TurnWork
from writer.forgetting import without_forgotten
from writer.notes import told_by_scope
from writer.rows import changes, counting_once, turns_since_notes
from writer.store import _joined

turns = st.builds(
    lambda turn, channel, persona, at: work(
        f"t{turn}", channel=channel, persona=persona, at=NOW + at
    ),
    st.integers(0, 5),
    st.sampled_from("ab"),
    st.sampled_from([None, "7"]),
    st.integers(0, 3),
)
attachments = st.builds(
    lambda scope, at: attachment(notes(NOW, "tides"), scope, at=NOW + at),
    st.sampled_from([USERS, SERVERS]),
    st.integers(0, 3),
)
batches = st.lists(turns | attachments, max_size=12)


def turns_among(batch):
    return [it for it in batch if isinstance(it, TurnWork)]


def ids_of(batch):
    return {it.turn_id for it in turns_among(batch)}


@given(batches)
def test_each_turn_counts_once_and_only_if_it_is_new(batch):
    new = ids_of(batch) - {"t0"}
    assert sum(row.turns for row in changes(counting_once(batch, new))) == len(new)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_a_turn_that_was_posted_twice_the_copy_counts_that_was_captured_first(order):
    copies = [
        work("t1", channel="first", at=NOW + 9, captured_at=NOW + 1),
        work("t1", channel="second", at=NOW, captured_at=NOW + 2),
    ]
    counted = counting_once([copies[number] for number in order], {"t1"})
    assert {it.channel_id: it.turns for it in changes(counted) if it.scope == "server"} == {
        "first": 1,
        "second": 0,
    }


@given(batches)
def test_no_more_turns_came_since_notes_than_count(batch):
    counting = counting_once(batch, ids_of(batch))
    turns = {Scope(*it[:4]): it.turns for it in changes(counting)}
    assert [it for it, since in turns_since_notes(counting).items() if since > turns[it]] == []


@given(batches)
def test_there_is_one_row_per_scope_in_the_order_of_their_keys(batch):
    found = [row[:4] for row in changes(batch)]
    keys = [(*key[:3], key[3] or "") for key in found]
    assert keys == sorted(set(keys))
    assert len(found) == len({it.scope for each in batch for it in each.scopes})


@given(batches, st.randoms())
def test_the_order_of_a_batch_does_not_matter_where_times_differ(batch, chance):
    distinct = list({it.turn_id: it for it in turns_among(batch)}.values())
    apart = [work(it.turn_id, at=NOW + number) for number, it in enumerate(distinct)]
    shuffled = chance.sample(apart, len(apart))
    assert changes(shuffled) == changes(apart)


def test_notes_alone_make_a_row_without_a_turn():
    (row,) = changes([attachment(notes(NOW, "tides"), is_private=True)])
    assert (row.turns, row.last_turn_ms, row.is_private, row.server_id) == (0, None, True, "s")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_beside_a_turn_notes_fill_in_a_lineage_and_no_more(order):
    turn = work("t1", at=NOW)
    told = attachment(
        notes(NOW, "tides"), USERS, SERVERS, at=NOW + 9, lineage="3", is_private=True,
        server_id="other", parent_channel_id="p",
    )  # fmt: skip
    batch = [(turn, told)[number] for number in order]
    alone = changes([turn])
    assert changes(batch) == [it._replace(persona_lineage_id="3") for it in alone]


def test_the_lineage_of_a_turn_stands_before_that_of_notes():
    batch = [attachment(notes(), lineage="9", at=NOW - 9), work("t1", lineage="3")]
    assert {it.persona_lineage_id for it in changes(batch)} == {"3"}


def test_what_is_told_of_a_scope_is_in_the_order_of_its_capture():
    first, second = notes(NOW, "tides"), notes(NOW, "storms")
    told = told_by_scope([attachment(second, at=NOW + 1), attachment(first, USERS, SERVERS)])
    assert told == {USERS: [first], SERVERS: [first, second]}


USER = Tombstone(1, "user", "u", NOW)
CHANNEL = Tombstone(2, "channel", "c", NOW)


@pytest.mark.parametrize("late", [work("t1", captured_at=NOW), work("t1", at=NOW)])
def test_a_forgotten_users_turn_keeps_its_servers_scope(late):
    (kept,) = without_forgotten([late], [USER])
    assert [it.scope for it in kept.scopes] == [SERVERS]
    assert (kept.turn_id, kept.server_id) == ("t1", "s")


def test_a_forgotten_channels_work_keeps_its_place_and_no_scope():
    told = attachment(Notes("tides", NOW), at=NOW)
    kept = without_forgotten([work("t1", at=NOW), told, work("t2", channel="d")], [CHANNEL])
    assert [len(it.scopes) for it in kept] == [0, 0, 2]


def test_forgetting_goes_by_the_capture_and_not_by_what_the_bot_says():
    backdated = work("t1", at=NOW - 9, captured_at=NOW + 1)
    assert without_forgotten([backdated], [USER, CHANNEL]) == [backdated]


def test_an_array_is_not_shifted_by_a_comma():
    with pytest.raises(ValueError, match="comma"):
        _joined(["a,b", "c"])
