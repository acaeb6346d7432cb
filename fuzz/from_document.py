"""What schemathesis makes of the document: requests that fit it, and requests that do not."""

import copy
from typing import Any

import schemathesis
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from requests import Request
from schemathesis import Case, GenerationMode

from fuzz.shot import Shot

# Never called: a URL must have one.
_BASE = "http://localhost"
_SENT = ("method", "url", "params", "json", "data")


def shots(document: dict[str, Any]) -> SearchStrategy[Shot]:
    """Return requests to every operation of `document`, as many good as bad ones."""
    bare = copy.deepcopy(document)
    # Where it is served and who may ask is the gateway's affair.
    for part in ("servers", "security"):
        del bare[part]
    schema = schemathesis.openapi.from_dict(bare)
    operations = [schema[path][method] for path in bare["paths"] for method in bare["paths"][path]]
    good = [it.as_strategy(generation_mode=GenerationMode.POSITIVE) for it in operations]
    bad = [
        it.as_strategy(generation_mode=GenerationMode.NEGATIVE)
        for it in operations
        if it.body or it.query or it.path_parameters
    ]
    return st.one_of(
        st.one_of(good).map(lambda case: _shot("schemathesis, positive", case)),
        st.one_of(bad).map(lambda case: _shot("schemathesis, negative", case)),
    )


def _shot(source: str, case: Case[Any]) -> Shot:
    asked = case.as_transport_kwargs(base_url=_BASE)
    prepared = Request(**{name: asked[name] for name in _SENT if name in asked}).prepare()
    return Shot(source, str(prepared.method), prepared.path_url, _bytes(prepared.body))


def _bytes(body: object) -> bytes:
    match body:
        case bytes():
            return body
        case str():
            return body.encode("utf-8", "surrogatepass")
        case None:
            return b""
        case _:
            raise TypeError(f"a body of {type(body)}")
