"""Arguments of a handler: body, query and headers of the request."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from crofter.context import Context
from crofter.edge import bodies
from crofter.edge.endpoint import Endpoint
from crofter.edge.json_reader import read_json
from crofter.edge.partial_validation import all_reasons
from crofter.edge.problems import UnsupportedMediaType
from crofter.errors import Invalid, Problem, Reason
from crofter.results import Upload
from crofter.shapes import Body

_HOST = re.compile(r"[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


class Request(msgspec.Struct, gc=False):
    method: str
    path: bytes
    query: bytes
    headers: dict[bytes, bytes]
    body: bytes
    address: str
    id: str
    scheme: str = "http"
    waited: float = 0.0
    """Seconds that the request waited for its rate limit."""


def origin_of(scheme: str, host: str) -> str:
    """The address that the client itself used, as far as it can be one; else nothing."""
    return f"{scheme}://{host}" if _HOST.fullmatch(host) else ""


class Deferred:
    """The body, read before the transaction begins; what is wrong with it is said after the object was found."""

    __slots__ = ("_also", "_name", "_problem", "_read", "_value")

    def __init__(self, endpoint: Endpoint, request: Request) -> None:
        self._name: str | None = endpoint.upload or endpoint.body_name or None
        self._also = endpoint.also
        self._value: Body | Upload | None = None
        self._read: bodies.Read[Body] | None = None
        self._problem: Problem | None = None
        try:
            content_type = request.headers.get(b"content-type", b"").decode("latin-1")
            if endpoint.upload:
                if endpoint.accepts and content_type and _bare(content_type) not in endpoint.accepts:
                    raise UnsupportedMediaType(remedy=f"Send {' or '.join(endpoint.accepts)}.")
                self._value = endpoint.upload_type(content_type, request.body)
            else:
                self._read = _read_json(endpoint, content_type, request.body)
        except Problem as problem:
            self._problem = problem

    def into(self, arguments: dict[str, Any], ctx: Context) -> None:
        if self._problem is not None:
            raise self._problem
        if self._read is not None:
            self._value = self._read.value(None if self._also is None else partial(self._also, ctx))
        if self._name is not None:
            arguments[self._name] = self._value

    def refusal(self, problem: Invalid, attempt: Callable[[dict[str, Any]], object]) -> Invalid:
        """The problem, with all that is wrong with the rest of the body."""
        name = self._name
        if self._read is None or name is None:
            return problem
        return all_reasons(self._read, problem, lambda rest: attempt({name: rest}))

    def fields(self) -> list[str]:
        """The names of what was sent."""
        return [] if self._read is None else self._read.fields


def _bare(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _read_json(endpoint: Endpoint, content_type: str, raw: bytes) -> bodies.Read[Body] | None:
    if raw and content_type and _bare(content_type) != "application/json":
        raise UnsupportedMediaType(remedy="Send the body as application/json.")
    if endpoint.body is None:
        read_json(raw)  # an action without a body ignores what is sent, but it must be JSON
        return None
    return bodies.Read(raw, endpoint.body, endpoint.read_only)


def read_query(endpoint: Endpoint, request: Request, arguments: dict[str, Any]) -> None:
    sent = dict(parse_qsl(request.query.decode("latin-1"), keep_blank_values=True)) if request.query else {}
    reasons: list[Reason] = []
    for parameter in endpoint.query:
        value = sent.get(parameter.name)
        if parameter.header is not None and (header := request.headers.get(parameter.header.encode())) is not None:
            value = header.decode("latin-1")
        if value is None:
            continue
        if parameter.type is int:
            if not (value.isascii() and value.removeprefix("-").isdigit() and len(value) < 19):
                reasons.append(Reason("Must be of type Integer", parameter.name))
                continue
            arguments[parameter.name] = number = int(value)
            if not parameter.low <= number <= parameter.high:
                reasons.append(Reason(f"Must be {parameter.low}-{parameter.high}", parameter.name))
        else:
            arguments[parameter.name] = value
    if reasons:
        raise Invalid.all(reasons)
