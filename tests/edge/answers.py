"""Answers as bytes, over a bare connection."""

from __future__ import annotations

import json
import socket
from typing import Any, NamedTuple
from urllib.parse import urlsplit

CLOSED = 0
"""In place of a status: the server hung up without a word."""

FIXED = {
    "x-spec-version": "4.115.0",
    "vary": "Authorization, X-Filter",
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "HEAD, GET, OPTIONS, POST, PUT, DELETE",
    "access-control-allow-headers": "Authorization, Origin, X-Requested-With, Content-Type, Accept, X-Filter, "
    "Idempotency-Key, Prefer, If-Match, If-None-Match, Last-Event-ID",
    "access-control-expose-headers": "X-OAuth-Scopes, X-Accepted-OAuth-Scopes, X-Status, ETag, X-Request-Id, "
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Event-Id, Idempotent-Replayed",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "x-xss-protection": "1; mode=block",
    "content-security-policy": "default-src 'none'",
}
"""Headers that every answer has."""


class Raw(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def connect(url: str, *, timeout: float = 20, peer: str = "") -> socket.socket:
    """``peer``: the address to come from, if that matters."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    return socket.create_connection((parts.hostname, parts.port), timeout=timeout, source_address=(peer, 0))


def send(url: str, content: bytes) -> Raw:
    """Send bytes as they are, and read one answer. Raises TimeoutError when none comes."""
    with connect(url) as connection:
        try:
            connection.sendall(content)
        except ConnectionError:
            pass  # refused before it was read to its end; the answer may still be there
        return receive(connection)


def receive(connection: socket.socket) -> Raw:
    """Read a complete response from a connection."""
    read = connection.makefile("rb")
    try:
        start = read.readline()
        if not start:
            return Raw(CLOSED, {}, b"")
        headers: dict[str, str] = {}
        while line := read.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = read.read(int(headers["content-length"])) if "content-length" in headers else b""
    except ConnectionError:
        return Raw(CLOSED, {}, b"")
    return Raw(int(start.split()[1]), headers, body)


def request(
    method: str,
    path: str,
    *,
    token: str | None = None,
    body: bytes | str = b"",
    headers: tuple[bytes, ...] = (),
    content_type: str | None = "application/json",
    length: int | str | None = None,
) -> bytes:
    """The bytes of a request, however wrong."""
    content = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    lines = [f"{method} {path} HTTP/1.1".encode("latin-1"), b"Host: 127.0.0.1"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}".encode())
    if content and content_type is not None:
        lines.append(f"Content-Type: {content_type}".encode())
    if content or length is not None:
        lines.append(b"Content-Length: %s" % str(len(content) if length is None else length).encode())
    return b"\r\n".join([*lines, *headers, b"", b""]) + content
