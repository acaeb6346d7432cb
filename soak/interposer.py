"""A proxy between the capture containers and SQS that breaks on demand, and knows the truth.

What SQS answered is read here, behind every fault: that a turn's work was accepted is known even
where the container that sent it is not told.
"""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from select import select
from socket import MSG_PEEK
from threading import Condition, Event
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

from local.loopback import HOST, LoopbackHandler, LoopbackServer

_LIMIT = 2**21
# Longer than a capture container waits for an answer.
_HANG_S = 3.5
_SLOW_S = 0.4
_DELAYED_PER_CENT = 6
_LONGEST_DELAY_S = 3
_JSON = ("Content-Type", "application/x-amz-json-1.0")


class Mode(StrEnum):
    """What becomes of a request."""

    IN_ORDER = "in order"
    SLOW = "is slow"
    REFUSE = "refuses"
    THROTTLE = "throttles"
    FAIL_SOME = "fails some entries"
    HANG = "hangs"
    CUT = "cuts answers off"


class Interposer:
    """Listens on 127.0.0.1; in order until told otherwise.

    `accepted` are the ids of the turns whose work SQS has; `late` counts the messages that it has
    and that come late, out of order; `broken_requests` the requests that met a fault.
    """

    def __init__(self, seed: int) -> None:
        self.accepted: set[str] = set()
        self.late = 0
        self.broken_requests = 0
        self.mode = Mode.IN_ORDER
        self.ended = Event()
        self._seed = seed
        self._upstream = ""
        self._under_way = 0
        self._changed = Condition()
        self._server = LoopbackServer(0, partial(_Handler, self))
        self._server.start()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.port}"

    @property
    def under_way(self) -> int:
        """How many requests are being held or passed on."""
        with self._changed:
            return self._under_way

    def connect(self, sqs_endpoint: str) -> None:
        """Say where SQS is."""
        self._upstream = urlsplit(sqs_endpoint).netloc

    @contextmanager
    def broken(self, mode: Mode) -> Iterator[None]:
        """Meanwhile requests meet a fault; what is held at the end is let go."""
        self.ended.clear()
        self.mode = mode
        try:
            yield
        finally:
            self.mode = Mode.IN_ORDER
            self.ended.set()

    def wait_until_quiet(self) -> None:
        """Wait until no request is under way: only then is `accepted` final."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._under_way == 0, timeout=30):
                raise TimeoutError("requests to SQS are still under way")

    def stop(self) -> None:
        self.ended.set()
        self._server.stop()

    @contextmanager
    def counted(self, mode: Mode) -> Iterator[None]:
        """One request is under way."""
        with self._changed:
            self._under_way += 1
            self.broken_requests += mode is not Mode.IN_ORDER
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def pass_on(
        self, path: str, headers: Mapping[str, str], sent: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """Hand a batch to SQS and note what it accepted; returns status and answer."""
        entries = [self._maybe_late(entry) for entry in sent["Entries"]]
        connection = http.client.HTTPConnection(self._upstream, timeout=30)
        try:
            body = json.dumps(sent | {"Entries": entries})
            connection.request("POST", path, body, dict(headers))
            response = connection.getresponse()
            answer: dict[str, Any] = json.loads(response.read())
        finally:
            connection.close()
        if response.status == 200:
            sent_by_id = {entry["Id"]: entry for entry in entries}
            taken = [sent_by_id[it["Id"]] for it in answer.get("Successful", ())]
            with self._changed:
                self.accepted |= {json.loads(it["MessageBody"])["turnId"] for it in taken}
                self.late += sum("DelaySeconds" in it for it in taken)
        return response.status, answer

    def _maybe_late(self, entry: dict[str, Any]) -> dict[str, Any]:
        lot = crc32(f"{self._seed}:{entry['MessageBody']}".encode())
        if lot % 100 >= _DELAYED_PER_CENT:
            return entry
        return entry | {"DelaySeconds": 1 + lot // 100 % _LONGEST_DELAY_S}


class _Handler(LoopbackHandler):
    def __init__(self, interposer: Interposer, *arguments: Any) -> None:
        self._interposer = interposer
        super().__init__(*arguments)

    def do_POST(self) -> None:  # noqa: N802 (http.server's name)
        sent = json.loads(self.read_body(_LIMIT))
        mode = self._interposer.mode
        with self._interposer.counted(mode):
            self._serve(mode, sent)

    def _serve(self, mode: Mode, sent: dict[str, Any]) -> None:
        match mode:
            case Mode.REFUSE:
                self.close_connection = True
            case Mode.THROTTLE:
                self._refuse("RequestThrottled")
            case Mode.FAIL_SOME:
                self._fail_some(sent)
            case Mode.CUT:
                self._pass_on(sent)
                self.close_connection = True
            case Mode.HANG:
                self._hang(sent)
            case Mode.SLOW:
                self._dawdle(sent)
            case Mode.IN_ORDER:
                self._answer(*self._pass_on(sent))

    def _dawdle(self, sent: dict[str, Any]) -> None:
        """Take a while; of those whose sender died meanwhile, every other batch never arrives."""
        self._interposer.ended.wait(_SLOW_S)
        if _by_halves(sent) and self._sender_is_gone():
            self.close_connection = True
        else:
            self._answer(*self._pass_on(sent))

    def _sender_is_gone(self) -> bool:
        readable, _, _ = select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, MSG_PEEK) == b""

    def _hang(self, sent: dict[str, Any]) -> None:
        """Keep silent until the sender gave up; every other batch arrives all the same."""
        self._interposer.ended.wait(_HANG_S)
        if _by_halves(sent):
            self.close_connection = True
        else:
            self._answer(*self._pass_on(sent))

    def _fail_some(self, sent: dict[str, Any]) -> None:
        """Take all entries but the first, as SQS may."""
        failing, *taken = sent["Entries"]
        failed = {"Id": failing["Id"], "SenderFault": False, "Code": "InternalError"}
        status, answer = self._pass_on(sent | {"Entries": taken}) if taken else (200, {})
        self._answer(status, {"Successful": [], **answer, "Failed": [failed]})

    def _pass_on(self, sent: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        kept = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in ("host", "content-length", "expect", "connection")
        }
        return self._interposer.pass_on(self.path, kept, sent)

    def _refuse(self, code: str) -> None:
        """The error answer of SQS' JSON protocol."""
        error = {"__type": f"com.amazonaws.sqs#{code}", "message": "Rate exceeded"}
        body = json.dumps(error).encode()
        self.answer(400, body, (_JSON, ("x-amzn-query-error", f"{code};Sender")))

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        self.answer(status, json.dumps(answer).encode(), (_JSON,))


def _by_halves(sent: dict[str, Any]) -> bool:
    """Whether a batch is one of the half that has bad luck."""
    return bool(crc32(sent["Entries"][0]["MessageBody"].encode()) % 2)
