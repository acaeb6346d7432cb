"""Validators of the document's schemas, each made once."""

import json
import re
from typing import Any

import jsonschema_rs

Schema = dict[str, Any]

_SURROGATE = re.compile("[\ud800-\udfff]")


class Validators:
    """Of schemas that may refer to `components`."""

    def __init__(self, components: Schema) -> None:
        self._components = components
        self._made: dict[str, jsonschema_rs.Validator] = {}

    def of(self, schema: Schema) -> jsonschema_rs.Validator:
        """Return the validator of `schema`."""
        key = json.dumps(schema)
        if key not in self._made:
            whole = {**schema, "components": self._components}
            self._made[key] = jsonschema_rs.validator_for(whole)
        return self._made[key]

    def is_valid(self, value: Any, schema: Schema) -> bool:
        """Tell whether `value` is what `schema` says. Raises ValueError or RecursionError."""
        valid: bool = self.of(schema).is_valid(encodable(value))
        return valid


def encodable(value: Any) -> Any:
    """Return `value` with U+FFFD for lone surrogates, as the API reads it."""
    match value:
        case str():
            return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
        case list():
            return [encodable(it) for it in value]
        case dict():
            return {name: encodable(it) for name, it in value.items()}
        case _:
            return value
