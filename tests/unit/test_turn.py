"""The wire model of a turn: what is accepted, and that a refusal names the field."""

import json
import time

import pytest
from given import message, response, turn_fields
from hypothesis import given
from hypothesis import strategies as st

from capture.turn import decode
from shortterm.wire import Mismatch

CANARY = "CANARY-7f3a"


def refused(body: str) -> Mismatch:
    with pytest.raises(Mismatch) as caught:
        decode(body)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


def refused_field(**fields) -> str:
    return refused(json.dumps(turn_fields(**fields))).field


def accepted(**fields):
    return decode(json.dumps(turn_fields(**fields)))


@pytest.mark.parametrize("field", ["userId", "channelId", "serverId", "turnId"])
@pytest.mark.parametrize("value", [123456789012345678, 7, True, "1:2", "a" * 65, "a b", "a\n", "é"])
def test_an_id_that_is_no_id_is_refused(field, value):
    assert refused_field(**{field: value}) == field


@pytest.mark.parametrize("field", ["userId", "channelId", "turnId", "parentChannelId"])
def test_an_empty_id_is_refused(field):
    assert refused_field(**{field: ""}) == field


@pytest.mark.parametrize("value", [7.5, 7.0, True, -1, "", "a:b", 2**53, 10**70, [], {}])
@pytest.mark.parametrize("field", ["personaId", "personaLineageId"])
def test_a_persona_id_that_is_no_id_is_refused(field, value):
    path = refused_field(personaResponses=[response("hi", **{field: value})])
    assert path == f"personaResponses[0].{field}"


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_json_does_not_have_is_refused(value):
    body = json.dumps(turn_fields()).replace('"7"', value)
    assert refused(body).field == "body"


def test_a_persona_id_may_be_a_number_or_text():
    number = accepted(personaResponses=[response("hi", personaId=7)])
    text = accepted(personaResponses=[response("hi", personaId="7")])
    assert number.persona_responses[0].persona == text.persona_responses[0].persona == "7"


@pytest.mark.parametrize("value", ["false", 0])
def test_a_stop_flag_that_is_no_flag_is_refused(value):
    assert refused_field(isStopResponse=value) == "isStopResponse"


@pytest.mark.parametrize("flag", ["isStopResponse", "isPrivateChannel"])
def test_a_flag_that_is_null_is_not_set(flag):
    assert accepted(**{flag: None}) == accepted()


@pytest.mark.parametrize("value", ["full", "NONE", "", None, 3])
def test_an_unknown_privacy_level_is_refused(value):
    error = refused(json.dumps(turn_fields(privacyLevel=value)))
    assert (error.field, error.expected) == ("privacyLevel", "MINIMAL, PARTIAL or FULL")


@pytest.mark.parametrize(
    "field", ["userId", "channelId", "privacyLevel", "simplifiedMessages", "personaResponses"]
)
def test_a_missing_field_is_named(field):
    fields = turn_fields()
    del fields[field]
    assert refused(json.dumps(fields)).field == field


def test_a_field_deep_inside_is_named_with_its_path():
    messages = [message("a"), {"authorType": "user", "authorName": "Ann", "content": 5}]
    assert refused_field(simplifiedMessages=messages) == "simplifiedMessages[1].content"
    missing = [{"authorType": "user", "authorName": "Ann"}]
    assert refused_field(simplifiedMessages=missing) == "simplifiedMessages[0].content"


@pytest.mark.parametrize("value", [-1, 1.5, "1796000000000", 10**15])
def test_a_time_that_is_no_time_is_refused(value):
    assert refused_field(occurredAt=value) == "occurredAt"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"simplifiedMessages": [message("x")] * 1001}, "simplifiedMessages"),
        ({"personaResponses": [response("x")] * 51}, "personaResponses"),
        ({"simplifiedMessages": [message("x" * 65_537)]}, "simplifiedMessages[0].content"),
        ({"serverName": "x" * 257}, "serverName"),
    ],
)
def test_everything_is_bounded(fields, path):
    assert refused_field(**fields) == path


def test_the_largest_text_is_accepted():
    assert accepted(simplifiedMessages=[message("x" * 65_536)])


@pytest.mark.parametrize(
    "body",
    ["", "null", "[]", '""', "1", "not json", "[" * 100_000, '{"a":' * 100_000, "{", "\ufeff{}"],
)
def test_a_body_that_is_no_object_is_refused(body):
    assert refused(body).field in ("body", "userId")


def test_a_byte_order_mark_is_refused_before_a_good_turn():
    assert refused("\ufeff" + json.dumps(turn_fields())).field == "body"


def test_a_number_of_too_many_digits_is_refused():
    assert refused('{"occurredAt": ' + "1" * 5000 + "}").field == "body"


def test_a_key_given_twice_is_refused_wherever_it_stands():
    body = json.dumps(turn_fields())
    twice = body.replace('"privacyLevel"', '"privacyLevel": "FULL", "privacyLevel"')
    assert refused(twice).field == "privacyLevel"
    inner = body.replace('"content"', '"content": "a", "content"')
    assert refused(inner).field == "content"


def test_an_unknown_key_given_twice_is_refused_without_its_name():
    body = json.dumps(turn_fields()).replace("{", f'{{"{CANARY}": 1, "{CANARY}": 2, ', 1)
    assert refused(body).field == "body"


def test_many_keys_are_read_in_time_proportional_to_their_number():
    def cpu_time(keys: int) -> float:
        body = json.dumps(turn_fields(extra={f"k{number}": 0 for number in range(keys)}))
        twice = body.replace('"k0": 0', '"k0": 0, "k1": 0', 1)
        start = time.process_time()
        refused(twice)
        return time.process_time() - start

    # Sixteen times the keys: proportional is 16, quadratic 256.
    assert min(cpu_time(32_000) for _ in range(3)) < 64 * min(cpu_time(2_000) for _ in range(3))


@pytest.mark.parametrize("key", ["\ud83d", "\0", "privacyLeve\ud83d"])
def test_an_unknown_key_that_cannot_be_encoded_is_ignored_too(key):
    assert decode(json.dumps(turn_fields(**{key: 1}))) == accepted()


@pytest.mark.parametrize("field", ["privacyLevel", "userId", "turnId", "serverId"])
def test_a_value_that_cannot_be_encoded_is_refused(field):
    assert refused_field(**{field: "\ud83d"}) == field


def test_an_author_of_any_kind_is_accepted():
    assert accepted(simplifiedMessages=[message("x", "a webhook of somebody else's making" * 3)])


def test_a_channel_may_leave_open_whether_it_is_private():
    assert not accepted(isPrivateChannel=None).is_private_channel


def test_an_unknown_field_is_ignored():
    assert accepted(somethingNew={"a": 1}) == accepted()


@pytest.mark.parametrize("value", [None, "", "DM"])
def test_a_direct_message_may_be_told_in_three_ways(value):
    assert accepted(serverId=value).server_id is None


def test_a_direct_message_may_leave_the_server_out():
    fields = turn_fields()
    del fields["serverId"]
    assert decode(json.dumps(fields)).server_id is None


def test_a_lone_surrogate_is_replaced_and_not_an_error():
    body = json.dumps(turn_fields(simplifiedMessages=[message("hi \ud83d!")]))
    assert decode(body).simplified_messages[0].content == "hi \ufffd!"


@pytest.mark.parametrize(
    "value", [["\ud83d"], [["\udc00"]], [{"x": ["\ud83d"]}, "\ud83d"], "\ud83d"]
)
def test_a_lone_surrogate_where_no_text_belongs_is_refused_like_any_text(value):
    assert refused_field(simplifiedMessages=value).startswith("simplifiedMessages")
    assert refused(json.dumps(value)).field == "body"


def test_a_value_never_prints_what_it_holds():
    full = accepted(simplifiedMessages=[message(CANARY)], personaResponses=[response(CANARY)])
    for value in (full, full.simplified_messages, full.persona_responses):
        assert CANARY not in f"{value!r} {value!s} {[value]}"


wrong = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.just(CANARY))


@given(st.sampled_from(sorted(turn_fields())), wrong | st.lists(wrong) | st.just({CANARY: CANARY}))
def test_no_refusal_echoes_what_was_sent(field, value):
    body = json.dumps(turn_fields(**{field: value}))
    try:
        decode(body)
    except Mismatch:
        refused(body)


@given(st.text())
def test_any_text_is_decoded_or_refused(text):
    try:
        decode(text)
    except Mismatch:
        pass
    else:
        pytest.fail("random text is no turn")
