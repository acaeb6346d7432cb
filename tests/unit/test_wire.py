"""How a mismatch is told: field and expectation, never the value."""

from typing import Literal

import msgspec
import pytest
from msgspec import Struct

from shortterm.wire import ID_SHAPE, Id, Millis, Mismatch, Private, mismatch


class Inner(Struct):
    at: Millis


class Outer(Struct, forbid_unknown_fields=True):
    name: Id
    inner: list[Inner] = []
    level: Literal["A", "B"] = "A"


def told(value) -> Mismatch:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, Outer)
    return mismatch(caught.value, {"level": "A or B"})


@pytest.mark.parametrize(
    ("value", "field", "expected"),
    [
        ([], "body", "object, got array"),
        ({}, "name", "a value: the field is required"),
        ({"name": 1}, "name", "string, got integer"),
        ({"name": "a b"}, "name", ID_SHAPE),
        ({"name": "a", "inner": [{}]}, "inner[0].at", "a value: the field is required"),
        ({"name": "a", "inner": [{"at": -1}]}, "inner[0].at", "integer >= 0"),
        ({"name": "a", "level": "CANARY"}, "level", "A or B"),
        ({"name": "a", "CANARY": 1}, "body", "another value"),
    ],
)
def test_a_mismatch_names_field_and_expectation(value, field, expected):
    error = told(value)
    assert (error.field, error.expected) == (field, expected)
    assert "CANARY" not in str(error)


def test_a_private_value_prints_its_type_only():
    class Note(Private, frozen=True):
        text: str

    note = Note("CANARY")
    assert f"{note} {note!r} {[note]}" == "Note(…) Note(…) [Note(…)]"
