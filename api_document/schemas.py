"""JSON Schemas of types, as OpenAPI 3.1 wants them and a client of the API reads them."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

Schema = dict[str, Any]

_TEMPLATE = "#/components/schemas/{name}"
_WRAP = re.compile(r"(?<!\n)\n(?!\n)")
_SNAKE = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")


def components(kinds: Iterable[Any]) -> Schema:
    """Return the schema of each of `kinds` and of all that they hold, by name."""
    _, found = msgspec.json.schema_components(tuple(kinds), ref_template=_TEMPLATE)
    return {name: _in_wire_words(found[name]) for name in sorted(found)}


def schema(kind: Any) -> Schema:
    """Return the schema of one type, which refers to the components for what has a name."""
    (found,), _ = msgspec.json.schema_components((kind,), ref_template=_TEMPLATE)
    worded: Schema = _in_wire_words(found)
    return worded


def parameters(kind: type[Struct]) -> list[Schema]:
    """Return the query parameters that `kind` is read from."""
    return [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "schema": _of_a_parameter(schema(field.type), field),
        }
        for field in msgspec.structs.fields(kind)
    ]


def _of_a_parameter(whole: Schema, field: msgspec.structs.FieldInfo) -> Schema:
    """Return the schema without null, which a query cannot say, and with the default."""
    if choices := whole.get("anyOf"):
        (whole,) = (it for it in choices if it != {"type": "null"})
    if field.required or field.default is None:
        return whole
    return {**whole, "default": field.default}


def _in_wire_words(value: Any, key: str = "") -> Any:
    """Reword what is Python's: names and None in descriptions, the ends of a pattern."""
    match value:
        case dict():
            return {name: _in_wire_words(it, name) for name, it in value.items()}
        case list():
            return [_in_wire_words(it) for it in value]
        case str() if key == "description":
            return _SNAKE.sub(_camel, _WRAP.sub(" ", value)).replace(" None", " null")
        case str() if key == "pattern":
            # ECMA 262 has neither \A nor \Z, and its $ is the end of the text and nothing else.
            return "^" + value.removeprefix(r"\A").removesuffix(r"\Z") + "$"
        case _:
            return value


def _camel(name: re.Match[str]) -> str:
    first, *others = name[1].split("_")
    return "`" + first + "".join(map(str.capitalize, others)) + "`"
