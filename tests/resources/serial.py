"""A client of serial consoles: a web socket on a bare connection."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from httpx2 import Client
from msgspec import Struct
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    RejectData,
    Request,
)

from tests.cloud import Cloud
from tests.edge.answers import connect
from tests.resources.compute import INSTANCES


class Closed(Struct, frozen=True):
    """How a socket ended: a status, if it never opened."""

    code: int
    reason: str


class Terminal:
    """Terminal of a user on a console."""

    def __init__(self, url: str, token: str, *, peer: str = "") -> None:
        self.connection = connect(url, peer=peer)
        self.shown = b""
        self.closed: Closed | None = None
        self._socket = WSConnection(ConnectionType.CLIENT)
        self._send(Request(host=urlsplit(url).netloc, target=f"/lish/{token}"))
        self.opened = False
        while not self.opened and self.closed is None:
            self._receive()

    def type(self, text: str) -> None:
        self.send(text.encode())

    def send(self, content: bytes, *, whole: bool = True) -> None:
        self._send(BytesMessage(content, message_finished=whole))

    def expect(self, text: str) -> str:
        """Wait for a text; all that was shown up to it, and since the last one that was waited for."""
        wanted = text.encode()
        while wanted not in self.shown:
            assert self.closed is None, (self.closed, self.shown)
            self._receive()
        before, _, self.shown = self.shown.partition(wanted)
        return (before + wanted).decode()

    def end(self) -> Closed:
        while self.closed is None:
            self._receive()
        return self.closed

    def close(self) -> None:
        self.connection.close()

    def _send(self, event: Event) -> None:
        self.connection.sendall(self._socket.send(event))

    def _receive(self) -> None:
        try:
            received = self.connection.recv(65536)
        except ConnectionResetError:
            received = b""
        self._socket.receive_data(received or None)
        for event in self._socket.events():
            self._happened(event)
        if not received and self.closed is None:
            self.closed = Closed(0, "")

    def _happened(self, event: Event) -> None:
        if isinstance(event, AcceptConnection):
            self.opened = True
        elif isinstance(event, BytesMessage):
            self.shown += event.data
        elif isinstance(event, Ping):
            self._send(event.response())
        elif isinstance(event, CloseConnection):
            self.closed = Closed(event.code, event.reason or "")
        elif isinstance(event, RejectConnection):
            self.closed = Closed(event.status_code, "") if not event.has_body else None
            self._status = event.status_code
        elif isinstance(event, RejectData):
            self.shown += bytes(event.data)
            if event.body_finished:
                self.closed = Closed(self._status, self.shown.decode())


def token_of(client: Client, compute_id: int) -> str:
    answer = client.post(f"{INSTANCES}/{compute_id}/lish_token")
    assert answer.status_code == 200, answer.text
    return str(answer.json()["lish_token"])


@contextmanager
def joined(cloud: Cloud, token: str) -> Iterator[Terminal]:
    terminal = Terminal(cloud.url, token)
    try:
        yield terminal
    finally:
        terminal.close()


def sign_in(terminal: Terminal) -> None:
    """To a simulated system, as root."""
    terminal.expect(" login: ")
    terminal.type("root\r")
    terminal.expect("Password: ")
    terminal.type("anything\r")
    terminal.expect("# ")


def linger(connection: socket.socket) -> None:
    """Read nothing, and have next to no space for what is sent."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
