"""The parameters of a read: typed, all known, and none that contradicts another."""

import pytest

from capture.query import Query, decode
from shortterm.wire import Mismatch

ASKED = {"userId": ["u"], "channelId": ["c"]}
GUILD = ASKED | {"serverId": ["s"]}


def refused(**parameters):
    with pytest.raises(Mismatch) as caught:
        decode(ASKED | parameters)
    return caught.value


def test_a_guild_reads_server_memory_and_a_direct_message_the_users():
    assert (decode(GUILD).kind, decode(GUILD).owner_id) == ("server", "s")
    assert (decode(ASKED).kind, decode(ASKED).owner_id) == ("user", "u")


def test_the_users_memory_may_be_asked_for_in_a_guild():
    query = decode(GUILD | {"scope": ["user"]})
    assert (query.kind, query.owner_id) == ("user", "u")


@pytest.mark.parametrize("server", ["", "DM"])
def test_a_direct_message_may_be_told(server):
    assert decode(ASKED | {"serverId": [server]}).server_id is None


def test_flags_and_numbers_are_read():
    query = decode(
        GUILD | {"isPrivateChannel": ["true"], "includeOtherServers": ["false"], "limit": ["3"]}
    )
    assert (query.is_private_channel, query.include_other_servers, query.limit) == (True, False, 3)


@pytest.mark.parametrize("name", ["userId", "channelId"])
def test_a_missing_parameter_is_named(name):
    with pytest.raises(Mismatch) as caught:
        decode({key: value for key, value in ASKED.items() if key != name})
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("userId", "a:b"),
        ("userId", ""),
        ("serverId", "1:2"),
        ("personaId", "a b"),
        ("scope", "guild"),
        ("isPrivateChannel", "yes please"),
        ("limit", "-1"),
        ("limit", "201"),
        ("limit", "ten"),
    ],
)
def test_a_parameter_of_the_wrong_shape_is_named(name, value):
    assert refused(**{name: [value]}).field == name


def test_a_parameter_given_twice_is_refused():
    assert refused(personaId=["1", "2"]).field == "personaId"


def test_an_unknown_parameter_is_refused_without_its_name():
    error = refused(CANARY=["x"])
    assert error.field == "query"
    assert "CANARY" not in str(error)
    assert "personaLineageId" in error.expected


def test_server_memory_without_a_server_is_refused():
    assert refused(scope=["server"]).field == "scope"


def test_a_query_names_every_parameter_of_the_api():
    import msgspec

    names = {field.encode_name for field in msgspec.structs.fields(Query)}
    assert names == {
        "userId", "channelId", "serverId", "personaId", "personaLineageId",
        "isPrivateChannel", "scope", "includeOtherServers", "limit",
    }  # fmt: skip
