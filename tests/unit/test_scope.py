"""A scope's key: the seed's text, and never another scope's."""

from hypothesis import given
from hypothesis import strategies as st

from shortterm.scope import Scope

ids = st.from_regex(r"\A[A-Za-z0-9_.-]{1,64}\Z")
any_scope = st.builds(Scope, st.sampled_from(["user", "server"]), ids, ids, st.none() | ids)


def test_the_keys_are_those_of_the_seed():
    assert Scope("user", "1", "2").key == "shortterm:user:1:2"
    assert Scope("user", "1", "2", "7").key == "shortterm:user:1:2:7"
    assert Scope("server", "3", "2", "7").key == "shortterm:server:3:2:7"


@given(any_scope, any_scope)
def test_two_scopes_never_share_a_key(one, other):
    assert (one.key == other.key) is (one == other)


@given(any_scope)
def test_a_key_tells_its_scope_and_holds_no_none(scope):
    _, kind, owner, channel, *persona = scope.key.split(":")
    assert Scope(kind, owner, channel, *persona) == scope
