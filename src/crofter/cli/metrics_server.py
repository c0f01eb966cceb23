"""A port of its own for metrics and health: for workers, and for each of several processes that share one port."""

from __future__ import annotations

import errno
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from crofter.assembly import Application, numbers
from crofter.config import Settings
from crofter.edge import mounts

TEXT = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"


def cannot_listen(error: OSError, host: str, port: int, purpose: str = "") -> OSError:
    """Return an error that names the address, the reason, and the setting to change."""
    flag = f"--{purpose.strip()}-port" if purpose else "--port"
    setting = "--host" if not purpose else "CROFTER_METRICS_HOST"
    reason = {
        errno.EADDRINUSE: "another program uses it. Stop that program, or choose another port with "
        f"{flag}; 0 takes a free one",
        errno.EACCES: f"ports below 1024 are for root. Choose another port with {flag}",
        errno.EADDRNOTAVAIL: f"{error.strerror}. Give an address of this machine with {setting}",
    }.get(error.errno or 0, error.strerror)
    return OSError(f"cannot listen on {purpose}port {port} of {host}: {reason}")


class MetricsServer:
    """Answers in threads of its own, so that it does while the process is busy."""

    def __init__(self, settings: Settings, place: int = 0) -> None:
        port = settings.metrics_port or 0
        port += place if port else 0
        family = socket.AF_INET6 if ":" in settings.metrics_host else socket.AF_INET
        bound = type("BoundServer", (ThreadingHTTPServer,), {"address_family": family, "daemon_threads": True})
        try:
            self._server: ThreadingHTTPServer = bound((settings.metrics_host, port), _Handler)
        except OSError as error:
            raise cannot_listen(error, settings.metrics_host, port, "metrics ") from None
        self.port: int = self._server.server_address[1]

    def start(self, application: Application) -> None:
        self._server.application = application  # type: ignore[attr-defined]
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # seconds until a request must have arrived, so that a slow client cannot hold a thread
    server_version = "crofter"
    sys_version = ""

    def do_GET(self) -> None:
        status, body, content_type, *_ = self._page(self.path.partition("?")[0].rstrip("/"))
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def _page(self, path: str) -> tuple[Any, ...]:
        application: Application = self.server.application  # type: ignore[attr-defined]
        if path == "/metrics":
            return 200, numbers(application), TEXT
        if path == "/health/live":
            return 200, b'{"status":"ok"}', JSON
        if path == "/health/ready":
            return mounts.readiness(application.readiness)
        return 404, b'{"errors":[{"reason":"Not found"}]}', JSON

    def log_message(self, format: str, *_values: Any) -> None:
        """Log nothing: a line for each scrape is noise."""
