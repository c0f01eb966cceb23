"""A row of the interface as a line of code: the record behind ``@endpoint``."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Set
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Meta, Struct

from crofter.context import Context
from crofter.edge.listing import Listing
from crofter.errors import Problem, Reason
from crofter.scopes import ANY_TOKEN, NO_TOKEN, READ, WRITE
from crofter.shapes import Body, Page

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

MAX_JSON = 1024 * 1024


class Lookup:
    """How a path names an object: who looks it up, and by which parts of the path."""

    def __init__(self, find: Callable[..., Any], *parts: str) -> None:
        self.find = find
        self.parts = parts
        hints = typing.get_type_hints(find)
        self.types = {part: hints.get(part, str) for part in parts}


class Upload(Struct, frozen=True):
    """A body that is not JSON, as it came. A subclass may read it, which happens before the transaction begins."""

    heard_out: ClassVar[bool] = False
    """Whether one that is too long is heard to its end and given in part, for the handler to say so; 413 otherwise."""

    content_type: str
    content: bytes


class Pieces(Struct, frozen=True):
    """A file that is read while it is sent: as a whole it would wait in memory for a client that does not read."""

    size: int
    read: Callable[[Context, int, int], bytes]
    """At most so many bytes of it, from a position on."""


class Reply(Struct, frozen=True):
    """An answer that is not JSON."""

    content: bytes | Pieces
    content_type: str
    headers: tuple[tuple[str, str], ...] = ()


class TwoPhaseWrite(Struct, Generic[T], frozen=True):
    """An answer that needs the world outside: what was written so far is committed, then ``call`` is made, then
    ``then`` writes down what came of it. Whoever is interrupted in between is found by the intent in the first part.
    A Problem that ``then`` returns is answered as such, and what it wrote down stays written.
    """

    call: Callable[[], Any]
    then: Callable[[Context, Any], T | Problem]
    cost: Callable[[Context], tuple[int, int]] = lambda _ctx: (0, 0)
    """How the account's rates will change, in micro-dollars by the hour and by the month: for plans."""


class ReadAfterCommit(Struct, Generic[T], frozen=True):
    """An answer that goes through all that the account has: looked up when the change is committed, so that the next
    writer need not wait for it.
    """

    look: Callable[[Context], T]


Complaints = Callable[[Context, dict[str, Any], Set[str]], Iterable[Reason]]
"""From what was sent and is of the right shape, and the names of what is not, to what else is wrong."""


class NoContent(Struct, frozen=True):
    """Nothing to say, and it says so: 204."""


Frame = tuple[str | None, str, bytes]
"""The id that a client resumes from, the name of the event, and its JSON."""


class Stream(Struct, frozen=True):
    """An answer without an end: each item is looked up when its topic is heard."""

    topic: str
    fetch: Callable[[Context, Any], tuple[list[Frame], Any]]
    """From where the stream stands to what is new, and where it stands then."""
    start: Any


class Header(Struct, frozen=True):
    """Marks a parameter that comes from a header rather than from the query."""

    name: str


class QueryParameter(Struct, frozen=True):
    name: str
    type: type
    default: Any
    header: str | None = None
    description: str = ""


class Endpoint:
    """One operation of the interface, with all that the edge, OpenAPI and the tests need to know of it."""

    def __init__(self, row: str, handler: Callable[..., Any], options: dict[str, Any]) -> None:
        self.method, path = row.split(" ", 1)
        version, _, self.path = path[1:].partition("/")
        self.beta = version == "v4beta"
        self.scope: str = options["scope"]
        self.grant: str = options["grant"]
        self.deprecated: str | None = options["deprecated"]
        self.rate: str = options["rate"]
        self.waits: bool = options["waits"]
        self.events: tuple[str, ...] = options["events"]
        self.accepts: tuple[str, ...] = options["accepts"]
        self.replies: tuple[str, ...] = options["replies"]
        self.slow: bool = options["slow"]
        self.also: Complaints | None = options["also"]
        self.max_body: int = options["max_body"]
        self.page_sizes: tuple[int, int] = options["page_sizes"]
        self.handler = handler
        self.name = handler.__name__
        self.tag = handler.__module__.split(".")[-2]
        self.summary = (inspect.getdoc(handler) or "").strip()
        self.writes = self.method in ("POST", "PUT", "DELETE")
        self._read_signature()
        self._check()

    @property
    def public(self) -> bool:
        return self.scope == NO_TOKEN

    @property
    def scopes(self) -> tuple[str, ...]:
        return () if self.scope in (NO_TOKEN, ANY_TOKEN) else tuple(self.scope.split())

    def _read_signature(self) -> None:
        hints = typing.get_type_hints(self.handler, include_extras=True)
        self.answers = hints.pop("return", None)
        if typing.get_origin(self.answers) is ReadAfterCommit and self.method == "POST":
            raise TypeError(f"{self.name}: what an Idempotency-Key is answered with is kept in the transaction")
        if typing.get_origin(self.answers) in (TwoPhaseWrite, ReadAfterCommit):
            (self.answers,) = typing.get_args(self.answers)
        hints.pop("ctx", None)
        parts = [segment.strip("{}") for segment in self.path.split("/") if segment.startswith("{")]
        self.parts: dict[str, type] = dict.fromkeys((part.partition(":")[0] for part in parts), str)
        self.lookups: dict[str, Lookup] = {}
        self.body: type[Body] | None = None
        self.upload: str | None = None
        self.upload_type: type[Upload] = Upload
        self.body_name = ""
        self.listing: str | None = None
        self.plain: list[str] = []
        self.query: list[QueryParameter] = []
        defaults = inspect.signature(self.handler).parameters
        for name, hint in hints.items():
            self._argument(name, hint, defaults[name].default)

    def _argument(self, name: str, hint: Any, default: Any) -> None:
        found = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Lookup)), None)
        if found is not None:
            self.lookups[name] = found
            self.parts.update(found.types)
        elif name in self.parts:
            self.parts[name] = hint
            self.plain.append(name)
        elif hint is Listing:
            self.listing = name
        elif isinstance(hint, type) and issubclass(hint, Upload):
            self.upload, self.upload_type = name, hint
        elif isinstance(hint, type) and issubclass(hint, Body):
            self.body, self.body_name = hint, name
        else:
            extras = getattr(hint, "__metadata__", ())
            header = next((extra.name for extra in extras if isinstance(extra, Header)), None)
            words = next((extra.description or "" for extra in extras if isinstance(extra, Meta)), "")
            self.query.append(QueryParameter(name, _plain_type(hint), default, header, words))

    def _check(self) -> None:
        """What a row must say. A route that does not declare who may use it does not start."""
        where = f"{self.method} {self.path}"
        if not self.summary:
            raise TypeError(f"{where}: an endpoint needs a docstring, it is shown to callers")
        for scope in self.scopes:
            if scope.partition(":")[2] not in (READ, WRITE):
                raise TypeError(f"{where}: {scope!r} is not a scope")
        kind, _, level = self.grant.partition(":")
        if level and level not in (READ, WRITE):
            raise TypeError(f"{where}: {self.grant!r} is not a grant")
        if level and kind != "account" and f"{kind}_id" not in self.parts:
            raise TypeError(f"{where}: a grant on {kind} needs {kind}_id in the path")

    @property
    def item(self) -> Any:
        """The view of one item of the collection that is answered, if a collection is."""
        return typing.get_args(self.answers)[0] if typing.get_origin(self.answers) is Page else None


def _plain_type(hint: Any) -> type:
    """The type of a query parameter: ``int`` of ``int | None``."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _plain_type(next(option for option in typing.get_args(hint) if option is not type(None)))
    if typing.get_origin(hint) is typing.Annotated:
        return _plain_type(typing.get_args(hint)[0])
    assert isinstance(hint, type)
    return hint


def endpoint(
    row: str,
    *,
    scope: str,
    grant: str,
    deprecated: str | None = None,
    rate: str = "general",
    waits: bool = False,
    events: tuple[str, ...] = (),
    accepts: tuple[str, ...] = (),
    replies: tuple[str, ...] = (),
    slow: bool = False,
    also: Complaints | None = None,
    max_body: int = MAX_JSON,
    page_sizes: tuple[int, int] = (1, 500),
) -> Callable[[F], F]:
    """Declare one operation.

    ``scope``: ``none`` for public, ``*`` for any token, else the scope of the interface.
    ``grant``: what a restricted user needs: ``any`` (nothing), ``unrestricted`` (cannot), ``account:read_only``,
    a global grant such as ``add_computes``, or a permission on the object of the path such as ``compute:read_write``.
    ``deprecated``: what replaces it. ``events``: the actions it may leave in the event log.
    ``replies``: the content types of a Reply. ``slow``: a read that takes long, and must not hold up the others.
    ``also``: what else may be wrong with a body, said together with what is wrong with its shape.
    """
    options = {
        "scope": scope,
        "grant": grant,
        "deprecated": deprecated,
        "rate": rate,
        "waits": waits,
        "events": events,
        "accepts": accepts,
        "replies": replies,
        "slow": slow,
        "also": also,
        "max_body": max_body,
        "page_sizes": page_sizes,
    }

    def declare(handler: F) -> F:
        handler.endpoint = Endpoint(row, handler, options)  # type: ignore[attr-defined]
        return handler

    return declare


def endpoints_of(module: ModuleType) -> list[Endpoint]:
    """The endpoints that a resource's ``api`` declares, in the order of the file."""
    declared = (getattr(value, "endpoint", None) for value in vars(module).values())
    return [one for one in declared if isinstance(one, Endpoint) and one.handler.__module__ == module.__name__]
