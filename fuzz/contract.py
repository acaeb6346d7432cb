"""The document of the API as a judge of answers."""

import re
from collections.abc import Iterator

from fuzz.conformity import Conformity
from fuzz.expectation import Expectation
from fuzz.shot import CANARY, Shot
from fuzz.validators import Schema, Validators
from local.gateway import Answer

HANG_S = 1.0


class Contract:
    """Finds the operation that a shot is for, and judges what became of it."""

    def __init__(self, document: Schema) -> None:
        self._expectation = Expectation(Validators(document["components"]))
        self._conformity = Conformity(document["components"])
        self._routes = [
            (method.upper(), re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)), operation)
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        ]

    def complaints(self, shot: Shot, answer: Answer, seconds: float) -> list[str]:
        """Return what is wrong with the answer to `shot`, which took `seconds`."""
        return [*self._wrong(shot, answer), *_slow_or_talkative(answer, seconds)]

    def _wrong(self, shot: Shot, answer: Answer) -> Iterator[str]:
        found = self._operation(shot)
        if found is None:
            may_be, unlike = {404}, self._conformity.unlike("NoSuchRoute", answer)
        else:
            operation, in_path = found
            may_be = self._expectation.statuses(shot, operation, in_path)
            unlike = self._conformity.complaints(answer, operation["responses"])
        if answer.status not in may_be:
            yield f"{answer.status} instead of {' or '.join(map(str, sorted(may_be)))}"
        yield from unlike

    def _operation(self, shot: Shot) -> tuple[Schema, dict[str, str]] | None:
        # The function does not mind slashes at the end; the gateway before it would.
        path = shot.target.partition("?")[0].rstrip("/")
        for method, pattern, operation in self._routes:
            if method == shot.method and (match := pattern.fullmatch(path)):
                return operation, match.groupdict()
        return None


def _slow_or_talkative(answer: Answer, seconds: float) -> Iterator[str]:
    told = answer.body.decode("utf-8", "replace") + "".join(map("".join, answer.headers))
    if answer.status >= 400 and CANARY.lower() in told.lower():
        yield "an error repeats what was sent"
    if seconds > HANG_S:
        yield f"it took {seconds:.1f} s"
