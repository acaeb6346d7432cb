"""What the document says of an answer, and what it says an answer must be."""

import json
import re
from collections.abc import Iterable
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qsl, unquote

import jsonschema_rs

from fuzz.shot import CANARY, Shot
from local.gateway import Answer

Schema = dict[str, Any]

HANG_S = 1.0
_SURROGATE = re.compile("[\ud800-\udfff]")


class Contract:
    """Judges answers by the document of the API. There is a database, so nothing may be 503."""

    def __init__(self, document: Schema) -> None:
        self._document = document
        self._closed = _closed(document["components"])
        self._validators: dict[str, jsonschema_rs.Validator] = {}
        self._routes = [
            (method.upper(), re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), operation)
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        ]

    def complaints(self, shot: Shot, answer: Answer, seconds: float) -> list[str]:
        """Return what is wrong with the answer to `shot`, which took `seconds`."""
        found = self._operation(shot)
        may_be = self._may_be(shot, *found) if found else {404}
        wrong = []
        if answer.status not in may_be:
            wrong.append(f"{answer.status} instead of {' or '.join(map(str, sorted(may_be)))}")
        if found:
            wrong += self._undocumented(found[0]["responses"], answer)
        else:
            problem = self._document["components"]["responses"]["NoSuchRoute"]
            wrong += self._unlike(problem, answer)
        if answer.status >= 400 and _repeats(answer):
            wrong.append("an error repeats what was sent")
        if seconds > HANG_S:
            wrong.append(f"it took {seconds:.1f} s")
        return wrong

    def _operation(self, shot: Shot) -> tuple[Schema, dict[str, str]] | None:
        # The function does not mind slashes at the end; the gateway before it would.
        path = shot.target.partition("?")[0].rstrip("/")
        for method, pattern, operation in self._routes:
            if method == shot.method and (match := pattern.fullmatch(path)):
                return operation, match.groupdict()
        return None

    # --- what it must be

    def _may_be(self, shot: Shot, operation: Schema, in_path: dict[str, str]) -> set[int]:
        match operation["operationId"]:
            case "postTurn":
                return {True: {202}, False: {400}, None: {202, 400}}[self._fits(shot, operation)]
            case "putSummary":
                # What is too much for a scope no schema says.
                return {400} if self._fits(shot, operation) is False else {200, 400}
            case "getHealth":
                return {200}
        told = [it for it in operation["parameters"] if it["in"] == "query"]
        query = parse_qsl(shot.target.partition("?")[2], keep_blank_values=True, errors="replace")
        fits = _each_once(query, told) and self._of_its_shape(query, told)
        if not all(self._is_valid(it, unquote(in_path[it["name"]])) for it in _in_path(operation)):
            # Some characters are not even looked at as a path's.
            return {400, 404}
        if not _each_once(query, told):
            return {400}
        names = {name for name, _ in query}
        # Which scopes there are without a server no schema says, nor whose `after` it is; and what
        # a query means by its text may be more than the document promises.
        return {200} if fits and not names & {"scope", "after"} else {200, 400}

    def _fits(self, shot: Shot, operation: Schema) -> bool | None:
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
                text,
                object_pairs_hook=_once,
                parse_constant=_refuse,
                parse_float=noted,
            )
        except (ValueError, RecursionError):
            return False
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        try:
            fits: bool = self._validator(schema).is_valid(_encodable(value))
        except (ValueError, RecursionError):
            return None  # too deep for the validator
        # To JSON Schema 7.0 is an integer.
        return None if fits and fractions else fits

    def _of_its_shape(self, query: Iterable[tuple[str, str]], told: list[Schema]) -> bool:
        by_name = {it["name"]: it for it in told}
        return all(self._is_valid(by_name[name], text) for name, text in query)

    def _is_valid(self, parameter: Schema, text: str) -> bool:
        value: Any = text
        match parameter["schema"].get("type"):
            case "integer" if re.fullmatch("0|[1-9][0-9]{0,14}", text):
                value = int(text)
            case "boolean" if text in ("true", "false"):
                value = text == "true"
        valid: bool = self._validator(parameter["schema"]).is_valid(_encodable(value))
        return valid

    # --- what it is

    def _undocumented(self, responses: Schema, answer: Answer) -> list[str]:
        response = responses.get(str(answer.status)) or responses.get(f"{answer.status // 100}XX")
        if response is None:
            return [f"{answer.status} is not documented"]
        if reference := response.get("$ref"):
            response = self._document["components"]["responses"][reference.rpartition("/")[2]]
        return self._unlike(response, answer)

    def _unlike(self, response: Schema, answer: Answer) -> list[str]:
        headers = {name.lower(): value for name, value in answer.headers}
        wrong = []
        kind = headers.get("content-type", "none")
        if kind not in response["content"]:
            wrong.append(f"Content-Type {kind}")
        for name, header in response.get("headers", {}).items():
            value: Any = headers.get(name.lower())
            if header["schema"].get("type") == "integer" and value is not None:
                value = int(value)
            if not self._validator(header["schema"]).is_valid(value):
                wrong.append(f"header {name}")
        (content,) = response["content"].values()
        try:
            error = next(
                self._validator(content["schema"], answered=True).iter_errors(
                    json.loads(answer.body)
                ),
                None,
            )
        except ValueError:
            return [*wrong, "no JSON"]
        if error is not None:
            wrong.append(f"not as {'/'.join(map(str, error.schema_path))} says")
        return wrong

    def _validator(self, schema: Schema, *, answered: bool = False) -> jsonschema_rs.Validator:
        key = json.dumps([schema, answered])
        if key not in self._validators:
            components = self._closed if answered else self._document["components"]
            self._validators[key] = jsonschema_rs.validator_for(
                {**schema, "components": components}
            )
        return self._validators[key]


def _in_path(operation: Schema) -> list[Schema]:
    return [it for it in operation["parameters"] if it["in"] == "path"]


def _each_once(query: list[tuple[str, str]], told: list[Schema]) -> bool:
    """Tell whether every required parameter is there, none is unknown, and none there twice."""
    names = [name for name, _ in query]
    required = {it["name"] for it in told if it["required"]}
    known = {it["name"] for it in told}
    return required <= set(names) <= known and len(names) == len(set(names))


def _closed(components: Schema) -> Schema:
    """Return the schemas such that an answer may hold no field that is not documented."""
    closed = deepcopy(components)
    for schema in closed["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return closed


def _repeats(answer: Answer) -> bool:
    told = answer.body.decode("utf-8", "replace") + "".join(map("".join, answer.headers))
    return CANARY.lower() in told.lower()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = {_encodable(name): value for name, value in pairs}
    if len(values) != len(pairs):
        raise ValueError("a key twice")
    return values


def _refuse(_: str) -> None:
    raise ValueError("not JSON")


def _encodable(value: Any) -> Any:
    """Return `value` with U+FFFD for lone surrogates, as the API reads it."""
    match value:
        case str():
            return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
        case list():
            return [_encodable(it) for it in value]
        case dict():
            return {name: _encodable(it) for name, it in value.items()}
        case _:
            return value
