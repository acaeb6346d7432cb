"""A request as it is fired, and the words that no error may repeat."""

import base64
import binascii
from dataclasses import dataclass, replace

# An id, so that it can be sent as one, too.
CANARY = "Kanarienvogel-7f3a"


@dataclass(frozen=True, slots=True)
class Shot:
    """`source` says what kind of request it is; `target` is ASCII, percent-encoded where need be.

    With `encoded` the function is handed that as the base64 of a body, whatever it is.
    """

    source: str
    method: str
    target: str
    body: bytes = b""
    encoded: str | None = None

    def plain(self) -> "Shot":
        """Return what can be sent over HTTP: there it is the gateway that encodes.

        The local stack's server makes one slash of those that a target begins with.
        """
        body = self.body if self.encoded is None else self.encoded.encode()
        return replace(self, target=f"/{self.target.lstrip('/')}", body=body, encoded=None)

    def received(self) -> str | None:
        """Return the body as the function should read it; None if it cannot be read at all."""
        try:
            if self.encoded is None:
                return self.body.decode()
            return base64.b64decode(self.encoded, validate=True).decode()
        except (binascii.Error, ValueError):
            return None
