"""Fires at a stack over HTTP, on one connection that is kept for as long as it stands."""

import http.client
from urllib.parse import urlsplit

from fuzz.shot import Shot
from local.gateway import Answer

# More than anything may take: an answer that comes at all is judged by its time.
_TIMEOUT_S = 30


class HttpSender:
    """Sends to the API at `url`; `shot`s as the gateway would get them."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT_S)

    def __call__(self, shot: Shot) -> Answer:
        """Return the answer. Raises OSError or HTTPException if there is none."""
        try:
            return self._answer(shot)
        except (OSError, http.client.HTTPException):
            # The next request opens another one.
            self._connection.close()
            raise

    def _answer(self, shot: Shot) -> Answer:
        self._connection.putrequest(shot.method, shot.target, skip_accept_encoding=True)
        self._connection.putheader("Content-Type", "application/json")
        self._connection.putheader("Content-Length", str(len(shot.body)))
        self._connection.endheaders(shot.body)
        answer = self._connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())
