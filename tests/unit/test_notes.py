"""Two versions of a scope's notes become one, whatever comes when and how often. Pure."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from shortterm.notes import (
    MAX_CATEGORIES,
    MAX_MARKS,
    NOTHING,
    Category,
    Notes,
    from_columns,
    join,
)
from shortterm.scope import Scope
from shortterm.tombstone import Tombstone

NAMES = "abcd"
texts = st.none() | st.sampled_from(["calm", "rough"])
tellings = st.builds(
    lambda at, summary, categories: Notes(
        summary=summary,
        summary_told_at=at if summary is not None else None,
        categories=tuple(Category(name, at, text) for name, text in sorted(categories.items())),
    ),
    st.integers(1, 4),
    st.none() | st.sampled_from(["", "tides", "storms"]),
    st.dictionaries(st.sampled_from(NAMES), texts, max_size=4),
)


def told(tellings):
    notes = NOTHING
    for telling in tellings:
        notes = join(notes, telling)
    return notes


@given(st.lists(tellings, max_size=4))
def test_the_order_of_arrival_does_not_matter(tellings):
    outcomes = {told(order) for order in itertools.permutations(tellings)}
    assert len(outcomes) == 1


@given(st.lists(tellings, max_size=4))
def test_a_telling_that_comes_again_changes_nothing(tellings):
    notes = told(tellings)
    assert all(join(notes, telling) == notes for telling in tellings)


@given(tellings, tellings, tellings)
def test_it_does_not_matter_which_are_joined_first(one, other, third):
    assert join(join(one, other), third) == join(one, join(other, third))


def test_the_newest_summary_stands():
    old, new = Notes("tides", 1), Notes("storms", 2)
    assert told([new, old]) == new


def test_a_summary_that_was_taken_away_does_not_come_back_late():
    old, cleared = Notes("tides", 1), Notes(None, 2)
    assert told([cleared, old]).summary is None


def test_categories_are_merged_one_by_one():
    first = Notes(categories=(Category("mood", 1, "calm"), Category("topic", 1, "tides")))
    second = Notes(categories=(Category("mood", 2, "rough"),))
    assert told([second, first]).by_category == {"mood": "rough", "topic": "tides"}


def test_a_removed_category_does_not_come_back_late():
    first = Notes(categories=(Category("mood", 1, "calm"),))
    removed = Notes(categories=(Category("mood", 2),))
    assert told([removed, first]).by_category == {}


def test_notes_of_one_part_leave_the_other():
    summary, categories = Notes("tides", 1), Notes(categories=(Category("mood", 2, "calm"),))
    notes = told([categories, summary])
    assert (notes.summary, notes.by_category) == ("tides", {"mood": "calm"})
    assert notes.told_at == 2


def test_of_more_categories_than_a_scope_keeps_the_newest_stay():
    many = [Notes(categories=(Category(f"c{at}", at, "text"),)) for at in range(1, 8)]
    assert list(told(many[::-1]).by_category) == [f"c{at}" for at in range(3, 8)]
    assert len(told(many).by_category) == MAX_CATEGORIES


def test_a_scope_does_not_know_ever_more_removed_categories():
    removed = [Notes(categories=(Category(f"c{at}", at),)) for at in range(1, 100)]
    assert len(told(removed).categories) == MAX_MARKS


@given(st.lists(tellings, max_size=4))
def test_notes_come_back_from_their_columns_as_they_were(tellings):
    notes = told(tellings)
    times = {it.name: it.told_at for it in notes.categories}
    assert from_columns(notes.summary, notes.summary_told_at, notes.by_category, times) == notes


def test_a_category_without_a_time_is_as_old_as_can_be():
    held = from_columns(None, None, {"mood": "calm", "topic": "tides"}, {"topic": 2})
    assert held.categories == (Category("mood", 0, "calm"), Category("topic", 2, "tides"))
    assert told([Notes(categories=(Category("mood", 1),)), held]).by_category == {"topic": "tides"}


def test_a_tombstone_covers_what_was_captured_before_it_and_no_more():
    user = Tombstone(1, "user", "u", forgotten_at=10)
    channel = Tombstone(2, "channel", "c", forgotten_at=10)
    of_user, of_server = Scope("user", "u", "c"), Scope("server", "u", "c")
    assert user.covers(of_user, 10)
    assert not user.covers(of_user, 11)
    assert not user.covers(of_server, 10)
    assert not user.covers(Scope("user", "v", "c"), 10)
    assert channel.covers(of_user, 10)
    assert channel.covers(of_server, 10)
    assert not channel.covers(Scope("user", "u", "d"), 10)
