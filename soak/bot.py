"""Bots: a few threads that post the script, and post again what a killed container lost."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

from soak.answers import Answers, Latency
from soak.pace import Pace
from soak.stream import Poison, Post, Turn

_PATIENCE_S = 60
_PAUSE_S = 0.05
_TIMEOUT_S = 40


class Bots:
    """Work through a script together; `poison` puts a message on the queue."""

    def __init__(
        self,
        api_url: str,
        script: Iterator[Post | Poison],
        *,
        poison: Callable[[str], None],
        pace: Pace,
        answers: Answers,
        threads: int,
    ) -> None:
        self._host = urlsplit(api_url).netloc
        self._script = script
        self._poison = poison
        self._pace = pace
        self._answers = answers
        self._lock = Lock()
        self._errors: list[Exception] = []
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(threads)]

    def run(self) -> None:
        """Return when every post of the script is answered or given up.

        Raises what broke in a bot itself.
        """
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def _work(self) -> None:
        client = _Client(self._host)
        try:
            while item := self._next():
                if isinstance(item, Poison):
                    self._poison(item.body)
                else:
                    self._post(client, item.turn)
        except Exception as error:
            self._errors.append(error)
            self._pace.end()
        finally:
            client.close()

    def _next(self) -> Post | Poison | None:
        # One at a time also while the pace holds it back: the others would wait for the same.
        with self._lock:
            item = next(self._script, None)
            if item is None:
                self._pace.end()
            elif isinstance(item, Post) and not item.again:
                self._pace.begin_turn()
            return item

    def _post(self, client: "_Client", turn: Turn) -> None:
        """Post until the function has answered; the audit knows which 5xx may be on the way."""
        patience_ends = time.monotonic() + _PATIENCE_S
        while time.monotonic() < patience_ends:
            fault = self._pace.fault
            began = time.monotonic()
            status, answer = client.post("/v1/turns", turn.body)
            latency = Latency((time.monotonic() - began) * 1000, fault)
            self._answers.add(turn.turn_id, status, answer, latency)
            if status < 500:
                return
            time.sleep(_PAUSE_S)


class _Client:
    """One kept-alive connection."""

    def __init__(self, host: str) -> None:
        self._connection = http.client.HTTPConnection(host, timeout=_TIMEOUT_S)

    def post(self, target: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer; 599 when there was none."""
        try:
            headers = {"Content-Type": "application/json"}
            self._connection.request("POST", target, body, headers)
            response = self._connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            self._connection.close()
            return 599, {}
        return response.status, answer if isinstance(answer, dict) else {}

    def close(self) -> None:
        self._connection.close()
