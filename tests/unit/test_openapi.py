"""docs/openapi.json: what the code generates, valid, and of the routes that there are."""

import json
import re

import msgspec
import pytest
from given import turn_fields
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from api_document.document import PATH, document, text
from capture import turn
from shortterm.wire import Mismatch
from tests.infra import stack

DOCUMENT = document()
METHODS = {"get", "put", "post", "delete", "patch"}


def routes(paths):
    return {(method, path) for path in paths for method in paths[path] if method in METHODS}


def test_the_file_is_what_the_code_generates():
    assert PATH.read_text("utf-8") == text(), "out of date: make openapi"


def test_it_is_a_valid_document():
    validate(json.loads(text()))


def test_its_routes_are_those_of_the_function(app):
    resolver = app.api
    found = {
        (route.method.lower(), re.sub(r"<(\w+)_id>", r"{\1Id}", route.path))
        for route in (*resolver._static_routes, *resolver._dynamic_routes)
    }
    assert routes(DOCUMENT["paths"]) == found


@pytest.fixture(scope="module")
def template_paths():
    return stack.stack()["Resources"]["Api"]["Properties"]["Body"]["paths"]


def test_its_routes_are_those_of_the_gateway(template_paths):
    assert routes(DOCUMENT["paths"]) == routes(template_paths)


def test_the_gateway_requires_the_same_parameters_and_bodies(template_paths):
    for method, path in routes(DOCUMENT["paths"]):
        here, there = DOCUMENT["paths"][path][method], template_paths[path][method]
        assert required(here) == required(there), path
        assert ("requestBody" in here) == ("requestBody" in there)


def required(operation):
    return {(it["in"], it["name"]) for it in operation.get("parameters", []) if it["required"]}


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does():
    operations = [DOCUMENT["paths"][path][method] for method, path in routes(DOCUMENT["paths"])]
    assert len({it["operationId"] for it in operations}) == len(operations)
    assert all(it["summary"] for it in operations)


def test_every_answer_that_may_be_tried_again_says_when():
    for method, path in routes(DOCUMENT["paths"]):
        needs_rows = method == "delete" or path.endswith("/export")
        assert ("503" in DOCUMENT["paths"][path][method]["responses"]) == needs_rows
    for name in ("DatabaseAway", "Throttled"):
        assert "Retry-After" in DOCUMENT["components"]["responses"][name]["headers"]


def test_nothing_in_it_is_named_as_in_python():
    words = json.dumps(DOCUMENT)
    assert not re.search(r"`[a-z]+_[a-z_]+`", words.replace("`crude_summary`", ""))
    assert "\\\\A" not in words
    assert " None" not in words


id_schema = Draft202012Validator(
    DOCUMENT["paths"]["/v1/users/{userId}/export"]["get"]["parameters"][0]["schema"]
)
turn_schema = Draft202012Validator(
    {"$ref": "#/components/schemas/Turn", "components": DOCUMENT["components"]}
)

attached_schema = Draft202012Validator(
    {"$ref": "#/components/schemas/Attached", "components": DOCUMENT["components"]}
)


def is_taken(fields):
    try:
        turn.decode(json.dumps(fields))
    except Mismatch:
        return False
    return True


# Without a line break: Python's $ matches before one at the end, that of the document does not.
@given(st.text("aZ9_.-:é ", max_size=66))
@example("a" * 64)
@example("a" * 65)
def test_an_id_of_the_document_is_one_of_the_code(text):
    assert id_schema.is_valid(text) == is_taken(turn_fields(userId=text))


anything = (
    st.none() | st.booleans() | st.integers() | st.text("7", max_size=2) | st.lists(st.none())
)


@given(st.sampled_from(sorted(DOCUMENT["components"]["schemas"]["Turn"]["properties"])), anything)
def test_a_turn_of_the_document_is_one_of_the_code(field, value):
    fields = turn_fields(**{field: value})
    assert turn_schema.is_valid(fields) == is_taken(fields)


@pytest.mark.parametrize(
    ("without_database", "says_what_stands"), [("serve", True), ("withhold", False)]
)
def test_what_is_answered_of_a_summary_without_the_database_is_in_the_document(
    app, call, monkeypatch, without_database, says_what_stands
):
    chosen = msgspec.structs.replace(app.settings, recall_without_database=without_database)
    monkeypatch.setattr(app, "settings", chosen)
    answered = call("summary")[2]
    assert attached_schema.is_valid(answered)
    assert [len(it) > 1 for it in answered["scopes"]] == [says_what_stands] * 2
