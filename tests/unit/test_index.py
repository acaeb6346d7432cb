"""The index behaves like a dictionary of sets, whatever it holds inside."""

from hypothesis import given
from hypothesis import strategies as st

from capture.index import Index
from shortterm.scope import Scope

keys = st.sampled_from("ab")
scopes = st.sampled_from([Scope("user", owner, "c") for owner in "xyz"])
steps = st.lists(st.tuples(st.booleans(), keys, scopes))


@given(steps)
def test_it_holds_what_was_added_and_not_discarded(history):
    index: Index[str] = Index()
    expected: dict[str, set[Scope]] = {"a": set(), "b": set()}
    for add, key, scope in history:
        (index.add if add else index.discard)(key, scope)
        (expected[key].add if add else expected[key].discard)(scope)
        for each in "ab":
            assert set(index.newest_first(each)) == expected[each]
            assert (each in index) is bool(expected[each])


def test_a_key_that_was_never_added_has_no_scopes():
    assert list(Index[str]().newest_first("a")) == []
