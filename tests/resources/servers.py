"""Real servers on this machine that go down and come up: what monitoring looks at in tests."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Server:
    """Answers every connection with the same bytes; at the same port whenever it is up."""

    def __init__(self, reply: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") -> None:
        self.reply = reply
        self.visits = 0
        self.visited = threading.Event()
        self._listening: socket.socket | None = None
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, args=(self._listening,), daemon=True).start()

    def stop(self) -> None:
        if self._listening is not None:
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            with peer, suppress(OSError):
                self.visits += 1
                self.visited.set()
                peer.settimeout(2)
                if self.reply:
                    peer.recv(4096)
                    peer.sendall(self.reply)
