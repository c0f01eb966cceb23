"""Table of faults: HTTP calls that fail, and the faults of resources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from crofter.context import Runtime
from crofter.db import meta
from crofter.edge import bodies
from crofter.edge.json_reader import read_object
from crofter.errors import Invalid
from crofter.faults import FaultKind
from crofter.sandbox.shapes import HttpFault

TABLE = "faults"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
NO_PATH = "No operation has this path. It must be *, or a whole path such as /v4/tags without a query"
NO_METHOD = "No operation has this method. It must be *, or a method of the path such as GET"


class Held(msgspec.Struct):
    """Active faults of the server. HTTP faults belong to a process and its memory."""

    last: int = 0
    faults: list[dict[str, Any]] = []


class Faults:
    def __init__(
        self,
        runtime: Runtime,
        kinds: Sequence[FaultKind] = (),
        serves: Callable[[str, str], bool] = lambda _method, _path: True,
    ) -> None:
        """``serves``: True if the server has an operation with this method and path."""
        self._runtime = runtime
        self._serves = serves
        self._kinds = {kind.name: kind for kind in kinds}
        self._calls: dict[int, HttpFault] = {}
        self._left: dict[int, int] = {}
        self._lock = threading.Lock()

    # calls for the sandbox API

    def add(self, raw: bytes) -> int:
        """Start a fault and return its number."""
        name = read_object(raw).get("kind")
        if name is None:
            raise Invalid("kind is required", field="kind")
        if name == "http":
            return self._add_call(bodies.decode(raw, HttpFault))
        kind = self._kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise Invalid("Must be one of " + ", ".join(["http", *self._kinds]), field="kind")
        body = bodies.decode(raw, kind.body)
        kind.start(self._runtime, body)
        return self._enter(kind, msgspec.to_builtins(body))

    def listed(self) -> list[dict[str, Any]]:
        with self._runtime.database.read() as db:
            held = _held(meta.get(db, TABLE)).faults
        with self._lock:
            calls = [
                {"id": number, **msgspec.to_builtins(fault), "left": self._left[number]}
                for number, fault in self._calls.items()
            ]
        return sorted(held + calls, key=lambda fault: int(fault["id"]))

    def clear(self) -> None:
        """Remove all faults."""
        self.forget()
        for kind in self._kinds.values():
            if kind.clear is not None:
                kind.clear(self._runtime)
        with self._runtime.database.write() as db:
            meta.put(db, TABLE, msgspec.to_builtins(Held(_held(meta.get(db, TABLE)).last)))

    def forget(self) -> None:
        """Drop what this process keeps in memory, when the rest went with the database."""
        with self._lock:
            self._calls.clear()
            self._left.clear()

    def in_memory(self) -> list[dict[str, Any]]:
        """Return the faults of this process with their remaining counts."""
        with self._lock:
            return [
                {"id": number, "fault": msgspec.to_builtins(fault), "left": self._left[number]}
                for number, fault in self._calls.items()
            ]

    def take_up(self, kept: list[dict[str, Any]]) -> None:
        """Keep what was kept then."""
        with self._lock:
            self._calls = {entry["id"]: msgspec.convert(entry["fault"], HttpFault) for entry in kept}
            self._left = {entry["id"]: entry["left"] for entry in kept}

    def _enter(self, kind: FaultKind | None, body: dict[str, Any]) -> int:
        """A number for a fault, and its line in the table while it lasts."""
        with self._runtime.database.write() as db:
            held = _held(meta.get(db, TABLE))
            held.last += 1
            if kind is not None:
                held.faults = [fault for fault in held.faults if not _replaces(kind, body, fault)]
                if kind.clear is not None:
                    held.faults.append({"id": held.last, "kind": kind.name, **body})
            meta.put(db, TABLE, msgspec.to_builtins(held))
        return held.last

    # ---- faults of HTTP ---------------------------------------------------------------------------------------------

    def _add_call(self, fault: HttpFault) -> int:
        self._must_match(fault)
        number = self._enter(None, {})
        with self._lock:
            self._calls[number] = fault
            self._left[number] = fault.times
        return number

    def _must_match(self, fault: HttpFault) -> None:
        """Refuse a fault whose method and path belong to no operation."""
        wanted = fault.method.upper()
        if fault.path != "*" and ("{" in fault.path or not any(self._serves(name, fault.path) for name in METHODS)):
            raise Invalid(NO_PATH, field="path")
        if wanted != "*" and (wanted not in METHODS or (fault.path != "*" and not self._serves(wanted, fault.path))):
            raise Invalid(NO_METHOD, field="method")

    def strike(self, method: str, path: str) -> int | None:
        """The status that this call must answer with, if a fault waits for it."""
        if not self._calls:
            return None
        with self._lock:
            for number, fault in self._calls.items():
                if fault.method.upper() in ("*", method) and fault.path.rstrip("/") in ("*", path.rstrip("/")):
                    self._left[number] -= 1
                    if not self._left[number]:
                        del self._calls[number], self._left[number]
                    return fault.status
        return None


def _held(stored: Any) -> Held:
    return Held() if stored is None else msgspec.convert(stored, Held)


def _replaces(kind: FaultKind, body: dict[str, Any], fault: dict[str, Any]) -> bool:
    """True if a new fault replaces an older entry: the same again, or its end."""
    if fault["kind"] not in (kind.name, *kind.ends):
        return False
    names = [name for name in body if name in fault] if fault["kind"] in kind.ends else kind.same
    return bool(names) and all(body.get(name) == fault.get(name) for name in names)
