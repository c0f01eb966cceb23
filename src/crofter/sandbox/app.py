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
from crofter.edge.mounts import reply
from crofter.edge.problems import Fault, MethodNotAllowed, body_of, status_of
from crofter.edge.receiving import Gone, read_body
from crofter.errors import Forbidden, Invalid, NotFound, Problem
from crofter.sandbox.control import SandboxControl
from crofter.sandbox.shapes import Advance, NewAccount, NewToken, Settle
from crofter.shapes import Body

log = logging.getLogger("crofter")

Route = tuple[type[Body] | type[bytes] | None, Callable[..., Any]]
"""What a call takes: a shape, any object (``Body``), the bytes themselves, or nothing."""


class SandboxApp:
    """Each call by path and method, with the body that it takes."""

    def __init__(self, control: SandboxControl) -> None:
        self._desk = control
        self._routes: dict[str, dict[str, Route]] = {
            "": {"GET": (None, control.state)},
            "reset": {"POST": (None, control.reset)},
            "accounts": {"POST": (NewAccount, control.open_account)},
            "tokens": {"POST": (NewToken, control.issue_token)},
            "clock": {"GET": (None, control.clock)},
            "clock/freeze": {"POST": (None, control.freeze)},
            "clock/thaw": {"POST": (None, control.thaw)},
            "clock/advance": {"POST": (Advance, control.advance)},
            "settle": {"POST": (Settle, control.settle)},
            "transitions": {"GET": (None, control.transitions), "PUT": (Body, control.set_transitions)},
            "faults": {
                "GET": (None, control.list_faults),
                "POST": (bytes, control.add_fault),
                "DELETE": (None, control.clear_faults),
            },
            "outbox": {"GET": (None, control.outbox)},
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            sent = dict(scope["headers"])
            _check_peer(scope, sent)
            path = scope["path"].removeprefix("/_sandbox").strip("/")
            methods = self._routes.get(path)
            if methods is None:
                raise NotFound
            if scope["method"] not in methods:
                raise MethodNotAllowed
            shape, call = methods[scope["method"]]
            raw = await read_body(receive, sent) if scope["method"] != "GET" else b""
            answer = await asyncio.get_running_loop().run_in_executor(None, _run, shape, call, raw)
            await reply(send, 200, answer)
        except Problem as problem:
            await reply(send, status_of(problem), body_of(problem.reasons))
        except Gone:
            pass
        except Exception:
            log.exception("the sandbox API failed")
            await reply(send, 500, body_of(Fault().reasons))


def _run(shape: type[Body] | type[bytes] | None, call: Callable[..., Any], raw: bytes) -> bytes:
    if shape is None:
        result = call()
    elif issubclass(shape, bytes):
        result = call(raw)
    elif shape is Body:
        table = bodies.parse(raw)
        if not isinstance(table, dict):
            raise Invalid("Must be of type Object")
        result = call(table)
    else:
        result = call(bodies.decode(raw, shape))
    return b"{}" if result is None else msgspec.json.encode(result)


def _check_peer(scope: Any, sent: dict[bytes, bytes]) -> None:
    """Whoever is on this machine may use the door; a web page of somebody else's, open in a browser here, may not."""
    client = scope.get("client")
    if client is not None and not is_loopback(client[0]):
        raise Forbidden
    for name in (b"origin", b"host"):
        value = sent.get(name, b"").decode("latin-1")
        host = urlsplit(value if "//" in value else f"//{value}").hostname if value else None
        if value and not (host and is_loopback(host)):
            raise Forbidden
