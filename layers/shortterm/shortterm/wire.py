"""What every border shares: the shape of an id, and how a mismatch is told without its value."""

import re
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError

ID_SHAPE = "a string of 1 to 64 characters out of A-Z a-z 0-9 _ . -"
# \A and \Z: with ^ and $ an id could end in a line break.
Id = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]{1,64}\Z")]

# Up to the year 9999: what a timestamp column and every client's date type can hold.
Millis = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]


class Private(Struct, frozen=True, rename="camel"):
    """A value that may hold somebody's words: printing it shows its type and nothing else."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    __str__ = __repr__

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


class Mismatch(Exception):
    """Input that does not have the agreed shape.

    Holds the path of the field (`simplifiedMessages[3].content`, or `body` for the whole) and what
    was expected there; never what was sent (design, section 4).
    """

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: expected {expected}")
        self.field = field
        self.expected = expected


_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`\Z")
_MISSING = re.compile(r"\AObject missing required field `(?P<name>\w+)`")
_EXPECTED = re.compile(r"\AExpected (?P<what>.+)\Z", re.DOTALL)
_QUOTED = re.compile(r"`([^`]*)`")
_JSON_NAMES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def mismatch(error: ValidationError, choices: dict[str, str] | None = None) -> Mismatch:
    """Return what `error` complains of, without the value that its text may quote.

    `choices` says, per field path, what an enumerated field accepts.
    """
    text = str(error)
    at = _AT.search(text)
    path = at["path"] if at else ""
    complaint = text[: at.start()] if at else text
    if missing := _MISSING.match(complaint):
        return Mismatch(f"{path}.{missing['name']}".lstrip("."), "a value: the field is required")
    field = path or "body"
    if choices and field in choices:
        return Mismatch(field, choices[field])
    if "matching regex" in complaint:
        return Mismatch(field, ID_SHAPE)
    if expected := _EXPECTED.match(complaint):
        return Mismatch(field, _QUOTED.sub(_in_json, expected["what"]))
    return Mismatch(field, "another value")


def _in_json(quoted: re.Match[str]) -> str:
    """Name Python's types as a client in any language knows them."""
    return re.sub(r"\w+", lambda word: _JSON_NAMES.get(word[0], word[0]), quoted[1])
