"""HTTP/1.1 servers on 127.0.0.1 that answer at once: buffered, kept alive, no Nagle delay."""

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, BinaryIO, cast

HOST = "127.0.0.1"

_log = logging.getLogger(__name__)
_STOP_S = 5
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_PIECE = 64 * 1024
# What an oversized body may send on before we hang up: a client that is cut off while it still
# writes sees a broken pipe and never the 413.
_DISCARD_FACTOR = 10


def free_port() -> int:
    """Return a port on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class BadBody(Exception):
    """The request's body is not framed as HTTP/1.1 says."""


class BodyTooLarge(Exception):
    """The request's body is over the limit; it was read to its end and dropped."""


class LoopbackHandler(BaseHTTPRequestHandler):
    """One connection. It never prints: request lines and bodies are private."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        pass

    def handle_expect_100(self) -> bool:
        accepted = super().handle_expect_100()
        self.wfile.flush()
        return accepted

    def answer(
        self, status: int, body: bytes = b"", headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Send a whole response; `Content-Length` is added."""
        bodiless = status in _BODILESS
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if not bodiless:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not bodiless and self.command != "HEAD":
            self.wfile.write(body)

    def read_body(self, limit: int) -> bytes:
        """The request's body, chunked or not.

        Raises BadBody, BodyTooLarge (over `limit` bytes); the connection closes after.
        """
        body = _Body(cast(BinaryIO, self.rfile), limit)
        try:
            if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
                body.read_chunks()
            else:
                body.read(_content_length(self.headers.get_all("Content-Length", [])))
        except (BadBody, BodyTooLarge):
            self.close_connection = True
            raise
        return body.whole()


class LoopbackServer(ThreadingHTTPServer):
    """A thread per connection; `stop` leaves neither a thread nor a socket behind."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, port: int, handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        """Raises OSError when the port is taken."""
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__((HOST, port), handler)
        self._stopping = False
        self._thread = threading.Thread(target=self._accept_connections, daemon=True)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def server_bind(self) -> None:
        # HTTPServer's own asks the resolver for the host's name, which can take seconds.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and cut the open connections; may be called twice."""
        self._stopping = True
        if self._thread.is_alive():
            # A call of our own ends the wait for the next one; closing the socket would not.
            with contextlib.suppress(OSError):
                socket.create_connection((HOST, self.port), timeout=_STOP_S).close()
            self._thread.join()
        self.server_close()
        with self._changed:
            for connection in self._open:
                _hang_up(connection)
            self._changed.wait_for(lambda: not self._open, timeout=_STOP_S)

    def _accept_connections(self) -> None:
        while not self._stopping:
            try:
                connection, address = self.get_request()
            except OSError:
                continue  # the caller gave up before we came to it
            if self._stopping:
                connection.close()
            else:
                self.process_request(connection, address)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A caller that hung up is its own affair; of anything else, the place but not the content.
        _log.debug("a connection broke", exc_info=True)


class _Body:
    """Collects up to `limit` bytes and discards what comes after them."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._size = 0
        self._pieces: list[bytes] = []

    def read(self, length: int) -> None:
        if self._size + length > self._limit * _DISCARD_FACTOR:
            raise BodyTooLarge
        while length > 0:
            piece = self._stream.read(min(length, _PIECE))
            if not piece:
                raise BadBody("the body ends early")
            length -= len(piece)
            self._size += len(piece)
            if self._size <= self._limit:
                self._pieces.append(piece)

    def read_chunks(self) -> None:
        while size := _chunk_size(self._stream.readline(1024)):
            self.read(size)
            if self._stream.read(2) != b"\r\n":
                raise BadBody("a chunk does not end where it says")
        while self._stream.readline(_PIECE) not in (b"\r\n", b"\n", b""):
            pass  # trailers

    def whole(self) -> bytes:
        if self._size > self._limit:
            raise BodyTooLarge
        return b"".join(self._pieces)


def _chunk_size(line: bytes) -> int:
    digits = line.split(b";", 1)[0].strip()
    if not digits or digits.strip(b"0123456789abcdefABCDEF"):
        raise BadBody("a chunk has no size")
    return int(digits, 16)


def _content_length(values: list[str]) -> int:
    if not values:
        return 0
    first = values[0].strip()
    if any(value.strip() != first for value in values) or not (first.isascii() and first.isdigit()):
        raise BadBody("Content-Length is not a length")
    return int(first)


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side was quicker
        connection.shutdown(socket.SHUT_RDWR)
