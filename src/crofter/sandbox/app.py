"""The HTTP side of the sandbox API: JSON in and out, without a token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from crofter.edge import bodies
from crofter.edge.json_reader import read_object
from crofter.edge.mounts import by_path, refuse, reply
from crofter.edge.problems import Fault
from crofter.edge.receiving import Gone, read_body
from crofter.errors import Problem
from crofter.sandbox import access
from crofter.sandbox.control import SandboxControl
from crofter.sandbox.shapes import Advance, NewAccount, NewSnapshot, NewToken, Settle
from crofter.shapes import Body

log = logging.getLogger("crofter")

Route = tuple[type[Body] | type[bytes] | None, Callable[..., Any]]
"""Body of a call: a shape, any object (``Body``), bytes, or none."""


class SandboxApp:
    """Each call by path and method, with the body that it takes."""

    def __init__(self, control: SandboxControl) -> None:
        self._settings = control.runtime.settings
        self._routes: dict[str, dict[str, Route]] = {
            "/_sandbox": {"GET": (None, control.state)},
            "/_sandbox/reset": {"POST": (None, control.reset)},
            "/_sandbox/accounts": {"POST": (NewAccount, control.open_account)},
            "/_sandbox/tokens": {"POST": (NewToken, control.issue_token)},
            "/_sandbox/clock": {"GET": (None, control.clock)},
            "/_sandbox/clock/freeze": {"POST": (None, control.freeze)},
            "/_sandbox/clock/thaw": {"POST": (None, control.thaw)},
            "/_sandbox/clock/advance": {"POST": (Advance, control.advance)},
            "/_sandbox/clock/tick": {"POST": (None, control.tick)},
            "/_sandbox/settle": {"POST": (Settle, control.settle)},
            "/_sandbox/transitions": {"GET": (None, control.transitions), "PUT": (Body, control.set_transitions)},
            "/_sandbox/faults": {
                "GET": (None, control.list_faults),
                "POST": (bytes, control.add_fault),
                "DELETE": (None, control.clear_faults),
            },
            "/_sandbox/outbox": {"GET": (None, control.outbox)},
            "/_sandbox/snapshots": {
                "GET": (None, control.list_snapshots),
                "POST": (NewSnapshot, control.take_snapshot),
            },
            "/_sandbox/snapshots/{name}": {"DELETE": (None, control.delete_snapshot)},
            "/_sandbox/snapshots/{name}/restore": {"POST": (None, control.restore_snapshot)},
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            sent = dict(scope["headers"])
            access.check(self._settings, scope, sent)
            path, names = _with_name(scope["path"])
            shape, call = by_path(self._routes, scope["method"], path)
            raw = await read_body(receive, sent) if scope["method"] not in ("GET", "HEAD") else b""
            answer = await asyncio.get_running_loop().run_in_executor(None, _run, shape, partial(call, *names), raw)
            await reply(send, 200, answer)
        except Problem as problem:
            await refuse(send, problem)
        except Gone:
            pass
        except Exception:
            log.exception("the sandbox API failed")
            await refuse(send, Fault())


def _with_name(path: str) -> tuple[str, list[str]]:
    """The path as the table has it, and the name of a snapshot that is in it."""
    parts = path.rstrip("/").split("/")
    if parts[1:3] != ["_sandbox", "snapshots"] or len(parts) < 4:
        return path, []
    return "/".join([*parts[:3], "{name}", *parts[4:]]), [parts[3]]


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
