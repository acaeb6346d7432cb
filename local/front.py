"""The HTTP front: every request becomes a proxy event for the capture function."""

import json
import logging
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from local.errors import BadAnswer, CannotRun
from local.gateway import Answer, Request, answer_of, problem, proxy_event
from local.loopback import HOST, BadBody, BodyTooLarge, LoopbackHandler, LoopbackServer
from local.outcome import Failure, Outcome

# What API Gateway takes. Lambda takes less of an event, which is not counted here.
_BODY_LIMIT = 10 * 2**20

_log = logging.getLogger(__name__)


class Front:
    """Serves until stopped. It neither prints nor logs what a request says."""

    def __init__(self, port: int, invoke: Callable[[bytes], Outcome]) -> None:
        """Port 0 takes a free one; raises CannotRun when the port is taken."""
        try:
            self._server = LoopbackServer(port, partial(_Handler, invoke))
        except OSError as error:
            reason = error.strerror or str(error)
            raise CannotRun(f"cannot listen on {HOST}:{port}: {reason}") from error

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.port}"

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()


class _Handler(LoopbackHandler):
    def __init__(self, invoke: Callable[[bytes], Outcome], *arguments: Any) -> None:
        self._invoke = invoke
        super().__init__(*arguments)

    def _serve(self) -> None:
        request_id = str(uuid.uuid4())
        answer = self._answer(request_id)
        self.answer(answer.status, answer.body, [*answer.headers, ("x-amzn-RequestId", request_id)])

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815

    def _answer(self, request_id: str) -> Answer:
        try:
            body = self.read_body(_BODY_LIMIT)
        except BadBody:
            return problem(400, "Malformed request", field="body", expected="HTTP/1.1")
        except BodyTooLarge:
            return problem(413, "Request too large", field="body", expected="at most 6 MB")
        request = Request(
            self.command,
            self.path,
            self.headers.items(),
            body,
            self.client_address[0],
            self.request_version,
        )
        event = json.dumps(proxy_event(request, request_id)).encode()
        try:
            outcome = self._invoke(event)
        except CannotRun:
            return problem(503, "No container is free")
        return _answer_to(outcome)


def _answer_to(outcome: Outcome) -> Answer:
    if isinstance(outcome, Failure):
        # The type only: an error's message may quote what a user wrote.
        _log.warning("the function failed: %s", outcome.type)
        if outcome.status == "timed-out":
            return problem(504, "The function timed out")
        return problem(502, "The function failed")
    try:
        return answer_of(outcome.payload)
    except BadAnswer:
        _log.warning("the function's answer is not one of a Lambda proxy integration")
        return problem(502, "The function's answer is not one")
