"""The HTTP side of the sandbox API: no token, loopback peers only, JSON in and out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from crofter.config import is_loopback
from crofter.edge import bodies
from crofter.edge.json_reader import read_object
from crofter.edge.mounts import by_path, refuse, reply
from crofter.edge.problems import Fault
from crofter.edge.receiving import Gone, read_body
from crofter.errors import Forbidden, Problem
from crofter.sandbox.control import SandboxControl
from crofter.sandbox.shapes import Advance, NewAccount, NewToken, Settle
from crofter.shapes import Body

log = logging.getLogger("crofter")

Route = tuple[type[Body] | type[bytes] | None, Callable[..., Any]]
"""What a call takes: a shape, any object (``Body``), the bytes themselves, or nothing."""

_PROXIED = (b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"forwarded", b"via")
"""What proxies add to a request."""
_OWN_PAGES = (b"same-origin", b"none")
"""What a browser says of a request of our own page, and of an address that a person has typed."""
_PORTS = {"http": 80, "https": 443}


class SandboxApp:
    """Each call by path and method, with the body that it takes."""

    def __init__(self, control: SandboxControl) -> None:
        self._routes: dict[str, dict[str, Route]] = {
            "/_sandbox": {"GET": (None, control.state)},
            "/_sandbox/reset": {"POST": (None, control.reset)},
            "/_sandbox/accounts": {"POST": (NewAccount, control.open_account)},
            "/_sandbox/tokens": {"POST": (NewToken, control.issue_token)},
            "/_sandbox/clock": {"GET": (None, control.clock)},
            "/_sandbox/clock/freeze": {"POST": (None, control.freeze)},
            "/_sandbox/clock/thaw": {"POST": (None, control.thaw)},
            "/_sandbox/clock/advance": {"POST": (Advance, control.advance)},
            "/_sandbox/settle": {"POST": (Settle, control.settle)},
            "/_sandbox/transitions": {"GET": (None, control.transitions), "PUT": (Body, control.set_transitions)},
            "/_sandbox/faults": {
                "GET": (None, control.list_faults),
                "POST": (bytes, control.add_fault),
                "DELETE": (None, control.clear_faults),
            },
            "/_sandbox/outbox": {"GET": (None, control.outbox)},
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            sent = dict(scope["headers"])
            _check_peer(scope, sent)
            shape, call = by_path(self._routes, scope["method"], scope["path"])
            raw = await read_body(receive, sent) if scope["method"] not in ("GET", "HEAD") else b""
            answer = await asyncio.get_running_loop().run_in_executor(None, _run, shape, call, raw)
            await reply(send, 200, answer)
        except Problem as problem:
            await refuse(send, problem)
        except Gone:
            pass
        except Exception:
            log.exception("the sandbox API failed")
            await refuse(send, Fault())


def _run(shape: type[Body] | type[bytes] | None, call: Callable[..., Any], raw: bytes) -> bytes:
    if shape is None:
        result = call()
    elif issubclass(shape, bytes):
        result = call(raw)
    elif shape is Body:
        result = call(read_object(raw))
    else:
        result = call(bodies.decode(raw, shape))
    return b"{}" if result is None else msgspec.json.encode(result)


def _check_peer(scope: Any, sent: dict[bytes, bytes]) -> None:
    """Whoever is on this machine may use it; a web page of anybody else's, open in a browser here, may not."""
    client = scope.get("client")
    if client is not None and not is_loopback(client[0]):
        raise Forbidden
    # A proxy on this machine would bring everybody here who reaches the proxy.
    if any(name in sent for name in _PROXIED):
        raise Forbidden
    if sent.get(b"sec-fetch-site", b"same-origin") not in _OWN_PAGES:
        raise Forbidden
    host = _origin(f"{scope.get('scheme', 'http')}://{sent[b'host'].decode('latin-1')}") if sent.get(b"host") else None
    if sent.get(b"host") and not (host and is_loopback(host[1])):
        raise Forbidden
    # Not every page of this machine either: another port is another program's, or another person's.
    if b"origin" in sent and (host is None or _origin(sent[b"origin"].decode("latin-1")) != host):
        raise Forbidden


def _origin(text: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address, or None where there is none."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname and port else None
