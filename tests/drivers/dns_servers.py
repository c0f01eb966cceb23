"""Name servers for tests: real ones of this machine, if it has any, and strangers that mean no good."""

from __future__ import annotations

import shutil
import socket
import socketserver
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype

BINARIES = {"bind": "named", "nsd": "nsd", "knot": "knotd"}
PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def binary(server: str) -> str | None:
    return shutil.which(BINARIES[server], path=PATH)


class RealServer:
    """BIND, NSD or Knot with a configuration of its own, on a port of its own, serving all that is in a folder."""

    def __init__(self, server: str, home: Path) -> None:
        self.server, self.home, self.zones = server, home, home / "zones"
        self.zones.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        program = binary(server)
        assert program is not None
        self._words = [program, *getattr(self, f"_{server}")()]
        self._process: subprocess.Popen[bytes] | None = None

    def _bind(self) -> list[str]:
        config = self.home / "named.conf"
        config.write_text(
            f'options {{ directory "{self.home}"; listen-on port {self.port} {{ 127.0.0.1; }};'
            f" listen-on-v6 {{ none; }}; recursion no; dnssec-validation no;"
            f' pid-file "{self.home}/pid"; session-keyfile "{self.home}/session.key";'
            f' managed-keys-directory "{self.home}"; }};\n'
            f'controls {{ }};\ninclude "{self.zones}/*.conf";\n'
        )
        return ["-g", "-c", str(config), "-n", "1"]

    def _nsd(self) -> list[str]:
        config = self.home / "nsd.conf"
        config.write_text(
            f'server:\n ip-address: 127.0.0.1@{self.port}\n pidfile: "{self.home}/pid"\n username: ""\n'
            f' zonesdir: "{self.zones}"\n database: ""\n xfrdfile: "{self.home}/xfrd"\n'
            f' zonelistfile: "{self.home}/list"\n'
            f' xfrdir: "{self.home}"\n cookie-secret-file: ""\nremote-control:\n control-enable: yes\n'
            f' control-interface: "{self.home}/control"\n'
            f'include: "{self.zones}/*.conf"\n'
        )
        return ["-d", "-c", str(config)]

    def _knot(self) -> list[str]:
        config = self.home / "knot.conf"
        config.write_text(
            f'server:\n  listen: 127.0.0.1@{self.port}\n  rundir: "{self.home}"\n  pidfile: "{self.home}/pid"\n'
            f'database:\n  storage: "{self.home}"\nlog:\n  - target: stderr\n    any: warning\n'
            f'include: "{self.zones}/*.conf"\n'
        )
        return ["-c", str(config)]

    @property
    def reload(self) -> str:
        assert self._process is not None
        if self.server == "nsd":
            control = f"nsd-control -c {self.home}/nsd.conf"
            return f"{control} reconfig ; {control} reload"
        return f"kill -HUP {self._process.pid}"

    def start(self) -> None:
        with (self.home / "log").open("wb") as log:
            self._process = subprocess.Popen(self._words, stdout=log, stderr=log, cwd=self.home)
        self.until(lambda: self.ask("version.bind", "TXT") is not None)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)

    def until(self, seen: Callable[[], bool], seconds: float = 15.0) -> None:
        end = time.monotonic() + seconds
        while not seen():
            assert self._process is not None
            assert self._process.poll() is None, (self.home / "log").read_text()
            assert time.monotonic() < end, (self.home / "log").read_text()
            time.sleep(0.1)

    def ask(self, name: str, kind: str) -> list[str] | None:
        """Return the response as text; None without a response, empty if the zone is not served."""
        query = dns.message.make_query(name, kind)
        try:
            answer = dns.query.udp(query, "127.0.0.1", port=self.port, timeout=1.0)
        except (OSError, dns.exception.DNSException):
            return None
        if answer.rcode() != dns.rcode.NOERROR:
            return []
        return [data.to_text() for rrset in answer.answer for data in rrset]

    def serial(self, name: str) -> int | None:
        answer = self.ask(name, "SOA")
        return int(answer[0].split()[2]) if answer else None


Behaviour = Callable[[socket.socket, dns.message.Message], None]


@contextmanager
def stranger(behaviour: Behaviour) -> Iterator[str]:
    """A server that does this with each question; how a caller names it."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                (length,) = struct.unpack("!H", self.request.recv(2))
                behaviour(self.request, dns.message.from_wire(self.request.recv(length)))
            except (OSError, struct.error):
                pass  # the client has disconnected

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def framed(wire: bytes) -> bytes:
    return struct.pack("!H", len(wire)) + wire
