"""A row of the interface as a line of code: the record behind ``@endpoint``."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Set
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar, Literal, TypeVar

from msgspec import Meta, Struct

from crofter.context import Context
from crofter.edge.listing import Listing
from crofter.errors import Problem, Reason
from crofter.results import ReadAfterCommit, TwoPhaseWrite, Upload
from crofter.scopes import ANY_TOKEN, NO_TOKEN, READ, WRITE
from crofter.shapes import Body, Page

F = TypeVar("F", bound=Callable[..., Any])

MAX_JSON = 1024 * 1024


class Lookup:
    """How a path names an object: who looks it up, and by which parts of the path.

    ``of``: the attribute of what is found that says on which object a grant is needed, such as ``compute_id``, where
    the path does not.
    """

    def __init__(self, find: Callable[..., Any], *parts: str, of: str | None = None) -> None:
        self.find = find
        self.parts = parts
        self.of = of

    @cached_property
    def types(self) -> dict[str, type]:
        """Return the type of each path parameter."""
        hints = typing.get_type_hints(self.find)
        return {part: hints.get(part, str) for part in self.parts}


Complaints = Callable[[Context, dict[str, Any], Set[str]], Iterable[Reason]]
"""From what was sent and is of the right shape, and the names of what is not, to what else is wrong."""


class Header(Struct, frozen=True):
    """Marks a parameter that comes from a header rather than from the query."""

    name: str


class QueryParameter(Struct, frozen=True):
    name: str
    type: type
    default: Any
    header: str | None = None
    description: str = ""
    low: int = -(10**17) + 1
    high: int = 10**18 - 1
    """The numbers that it takes: of 18 characters, unless its type says less."""


class NoEvents(tuple[str, ...]):
    """Declaration that a write leaves no events, with the reason."""

    reason: str

    def __new__(cls, reason: str) -> NoEvents:
        """Return an empty tuple of actions that carries the reason."""
        declared = super().__new__(cls)
        declared.reason = reason
        return declared


class Options(Struct, kw_only=True, eq=False):
    """Options of ``@endpoint``."""

    scope: str
    """``none`` for public, ``*`` for any token, else the scope of the interface."""
    grant: str
    """Required grant of a restricted user: ``any`` (none), ``unrestricted`` (restricted users are refused),
    ``account:read_only``, a global grant such as ``add_computes``, or a permission on the object of the path such as
    ``compute:read_write``.
    """
    deprecated: str | None = None
    """Replacement of a deprecated operation."""
    rate: str = "general"
    weight: int = 1
    """Number of requests that a call counts as in the general limit: expensive operations count more."""
    waits: bool = False
    """True if ``?wait=`` delays the response until the list has items."""
    events: tuple[str, ...] = ()
    """Actions of the events that a write may leave. A write without events declares ``NoEvents`` with the reason."""
    accepts: tuple[str, ...] = ()
    """The content types of an Upload."""
    replies: tuple[str, ...] = ()
    """The content types of a Reply."""
    refuses: tuple[type[Problem], ...] = ()
    """With what it may be refused, beyond what its signature and its scope imply."""
    slow: bool = False
    """A read that takes long, and must not hold up the others."""
    catalogue: Literal["", "everybody", "strangers"] = ""
    """Callers that the cached catalogue serves while the database is unavailable. Strangers have no token."""
    also: Complaints | None = None
    """Additional checks of a body, reported together with problems of its shape."""
    closes_account: bool = False
    """True if the operation ends the caller's token; the stored response is still returned to that token."""
    max_body: int = MAX_JSON
    page_sizes: tuple[int, int] = (1, 500)


class Endpoint(Options, eq=False, dict=True):
    """An operation of the interface, with the data for the edge, OpenAPI and the tests."""

    row: str
    handler: Callable[..., Any]

    # Read from the handler's signature on first access: this would be a tenth of the start time.
    answers: ClassVar[Any]
    parts: ClassVar[dict[str, type]]
    lookups: ClassVar[dict[str, Lookup]]
    body: ClassVar[type[Body] | None]
    upload: ClassVar[str | None]
    upload_type: ClassVar[type[Upload]]
    body_name: ClassVar[str]
    listing: ClassVar[str | None]
    plain: ClassVar[list[str]]
    query: ClassVar[list[QueryParameter]]

    def __post_init__(self) -> None:
        self.method, path = self.row.split(" ", 1)
        version, _, self.path = path[1:].partition("/")
        self.beta = version == "v4beta"
        self.name: str = self.handler.__name__
        self.tag: str = self.handler.__globals__.get("TAG", self.handler.__module__.split(".")[-2])
        """The group of the description that it is in: what its module says in ``TAG``, else its package."""
        self.summary = (inspect.getdoc(self.handler) or "").strip()
        self.writes = self.method in ("POST", "PUT", "DELETE")
        self._check()

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there yet. All of it comes at once, so that no other thread meets half of it.
        if name not in Signature.__slots__:
            raise AttributeError(f"an endpoint has no {name}")
        signature = Signature(self)
        self.__dict__.update({part: getattr(signature, part) for part in Signature.__slots__})
        return self.__dict__[name]

    @property
    def public(self) -> bool:
        return self.scope == NO_TOKEN

    @property
    def scopes(self) -> tuple[str, ...]:
        return () if self.scope in (NO_TOKEN, ANY_TOKEN) else tuple(self.scope.split())

    def _check(self) -> None:
        """Check the declaration. A route that does not declare its permissions stops the start."""
        where = f"{self.method} {self.path}"
        if not self.summary:
            raise TypeError(f"{where}: an endpoint needs a docstring, it is shown to callers")
        for scope in self.scopes:
            if scope.partition(":")[2] not in (READ, WRITE):
                raise TypeError(f"{where}: {scope!r} is not a scope")
        if self.writes and not self.events and not getattr(self.events, "reason", ""):
            raise TypeError(f"{where}: a write declares its events, or NoEvents with a reason")
        if self.weight < 1:
            raise TypeError(f"{where}: every request counts, so a weight is 1 or more")
        kind, _, level = self.grant.partition(":")
        if level and level not in (READ, WRITE):
            raise TypeError(f"{where}: {self.grant!r} is not a grant")
        if level and kind != "account" and f"{{{kind}_id}}" not in self.path:
            self._check_lookups(where, kind)

    def _check_lookups(self, where: str, kind: str) -> None:
        if f"{kind}_id" not in {*self.parts, *(lookup.of for lookup in self.lookups.values())}:
            raise TypeError(f"{where}: a grant on {kind} needs {kind}_id in the path")

    @property
    def asks_hosts(self) -> bool:
        return getattr(self.handler, "asks_hosts", False)

    @cached_property
    def read_only(self) -> frozenset[str]:
        """Names that the answer shows and the body does not take."""
        shown = getattr(self.answers, "__struct_encode_fields__", ())
        return frozenset(shown) - frozenset(getattr(self.body, "__struct_encode_fields__", ()))

    @property
    def item(self) -> Any:
        """The view of one item of the collection that is answered, if a collection is."""
        return typing.get_args(self.answers)[0] if typing.get_origin(self.answers) is Page else None


class Signature:
    """Arguments and response of a handler, read from its annotations."""

    __slots__ = (
        "answers",
        "body",
        "body_name",
        "listing",
        "lookups",
        "parts",
        "plain",
        "query",
        "upload",
        "upload_type",
    )

    def __init__(self, endpoint: Endpoint) -> None:
        hints = typing.get_type_hints(endpoint.handler, include_extras=True)
        self.answers: Any = hints.pop("return", None)
        if typing.get_origin(self.answers) is ReadAfterCommit and endpoint.method == "POST":
            raise TypeError(f"{endpoint.name}: what an Idempotency-Key is answered with is kept in the transaction")
        if typing.get_origin(self.answers) in (TwoPhaseWrite, ReadAfterCommit):
            (self.answers,) = typing.get_args(self.answers)
        hints.pop("ctx", None)
        parts = [segment.strip("{}") for segment in endpoint.path.split("/") if segment.startswith("{")]
        self.parts: dict[str, type] = dict.fromkeys((part.partition(":")[0] for part in parts), str)
        self.lookups: dict[str, Lookup] = {}
        self.body: type[Body] | None = None
        self.upload: str | None = None
        self.upload_type: type[Upload] = Upload
        self.body_name = ""
        self.listing: str | None = None
        self.plain: list[str] = []
        self.query: list[QueryParameter] = []
        defaults = inspect.signature(endpoint.handler).parameters
        for name, hint in hints.items():
            self._argument(name, hint, defaults[name].default)

    def _argument(self, name: str, hint: Any, default: Any) -> None:
        lookup = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Lookup)), None)
        if lookup is not None:
            self.lookups[name] = lookup
            self.parts.update(lookup.types)
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
            self.query.append(QueryParameter(name, _plain_type(hint), default, header, words, **_bounds(hint)))


def _plain_type(hint: Any) -> type:
    """The type of a query parameter: ``int`` of ``int | None``."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _plain_type(next(option for option in typing.get_args(hint) if option is not type(None)))
    if typing.get_origin(hint) is typing.Annotated:
        return _plain_type(typing.get_args(hint)[0])
    assert isinstance(hint, type)
    return hint


def _bounds(hint: Any) -> dict[str, int]:
    """Return the bounds in the type of a query parameter, including nested types."""
    bounds: dict[str, int] = {}
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, Meta):
            bounds |= {name: int(end) for name, end in (("low", extra.ge), ("high", extra.le)) if end is not None}
    for inner in typing.get_args(hint):
        bounds |= _bounds(inner)
    return bounds


class endpoint(Options, eq=False):  # noqa: N801 - reads as the decorator that it is
    """Declare one operation: ``@endpoint("GET /v4/tags", scope=…, grant=…)``."""

    row: str

    def __call__(self, handler: F) -> F:
        options = {name: getattr(self, name) for name in Options.__struct_fields__}
        handler.endpoint = Endpoint(self.row, handler, **options)  # type: ignore[attr-defined]
        return handler


def asks_hosts(handler: F) -> F:
    """Mark an endpoint that queries hosts of instances during the request, through a port with a time limit."""
    handler.asks_hosts = True  # type: ignore[attr-defined]
    return handler


def endpoints_of(module: ModuleType) -> list[Endpoint]:
    """The endpoints that a resource's ``api`` declares, in the order of the file."""
    declared = (getattr(value, "endpoint", None) for value in vars(module).values())
    return [
        endpoint
        for endpoint in declared
        if isinstance(endpoint, Endpoint) and endpoint.handler.__module__ == module.__name__
    ]
