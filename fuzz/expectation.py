"""What the document says that an answer must be: the statuses that a shot may be answered with.

There is a database, so nothing may be 503.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from fuzz.shot import Shot
from fuzz.validators import Schema, Validators, encodable

_Query = list[tuple[str, str]]


class Expectation:
    """By the schemas that `validators` know."""

    def __init__(self, validators: Validators) -> None:
        self._validators = validators

    def statuses(self, shot: Shot, operation: Schema, in_path: Mapping[str, str]) -> set[int]:
        """Return which answers `shot` may have from its operation; `in_path` has the path's ids."""
        match operation["operationId"]:
            case "postTurn":
                fits = self._body_fits(shot, operation)
                return {202, 400} if fits is None else {202 if fits else 400}
            case "putSummary":
                # What is too much for a scope no schema says.
                return {400} if self._body_fits(shot, operation) is False else {200, 400}
            case "getHealth":
                return {200}
            case _:
                return self._of_query(shot, operation, in_path)

    def _of_query(self, shot: Shot, operation: Schema, in_path: Mapping[str, str]) -> set[int]:
        ids = (it for it in operation["parameters"] if it["in"] == "path")
        if not all(self._is_valid(it, unquote(in_path[it["name"]])) for it in ids):
            # Some characters are not even looked at as a path's.
            return {400, 404}
        told = {it["name"]: it for it in operation["parameters"] if it["in"] == "query"}
        query = parse_qsl(shot.target.partition("?")[2], keep_blank_values=True, errors="replace")
        if not _each_once(query, told.values()):
            return {400}
        # Which scopes there are without a server no schema says, nor whose `after` it is; and what
        # a query means by its text may be more than the document promises.
        is_promised = not {name for name, _ in query} & {"scope", "after"}
        fits = all(self._is_valid(told[name], text) for name, text in query)
        return {200} if fits and is_promised else {200, 400}

    def _body_fits(self, shot: Shot, operation: Schema) -> bool | None:
        """Tell whether the body is what the document says; None if that cannot be told."""
        text = shot.received()
        if text is None:
            return False
        fractions: list[str] = []

        def noted(digits: str) -> float:
            fractions.append(digits)
            return float(digits)

        try:
            value = json.loads(
                text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=noted
            )
        except (ValueError, RecursionError):
            return False
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        try:
            fits = self._validators.is_valid(value, schema)
        except (ValueError, RecursionError):
            return None  # too deep for the validator
        # To JSON Schema 7.0 is an integer.
        return None if fits and fractions else fits

    def _is_valid(self, parameter: Schema, text: str) -> bool:
        value: Any = text
        match parameter["schema"].get("type"):
            case "integer" if re.fullmatch("0|[1-9][0-9]{0,14}", text):
                value = int(text)
            case "boolean" if text in ("true", "false"):
                value = text == "true"
        return self._validators.is_valid(value, parameter["schema"])


def _each_once(query: _Query, told: Iterable[Schema]) -> bool:
    """Tell whether every required parameter is there, none is unknown, and none there twice."""
    names = [name for name, _ in query]
    known = {it["name"]: it["required"] for it in told}
    required = {name for name, is_required in known.items() if is_required}
    return required <= set(names) <= known.keys() and len(names) == len(set(names))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = {encodable(name): value for name, value in pairs}
    if len(values) != len(pairs):
        raise ValueError("a key twice")
    return values


def _refuse(_: str) -> None:
    raise ValueError("not JSON")
