"""The base of all JSON: what is sent, what is shown, and the words that describe a field."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from crofter import clock

T = TypeVar("T")

__all__ = [
    "UNSET",
    "Body",
    "Filtered",
    "Id",
    "Moment",
    "Optional",
    "Page",
    "Raw",
    "Revealed",
    "Secret",
    "View",
    "field_type",
    "given",
]


class View(msgspec.Struct, gc=False):
    """What a caller is shown."""


class Body(msgspec.Struct, kw_only=True):
    """What a caller sends. Unknown and read-only fields are ignored."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"  # what is in it may be secret, and must not reach a log


class Page(View, Generic[T]):
    """One page of a collection."""

    data: list[T]
    page: int
    pages: int
    results: int


Filtered = Annotated[T, Meta(extra={"filterable": True}, extra_json_schema={"x-filterable": True})]
"""A field that ``X-Filter`` may name."""

Secret = Annotated[T, Meta(extra={"secret": True}, extra_json_schema={"writeOnly": True})]
"""What a caller sends and nobody is ever shown: kept sealed or hashed if at all, and never written down anywhere."""

Revealed = Annotated[T, Meta(extra={"secret": True})]
"""A secret that the answer which makes it shows, and no other."""

Optional = Union[T, UnsetType]  # noqa: UP007 - an alias with a variable
"""A field of an update: left as it is unless sent."""

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
    """The inspected type of one field of a struct."""
    info = msgspec.inspect.type_info(annotation)
    assert isinstance(info, msgspec.inspect.StructType)
    return next(field.type for field in info.fields if field.name == name)
