"""The base of all JSON: what is sent, what is shown, and the words that describe a field."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from crofter import clock
from crofter.region_settings import HOST_SUFFIX

T = TypeVar("T")

__all__ = [
    "UNSET",
    "Address",
    "Body",
    "EntityId",
    "Filtered",
    "HostName",
    "Id",
    "Moment",
    "Optional",
    "Page",
    "Raw",
    "Revealed",
    "Secret",
    "View",
    "Word",
    "Words",
    "field_type",
    "given",
    "word",
]


class View(msgspec.Struct, gc=False):
    """Base of response bodies."""


class Body(msgspec.Struct, kw_only=True):
    """Base of request bodies. Unknown and read-only fields are ignored.

    A body declared with ``forbid_unknown_fields=True`` refuses unknown fields: an unknown limit must not be left out of
    a credential.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"  # values may be secret and must not reach a log


class Page(View, Generic[T]):
    """A page of a collection."""

    data: list[T]
    page: int
    pages: int
    results: int


Filtered = Annotated[T, Meta(extra={"filterable": True}, extra_json_schema={"x-filterable": True})]
"""A field that ``X-Filter`` may name."""

Secret = Annotated[T, Meta(extra={"secret": True}, extra_json_schema={"writeOnly": True})]
"""A request field that is never answered back: stored sealed or hashed, if at all, and never logged."""

Revealed = Annotated[T, Meta(extra={"secret": True})]
"""A secret that the answer which makes it shows, and no other."""

Optional = Union[T, UnsetType]  # noqa: UP007 - an alias with a variable
"""A field of an update: left as it is unless sent."""


class WordMark(msgspec.Struct, frozen=True):
    """Where in a text words of the interface stand, which a dialect gives other names."""

    starts: tuple[str, ...] = ()
    """Behind which beginnings of the text."""
    capital: bool = False
    """True if the word is capitalised there."""
    pattern: str = ""
    """Pattern at the beginning, after which the rule applies."""
    where: str = ""
    """Only if this JSON follows further on in the same object."""
    suffix: str = ""
    """Ending of the text in which the rule applies."""
    anywhere: bool = False
    whole: bool = False
    """True if a filter value without a slash changes, provided that it is the word and nothing more."""


def word(*starts: str, **more: Any) -> Meta:
    """Say of a text that words of the interface stand in it. All other texts are what people wrote: nothing changes
    them.
    """
    return Meta(extra={"word": WordMark(starts, **more)})


Word = Annotated[T, word("")]
"""A text that begins with a word of the interface: the id of an image, an action, a kind of object."""

EntityId = Annotated[T, word("", where='"type":"image"')]
"""The id of an object of any kind: that of an image has a word in it, and that of a tag is what people wrote."""

Words = Annotated[T, word(anywhere=True)]
"""A text of the interface, or a list of them: scopes, capabilities."""

Address = Annotated[T, word("/v4/", "/v4/images/")]
"""Where an object is viewed."""

HostName = Annotated[T, word(suffix=f".{HOST_SUFFIX}")]
"""The name of an address: by default one under the domain of this server."""

Moment = Annotated[
    str,
    Meta(
        description="A UTC date-time.",
        examples=["2026-03-01T12:00:00"],
        extra={"moment": True},
        extra_json_schema={"format": "date-time"},
    ),
]

Id = Annotated[int, Meta(ge=1, le=2**63 - 1, description="Identifies the object.")]


def given(body: Body, *names: str) -> dict[str, Any]:
    """The fields of an update that were sent."""
    fields = names or type(body).__struct_fields__
    return {name: value for name in fields if (value := getattr(body, name)) is not UNSET}


def moment_in(value: str) -> int:
    """A date-time that a caller sent, in milliseconds; raises ValueError."""
    return clock.parse(value)


def field_type(annotation: Any, name: str) -> Any:
    """Return the inspected type of a struct's field."""
    info = msgspec.inspect.type_info(annotation)
    assert isinstance(info, msgspec.inspect.StructType)
    return next(field.type for field in info.fields if field.name == name)
