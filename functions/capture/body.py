"""Reads the JSON of a request's body.

By the standard library, since it sees what a faster decoder hides or refuses: a key that is given
twice, and a lone surrogate.
"""

import json
import re
from collections import Counter
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from capture.cleaning import encodable
from shortterm.wire import Mismatch

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Reader:
    """Reads bodies whose objects are of `kinds`: only their field names are told in a complaint."""

    def __init__(self, *kinds: type[Struct]) -> None:
        fields = (field for kind in kinds for field in msgspec.structs.fields(kind))
        self._known_keys = frozenset(field.encode_name for field in fields)
        self._json = json.JSONDecoder(object_pairs_hook=self._once, parse_constant=_not_a_number)
        self._json_with_surrogates = json.JSONDecoder(
            object_pairs_hook=self._encodable_once, parse_constant=_not_a_number
        )

    def read(self, body: str) -> Any:
        """Return what `body` says, with U+FFFD for lone surrogates.

        Raises Mismatch for what is not JSON, and for a key that is given twice.
        """
        try:
            if _may_hold_surrogates(body):
                return _encodable(self._json_with_surrogates.decode(body))
            return self._json.decode(body)
        except (json.JSONDecodeError, RecursionError):
            raise Mismatch("body", "a JSON object") from None
        except ValueError:
            # An integer of more digits than Python converts.
            raise Mismatch("body", "JSON with numbers of a sane length") from None

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return an object whose keys are each given once."""
        values = dict(pairs)
        if len(values) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            ((twice, _),) = counts.most_common(1)
            # An unknown key may itself be somebody's words.
            known = twice in self._known_keys
            raise Mismatch(twice if known else "body", "each key once per object")
        return values

    def _encodable_once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the same with U+FFFD for lone surrogates, in keys and in values."""
        return self._once([(encodable(key), _encodable(value)) for key, value in pairs])


def _encodable(value: Any) -> Any:
    """Return `value` with U+FFFD for lone surrogates; objects in it have been seen to."""
    match value:
        case str():
            return encodable(value)
        case list():
            return [_encodable(it) for it in value]
        case _:
            return value


def _not_a_number(_: str) -> NoReturn:
    raise Mismatch("body", "JSON, which has neither NaN nor Infinity")


def _may_hold_surrogates(body: str) -> bool:
    """Tell whether `body` holds half of a pair, escaped or not; most hold none, so it is quick."""
    if "\\u" in body and _ESCAPED_SURROGATE.search(body):
        return True
    if body.isascii():
        return False
    try:
        body.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
