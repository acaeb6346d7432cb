"""What a function meets at its worst: an SQS that quotes what it is sent, and code that breaks."""

import json
import shutil
import threading
from functools import partial
from pathlib import Path
from typing import Any

from local.loopback import LoopbackHandler, LoopbackServer

ROOT = Path(__file__).parent.parent
_LIMIT = 2**20

# Whatever an event asks for (`X-Break`), or the environment (`BREAK`), breaks while it is handled:
# with an error that says everything that the event does, in every way that an error has.
_SABOTAGE = """

import os
from unittest import mock


def handler(event, context, unharmed=handler):
    how = os.environ.get("BREAK") or (event.get("headers") or {}).get("X-Break")
    words = str(event)

    def broken(*_, **__):
        error = ValueError(words)
        error.add_note(words)
        raise error from KeyError(words)

    if not how:
        return unharmed(event, context)
    with mock.patch(f"{__name__}.{how}", broken):
        return unharmed(event, context)
"""


def sabotaged_code(directory: Path) -> Path:
    """Return a copy of the functions that can be told to break."""
    for name in ("functions", "layers"):
        shutil.copytree(ROOT / name, directory / name)
    for function in ("capture", "writer"):
        with (directory / "functions" / function / "app.py").open("a", encoding="utf-8") as app:
            app.write(_SABOTAGE)
    return directory


class HostileSqs:
    """Takes nothing, as `mood` says, and keeps every request that it got, whole."""

    def __init__(self) -> None:
        self.mood = "refusing"
        self.seen: list[str] = []
        self.hung_up = threading.Event()
        self._server = LoopbackServer(0, partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._server.port}"

    def __enter__(self) -> "HostileSqs":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hung_up.set()
        self._server.stop()


class _Handler(LoopbackHandler):
    def __init__(self, sqs: HostileSqs, *arguments: Any) -> None:
        self._sqs = sqs
        super().__init__(*arguments)

    def do_POST(self) -> None:  # noqa: N802 (http.server's name)
        body = self.read_body(_LIMIT).decode()
        self._sqs.seen.append(f"{self.path} {self.headers} {body}")
        quoting = json.dumps({"__type": "com.amazonaws.sqs#Denied", "message": body}).encode()
        match self._sqs.mood:
            case "refusing":
                self.answer(403, quoting, [("x-amzn-query-error", "AccessDenied;Sender")])
            case "throttling":
                self.answer(503, quoting.replace(b"Denied", b"RequestThrottled"))
            case "refusing each":
                self.answer(200, _refusal(body))
            case "babbling":
                self.answer(200, b"<html>" + quoting)
            case "hanging up":
                self.close_connection = True
            case "hanging":
                self._sqs.hung_up.wait()


def _refusal(body: str) -> bytes:
    failed = [
        {"Id": it["Id"], "SenderFault": False, "Code": "InternalError", "Message": body}
        for it in json.loads(body)["Entries"]
    ]
    return json.dumps({"Failed": failed}).encode()
