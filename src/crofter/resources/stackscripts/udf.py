"""User-defined fields: parameters of a script, in lines such as ``# <UDF name="port" label="Port" />``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from crofter.errors import Reason

MAX_FIELDS = 100
MAX_VALUE = 65535
ATTRIBUTES = {"name", "label", "example", "default", "oneof", "manyof"}
_TAG = re.compile(r"<udf\b(?P<attributes>(?:\s+\w+\s*=\s*(?:\"[^\"]*\"|'[^']*'))+)\s*/?>", re.IGNORECASE)
_BEGUN = re.compile(r"<udf\s+\w", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class UdfError(ValueError):
    """A script's user-defined fields cannot be understood. The text says where, and why."""


class UserDefinedField(Struct, frozen=True, omit_defaults=True, rename={"one_of": "oneOf", "many_of": "manyOf"}):
    """A parameter of a script. Missing attributes are omitted."""

    label: str
    name: str
    example: str
    one_of: str | UnsetType = UNSET
    many_of: str | UnsetType = UNSET
    default: str | UnsetType = UNSET


def parse(script: str) -> list[UserDefinedField]:
    """Return the fields of a script in order; raises UdfError."""
    fields: dict[str, UserDefinedField] = {}
    for number, line in enumerate(script.splitlines(), 1):
        tags = _TAG.findall(line)
        if not tags and _BEGUN.search(line):
            raise UdfError(f"Line {number}: the UDF tag cannot be read")
        for attributes in tags:
            field = _field(attributes, number)
            if field.name in fields:
                raise UdfError(f"Line {number}: there is another UDF with the name {field.name}")
            fields[field.name] = field
    if len(fields) > MAX_FIELDS:
        raise UdfError(f"There are more than {MAX_FIELDS} UDFs")
    return list(fields.values())


def _field(attributes: str, number: int) -> UserDefinedField:
    attribute_values = {name.lower(): double or single for name, double, single in _ATTRIBUTE.findall(attributes)}
    unknown = sorted(set(attribute_values) - ATTRIBUTES)
    if unknown:
        raise UdfError(f"Line {number}: a UDF has no {unknown[0]}")
    name = attribute_values.get("name", "")
    if not _NAME.match(name):
        raise UdfError(f"Line {number}: the name of a UDF must be letters, digits and underscores, and no digit first")
    if not attribute_values.get("label"):
        raise UdfError(f"Line {number}: the UDF {name} has no label")
    if "oneof" in attribute_values and "manyof" in attribute_values:
        raise UdfError(f"Line {number}: the UDF {name} has both oneof and manyof")
    for choice in ("oneof", "manyof"):
        if choice in attribute_values and not all(_options(attribute_values[choice])):
            raise UdfError(f"Line {number}: an option of the UDF {name} is empty")
    return UserDefinedField(
        label=attribute_values["label"],
        name=name,
        example=attribute_values.get("example", ""),
        one_of=attribute_values.get("oneof", UNSET),
        many_of=attribute_values.get("manyof", UNSET),
        default=attribute_values.get("default", UNSET),
    )


def complaints(fields: Sequence[UserDefinedField], data: Mapping[str, Any]) -> Iterator[Reason]:
    """Return the problems of the data of a deployment. Unknown fields are ignored."""
    for field in fields:
        value = data.get(field.name)
        if value is None or (value == "" and field.default is UNSET):
            reason = f"{field.name} is required" if field.default is UNSET else None
        else:
            reason = _complaint(field, value)
        if reason is not None:
            yield Reason(reason, f"stackscript_data.{field.name}")


def _complaint(field: UserDefinedField, value: Any) -> str | None:
    if not isinstance(value, str):
        return "Must be of type String"
    if len(value) > MAX_VALUE:
        return f"Length must be 0-{MAX_VALUE} characters"
    if isinstance(field.one_of, str) and value not in (options := _options(field.one_of)):
        return "Must be one of " + ", ".join(options)
    if isinstance(field.many_of, str) and value:
        options = _options(field.many_of)
        if not set(_options(value)) <= set(options):
            return "Must be one of " + ", ".join(options)
    return None


def values(fields: Sequence[UserDefinedField], data: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment of the script: given values, otherwise defaults."""
    environment = {}
    for field in fields:
        given = data.get(field.name)
        environment[field.name] = given if isinstance(given, str) else field.default or ""
    return environment


def _options(listed: str) -> list[str]:
    return [option.strip() for option in listed.split(",")]
