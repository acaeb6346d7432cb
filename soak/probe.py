"""Reads memory back while Postgres is away: what that takes, and whether the answer says so."""

import http.client
import json
import time
from typing import Any
from urllib.parse import urlencode, urlsplit

from soak.bounds import CONNECTING_READ_MS, MACHINE_MS, READ_MS
from soak.stream import World

_CONNECTING_READS = 12
_READS = 5


class Probe:
    """Figures of `reads` reads while Postgres was away, in ms.

    `connected` are the containers that could read rows just before: `slowest_ms` is the slowest of
    them, `connecting_ms` of others, `machine_ms` of as many requests that touch neither rows nor
    queue, each right before a read: what a busy machine adds. `slow` counts the reads that took
    longer than their bound and that, `dishonest` the answers that did not say that Postgres is
    away.
    """

    def __init__(self, api_url: str, world: World) -> None:
        self._host = urlsplit(api_url).netloc
        channel = world.busiest
        query = {
            "userId": world.users.all[0],
            "channelId": channel.channel_id,
            "serverId": channel.server_id,
            "personaId": world.personas.all[0].persona_id,
        }
        self._target = f"/v1/memories?{urlencode(query)}"
        self.connected: set[str] = set()
        self.reads = 0
        self.slowest_ms = 0.0
        self.connecting_ms = 0.0
        self.machine_ms = 0.0
        self.slow = 0
        self.dishonest = 0

    def connect(self) -> bool:
        """Read while Postgres is there; tells whether any container is connected now."""
        self.connected = set()
        for _ in range(_CONNECTING_READS):
            answer, _ = self._get(self._target)
            if answer.get("durable") == "fresh":
                self.connected.add(answer["memory"]["container"])
        return bool(self.connected)

    def read_without_database(self) -> None:
        """Read a few times while Postgres is away."""
        for _ in range(_READS):
            _, machine_ms = self._get("/v1/health")
            answer, ms = self._get(self._target)
            self._note(answer, ms, machine_ms)

    def _note(self, answer: dict[str, Any], ms: float, machine_ms: float) -> None:
        self.reads += 1
        self.dishonest += answer.get("durable") != "unavailable"
        self.machine_ms = max(self.machine_ms, machine_ms)
        if answer.get("memory", {}).get("container") in self.connected:
            bound = READ_MS
            self.slowest_ms = max(self.slowest_ms, ms)
        else:
            bound = CONNECTING_READ_MS
            self.connecting_ms = max(self.connecting_ms, ms)
        self.slow += ms > bound + machine_ms + MACHINE_MS

    def _get(self, target: str) -> tuple[dict[str, Any], float]:
        connection = http.client.HTTPConnection(self._host, timeout=30)
        began = time.monotonic()
        try:
            connection.request("GET", target)
            answer = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            answer = {}
        finally:
            connection.close()
        return answer, (time.monotonic() - began) * 1000
