"""Reads memory back while Postgres is down: what that takes, and whether the answer says so."""

import http.client
import json
import time
from typing import Any
from urllib.parse import urlencode, urlsplit

from soak.stream import World


class Probe:
    """Figures of `reads` reads while Postgres was down, in ms.

    `machine_ms` is the slowest of as many requests that touch neither rows nor queue, in between:
    what a busy machine adds. `dishonest` counts the answers that did not say that Postgres is away.
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
        self.reads = 0
        self.slowest_ms = 0.0
        self.machine_ms = 0.0
        self.dishonest = 0

    def recall(self) -> tuple[str, float]:
        """Return what a read says of the rows, and the ms that it took."""
        answer, ms = self._get(self._target)
        return str(answer.get("durable")), ms

    def recall_without_database(self) -> None:
        """Read while Postgres is down."""
        _, machine_ms = self._get("/v1/health")
        durable, ms = self.recall()
        self.reads += 1
        self.slowest_ms = max(self.slowest_ms, ms)
        self.machine_ms = max(self.machine_ms, machine_ms)
        self.dishonest += durable != "unavailable"

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
