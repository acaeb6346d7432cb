"""The parameters of a read: typed, all known, and none that contradicts another."""

import msgspec
import pytest

from capture.query import ContextQuery, MemoriesQuery, decode_asker
from shortterm.wire import Mismatch

ASKED = {"userId": ["u"], "channelId": ["c"]}
GUILD = ASKED | {"serverId": ["s"]}


def decode(parameters, kind=MemoriesQuery):
    return decode_asker(parameters, kind)


def refused(kind=MemoriesQuery, **parameters):
    with pytest.raises(Mismatch) as caught:
        decode(ASKED | parameters, kind)
    return caught.value


def context(**parameters):
    return decode(ASKED | {name: [value] for name, value in parameters.items()}, ContextQuery)


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


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (MemoriesQuery, {"limit"}),
        (ContextQuery, {"renderMode", "maxChannels", "maxLines", "maxChars", "refreshCadence"}),
    ],
)
def test_a_query_names_every_parameter_of_the_api(kind, own):
    names = {field.encode_name for field in msgspec.structs.fields(kind)}
    assert names == own | {
        "userId", "channelId", "serverId", "personaId", "personaLineageId",
        "isPrivateChannel", "scope", "includeOtherServers",
    }  # fmt: skip


def test_a_context_needs_no_more_than_who_asks_and_where():
    query = context()
    assert (query.render_mode, query.max_channels, query.max_lines) == ("crude_summary", 3, 6)
    assert (query.max_chars, query.refresh_cadence) == (8_000, 5)


@pytest.mark.parametrize("mode", ["supersede", "crude_summary"])
def test_a_context_is_rendered_in_the_asked_mode(mode):
    assert context(renderMode=mode).render_mode == mode


@pytest.mark.parametrize(
    ("name", "choices"),
    [("renderMode", "supersede or crude_summary"), ("scope", "server or user")],
)
@pytest.mark.parametrize("value", ["CANARY", "", "SUPERSEDE"])
def test_a_choice_that_there_is_not_is_answered_with_those_that_there_are(name, choices, value):
    error = refused(ContextQuery, **{name: [value]})
    assert (error.field, error.expected) == (name, choices)


BOUNDS = [
    ("maxChannels", 0, 50),
    ("maxLines", 0, 100),
    ("maxChars", 1, 200_000),
    ("refreshCadence", 1, 10_000),
]


@pytest.mark.parametrize(("name", "least", "most"), BOUNDS)
def test_a_context_may_be_as_small_or_as_large_as_its_bounds(name, least, most):
    for value in (least, most):
        told = msgspec.to_builtins(context(**{name: str(value)}))
        assert told[name] == value


@pytest.mark.parametrize(("name", "least", "most"), BOUNDS)
def test_a_context_beyond_its_bounds_is_refused(name, least, most):
    for value in (least - 1, most + 1, 10**30):
        assert refused(ContextQuery, **{name: [str(value)]}).field == name


@pytest.mark.parametrize("name", [name for name, *_ in BOUNDS])
@pytest.mark.parametrize("value", ["", "ten", "1.5", "true", "null", " 1", "NaN", "\ud83d"])
def test_a_number_that_is_none_is_refused(name, value):
    assert refused(ContextQuery, **{name: [value]}).field == name


@pytest.mark.parametrize(
    ("kind", "name"), [(ContextQuery, "limit"), (MemoriesQuery, "maxChars"), (ContextQuery, "x")]
)
def test_a_parameter_of_another_query_is_refused_and_those_there_are_named(kind, name):
    error = refused(kind, **{name: ["1"]})
    assert error.field == "query"
    assert error.expected == "no other parameters than " + ", ".join(
        field.encode_name for field in msgspec.structs.fields(kind)
    )


def test_a_parameter_of_a_context_given_twice_is_refused():
    assert refused(ContextQuery, maxLines=["1", "1"]).field == "maxLines"


def test_a_servers_context_without_a_server_is_refused():
    assert refused(ContextQuery, scope=["server"]).field == "scope"
