"""HTTP/1.1 over loopback for the clients of tests: real sockets and connections that are kept, and a parser in C.

The transport that comes with the client takes a third of all processor time of a test, mostly for what is not needed
here: certificates, proxies, other versions of HTTP.
"""

from __future__ import annotations

import socket
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httptools
import httpx2

PATIENCE = 120
"""Seconds after which a server is taken to hang. Nothing is judged by it: a busy machine may take its time."""
_CHUNK = 1 << 16
_CHUNKED = (b"transfer-encoding", b"chunked")
Idle = deque[socket.socket]
"""Connections to one server that wait for their next request."""


class _Answer(httpx2.SyncByteStream):
    """A response that is read on demand. A completely read one returns its connection."""

    def __init__(self, connection: socket.socket, idle: Idle, *, bodiless: bool) -> None:
        self._connection: socket.socket | None = connection
        self._idle = idle
        self._bodiless = bodiless
        self._parser: Any = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._begun = self._whole = self._reusable = False
        self.headers: list[tuple[bytes, bytes]] = []
        while not self._begun:
            self._receive()
        self.status = int(self._parser.get_status_code())

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._begun = True
        self._reusable = self._parser.should_keep_alive()  # known to the parser only now
        self._whole = self._bodiless

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)

    def on_message_complete(self) -> None:
        self._whole = True

    def _receive(self) -> None:
        assert self._connection is not None
        try:
            received = self._connection.recv(_CHUNK)
        except TimeoutError as slow:
            raise httpx2.ReadTimeout("timed out") from slow
        except OSError as broken:
            raise httpx2.ReadError(str(broken)) from broken
        if not received:
            raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
        try:
            self._parser.feed_data(received)
        except httptools.HttpParserError as wrong:
            raise httpx2.RemoteProtocolError(str(wrong)) from wrong

    def __iter__(self) -> Iterator[bytes]:
        while self._parts or not self._whole:
            if not self._parts:
                self._receive()
            parts, self._parts = self._parts, []
            yield from parts

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._whole and self._reusable:
            self._idle.append(connection)
        else:
            connection.close()


class Loopback(httpx2.BaseTransport):
    """For servers of this machine that do not encrypt. Threads may share it; each request has a connection alone."""

    def __init__(self) -> None:
        self._idle: defaultdict[str, Idle] = defaultdict(deque)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        patience = request.extensions.get("timeout", {})
        idle = self._idle[request.url.netloc.decode()]
        connection = self._kept(idle) or self._opened(request.url, patience.get("connect"))
        connection.settimeout(patience.get("read"))
        try:
            self._send(connection, request)
            answer = _Answer(connection, idle, bodiless=request.method == "HEAD")
        except BaseException:
            connection.close()
            raise
        return httpx2.Response(answer.status, headers=answer.headers, stream=answer)

    def close(self) -> None:
        for idle in self._idle.values():
            while idle:
                idle.pop().close()

    @staticmethod
    def _kept(idle: Idle) -> socket.socket | None:
        """A connection that is open still, which is one that has nothing to say."""
        while idle:
            try:
                connection = idle.pop()
            except IndexError:
                return None  # another thread was quicker
            try:
                connection.settimeout(0)
                connection.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return connection
            except OSError:
                pass
            connection.close()
        return None

    @staticmethod
    def _opened(url: httpx2.URL, timeout: float | None) -> socket.socket:
        assert url.scheme == "http"
        try:
            connection = socket.create_connection((url.host, url.port or 80), timeout)
        except TimeoutError as slow:
            raise httpx2.ConnectTimeout("timed out") from slow
        except OSError as refused:
            raise httpx2.ConnectError(str(refused)) from refused
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    @staticmethod
    def _send(connection: socket.socket, request: httpx2.Request) -> None:
        raw = request.headers.raw
        lines = [b"%s %s HTTP/1.1\r\n" % (request.method.encode(), request.url.raw_path)]
        lines += [b"%s: %s\r\n" % header for header in raw]
        unsent = b"".join([*lines, b"\r\n"])
        chunked = any((name.lower(), value) == _CHUNKED for name, value in raw)
        assert isinstance(request.stream, httpx2.SyncByteStream)
        try:
            for part in request.stream:
                unsent += b"%x\r\n%s\r\n" % (len(part), part) if chunked and part else part
                connection.sendall(unsent)
                unsent = b""
            if chunked or unsent:
                connection.sendall(unsent + b"0\r\n\r\n" * chunked)
        except TimeoutError as slow:
            raise httpx2.WriteTimeout("timed out") from slow
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may refuse and close before the whole body was sent; the response is readable
        except OSError as broken:
            raise httpx2.WriteError(str(broken)) from broken


class Client(httpx2.Client):
    """Client for servers on this machine. Rare features such as redirects are loaded only when used."""

    def __init__(self, base_url: str, headers: dict[str, str], transport: httpx2.BaseTransport) -> None:
        super().__init__(base_url=base_url, headers=headers, timeout=PATIENCE, transport=transport)
        self._merged: dict[Any, httpx2.URL] = {}
        self._straight = transport

    def _merge_url(self, url: Any) -> httpx2.URL:
        """Cache merged addresses: parsing takes a third of a request's time here."""
        if url not in self._merged:
            self._merged[url] = super()._merge_url(url)
        return self._merged[url]

    def send(
        self, request: httpx2.Request, *, stream: bool = False, auth: Any = None, follow_redirects: Any = False
    ) -> httpx2.Response:
        if stream or isinstance(auth, tuple) or follow_redirects is True or self.follow_redirects:
            return super().send(request, stream=stream, auth=auth, follow_redirects=follow_redirects)
        began = time.monotonic()
        response = self._straight.handle_request(request)
        response.request = request
        response.read()
        response.elapsed = timedelta(seconds=time.monotonic() - began)
        if "set-cookie" in response.headers:
            self.cookies.extract_cookies(response)
        return response
