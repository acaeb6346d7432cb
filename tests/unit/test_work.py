"""The work message: content-free, small, ASCII, and refused in a version that is not known."""

import json

import pytest
from given import NOW, attachment, notes, work
from hypothesis import given
from hypothesis import strategies as st

from shortterm.scope import Scope
from shortterm.wire import Mismatch
from shortterm.work import ScopeWork, TurnWork, decode, encode

ids = st.from_regex(r"\A[A-Za-z0-9_.-]{1,64}\Z")
scopes = st.builds(Scope, st.sampled_from(["user", "server"]), ids, ids, st.none() | ids)
works = st.builds(
    TurnWork,
    version=st.just(1),
    turn_id=ids,
    occurred_at=st.integers(0, 253_402_300_799_999),
    scopes=st.lists(st.builds(ScopeWork, scopes, st.none() | ids, st.booleans()), min_size=1).map(
        tuple
    ),
    server_id=st.none() | ids,
    parent_channel_id=st.none() | ids,
    is_private=st.booleans(),
)


# Work for no scope at all.
NOTHING = '{"version":1,"turnId":"t","occurredAt":0,"scopes":[]}'


@given(works)
def test_work_comes_out_as_it_went_in(sent):
    assert decode(encode(sent)) == sent


@given(works)
def test_a_message_is_ascii(sent):
    assert encode(sent).isascii()


def test_nothing_but_ids_numbers_and_flags_is_in_a_message():
    fields = json.loads(encode(work(lineage="3", parent_channel_id="p", is_private=True)))
    assert set(fields) == {
        "version", "turnId", "occurredAt", "scopes", "serverId", "parentChannelId", "isPrivate",
    }  # fmt: skip
    (_, live) = fields["scopes"]
    assert live == {
        "scope": {"kind": "server", "ownerId": "s", "channelId": "c", "personaId": "7"},
        "personaLineageId": "3",
        "live": True,
    }


@pytest.mark.parametrize("sent", [work(), attachment(notes())])
@pytest.mark.parametrize("version", [0, 2, 99, "1", None, 1.5, True])
def test_a_version_that_is_not_known_is_refused(version, sent):
    fields = json.loads(encode(sent)) | {"version": version}
    with pytest.raises(Mismatch) as caught:
        decode(json.dumps(fields))
    assert caught.value.field == "version"


@pytest.mark.parametrize(
    "body", ["", "not json", "null", "[]", '{"version":1}', "[" * 100_000, "\ud83d", "{}", NOTHING]
)
def test_a_body_that_is_no_work_is_refused(body):
    with pytest.raises(Mismatch):
        decode(body)


def test_a_refusal_does_not_quote_the_body():
    body = encode(work()).replace('"t1"', '"CANARY 7f3a"')
    with pytest.raises(Mismatch) as caught:
        decode(body)
    assert "CANARY" not in str(caught.value)


def test_the_group_is_the_owner_of_the_live_scope():
    assert work().group == "s"
    direct = TurnWork(1, "t", NOW, (ScopeWork(Scope("user", "u", "c"), live=True),))
    assert direct.group == "u"
