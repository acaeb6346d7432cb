"""The gateway's models of bodies: refuse the wrong shape, and never what the code accepts."""

import json
from pathlib import Path
from typing import Any

import pytest
from given import message, response, turn_fields
from hypothesis import event, given
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from capture import refresh, turn
from shortterm.wire import Mismatch
from tests.infra import stack

PARTS = stack.stack()["Resources"]["Api"]["Properties"]["Body"]
MODEL = Draft4Validator(PARTS["components"]["schemas"]["Turn"])
SUMMARY = Draft4Validator(PARTS["components"]["schemas"]["Summary"])

SAMPLES = [
    stack.ROOT / "events" / f"{name}.json"
    for name in ("guild-turn", "direct-message", "several-personas", "privacy-full")
]

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)
# What an optional field may hold: mostly something that the code takes, now and then anything.
IDS = st.none() | st.text("7._-", min_size=1, max_size=3)
NUMBERS = st.none() | st.integers(0, 2**53)
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "turnId": IDS,
    "occurredAt": NUMBERS,
    "serverId": IDS | st.sampled_from(["", "DM"]),
    "serverName": st.text(max_size=3),
    "isPrivateChannel": st.none() | st.booleans(),
    "isStopResponse": st.booleans(),
    "unknown": ANYTHING,
}
MESSAGES = st.fixed_dictionaries(
    {name: st.just(it) for name, it in message("hello").items()},
    optional={"personaName": st.none(), "authorId": IDS, "createdAt": NUMBERS, "x": ANYTHING},
)
RESPONSES = st.fixed_dictionaries(
    {name: st.just(it) for name, it in response("hi").items()},
    optional={"personaId": IDS | NUMBERS, "personaLineageId": IDS, "x": ANYTHING},
)
TURNS = st.fixed_dictionaries(
    {
        "userId": IDS,
        "channelId": st.just("c"),
        "privacyLevel": st.sampled_from(["MINIMAL", "PARTIAL", "FULL"]),
        "simplifiedMessages": st.lists(MESSAGES, max_size=2),
        "personaResponses": st.lists(RESPONSES, max_size=2),
    },
    optional=OPTIONAL,
)

SUMMARIES = st.fixed_dictionaries(
    {"userId": IDS, "channelId": st.just("c")},
    optional={
        "serverId": IDS | st.sampled_from(["", "DM"]),
        "personaId": IDS | NUMBERS,
        "isPrivateChannel": st.none() | st.booleans(),
        "occurredAt": NUMBERS,
        "summary": st.none() | st.text(max_size=9),
        "categories": st.none()
        | st.dictionaries(st.text("ab", min_size=1), st.none() | st.text(max_size=3), max_size=6),
        "unknown": ANYTHING,
    },
)


def _accepted_by_the_code(body: str) -> bool:
    try:
        turn.decode(body)
    except Mismatch:
        return False
    return True


def _accepted_by_the_model(body: str) -> bool:
    valid: bool = MODEL.is_valid(json.loads(body))
    return valid


@given(TURNS)
def test_what_the_code_accepts_passes_the_gateway(fields: dict[str, Any]):
    body = json.dumps(fields)
    accepted = _accepted_by_the_code(body)
    event(f"accepted: {accepted}")
    assert _accepted_by_the_model(body) or not accepted


@given(SUMMARIES)
def test_what_the_code_accepts_of_summaries_passes_the_gateway(fields: dict[str, Any]):
    try:
        refresh.decode(json.dumps(fields))
    except Mismatch:
        event("refused by the code")
    else:
        assert SUMMARY.is_valid(fields)


@pytest.mark.parametrize("name", SUMMARY.schema["required"])
def test_what_the_gateway_requires_of_summaries_the_code_requires(name: str):
    fields = {"userId": "u", "channelId": "c", "summary": "They wait for the tide."}
    refresh.decode(json.dumps(fields))
    assert SUMMARY.is_valid(fields)
    del fields[name]
    assert not SUMMARY.is_valid(fields)
    with pytest.raises(Mismatch):
        refresh.decode(json.dumps(fields))


@pytest.mark.parametrize(
    ("name", "stricter"),
    [
        ("serverId", {"type": "string"}),
        ("isPrivateChannel", {"type": "boolean"}),
        ("simplifiedMessages", {"items": {"required": ["authorId"]}}),
        ("personaResponses", {"items": {"properties": {"personaId": {"type": "string"}}}}),
    ],
)
def test_a_model_that_says_more_would_refuse_turns(name: str, stricter: dict[str, Any]):
    fields = turn_fields(
        serverId=None, isPrivateChannel=None, personaResponses=[response("hi", personaId=7)]
    )
    schema = {**MODEL.schema, "properties": {**MODEL.schema["properties"], name: stricter}}
    assert _accepted_by_the_code(json.dumps(fields))
    assert MODEL.is_valid(fields)
    assert not Draft4Validator(schema).is_valid(fields)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda it: it.stem)
def test_sample_turns_pass_the_gateway(path: Path):
    body = json.loads(path.read_text("utf-8"))["body"]
    assert _accepted_by_the_code(body)
    assert _accepted_by_the_model(body)


@pytest.mark.parametrize(("name", "most"), [("simplifiedMessages", 1000), ("personaResponses", 50)])
def test_code_and_gateway_take_as_many(name: str, most: int):
    item = message("hello") if name == "simplifiedMessages" else response("hi")
    for length in (most, most + 1):
        body = json.dumps(turn_fields(**{name: [item] * length}))
        taken = (_accepted_by_the_code(body), _accepted_by_the_model(body))
        assert taken == (length == most, length == most)


@pytest.mark.parametrize("body", ["[]", "null", '"turn"', "{}"])
def test_what_is_no_turn_at_all_does_not_reach_the_function(body: str):
    assert not _accepted_by_the_model(body)


@pytest.mark.parametrize("name", MODEL.schema["required"])
def test_what_the_gateway_requires_the_code_requires(name: str):
    fields = turn_fields()
    del fields[name]
    body = json.dumps(fields)
    assert (_accepted_by_the_code(body), _accepted_by_the_model(body)) == (False, False)


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/context"])
def test_the_parameters_that_the_gateway_requires_are_the_required_ones_of_the_code(path: str):
    parameters = PARTS["paths"][path]["get"]["parameters"]
    assert [(it["name"], it["in"], it["required"]) for it in parameters] == [
        ("userId", "query", True),
        ("channelId", "query", True),
    ]
