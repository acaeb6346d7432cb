"""Whether an answer is as the document says that answers of its status are."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from fuzz.validators import Schema, Validators
from local.gateway import Answer


class Conformity:
    """To the responses that the document has; no answer may hold a field that is not there."""

    def __init__(self, components: Schema) -> None:
        self._responses = components["responses"]
        self._validators = Validators(_closed(components))

    def complaints(self, answer: Answer, responses: Schema) -> Iterator[str]:
        """Yield what is wrong with an answer of an operation that has such responses."""
        response = responses.get(str(answer.status)) or responses.get(f"{answer.status // 100}XX")
        if response is None:
            yield f"{answer.status} is not documented"
        elif reference := response.get("$ref"):
            yield from self.unlike(reference.rpartition("/")[2], answer)
        else:
            yield from self._unlike(response, answer)

    def unlike(self, name: str, answer: Answer) -> Iterator[str]:
        """Yield in what `answer` is unlike the response of that name."""
        yield from self._unlike(self._responses[name], answer)

    def _unlike(self, response: Schema, answer: Answer) -> Iterator[str]:
        headers = {name.lower(): value for name, value in answer.headers}
        kind = headers.get("content-type", "none")
        if kind not in response["content"]:
            yield f"Content-Type {kind}"
        for name, header in response.get("headers", {}).items():
            value: Any = headers.get(name.lower())
            if header["schema"].get("type") == "integer" and value is not None:
                value = int(value)
            if not self._validators.of(header["schema"]).is_valid(value):
                yield f"header {name}"
        (content,) = response["content"].values()
        try:
            body = json.loads(answer.body)
        except ValueError:
            yield "no JSON"
            return
        error = next(self._validators.of(content["schema"]).iter_errors(body), None)
        if error is not None:
            yield f"not as {'/'.join(map(str, error.schema_path))} says"


def _closed(components: Schema) -> Schema:
    closed = deepcopy(components)
    for schema in closed["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return closed
