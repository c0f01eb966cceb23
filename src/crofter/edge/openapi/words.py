"""Descriptions of fields and path parameters that their types lack.

A description in the type comes first, then the description for a field of one schema, then the description for all
fields of a name.
"""

from __future__ import annotations

from typing import Any

from crofter.edge.openapi.field_words import FIELDS, OF_SCHEMA, SCHEMAS

ID_WORDS = "Identifies the object."
"""Description in the type of every id, which is too general for the id of another object."""

PARTS = {
    "address": "An IP address.",
    "app_id": "Identifies the authorized application.",
    "client_id": "Identifies the OAuth client.",
    "compute_id": "Identifies the instance.",
    "filename": "The name of the file.",
    "key_id": "Identifies the SSH key.",
    "label": "The label of the tag.",
    "month": "The month, 1 to 12.",
    "token": "Identifies the transfer.",
    "type_id": "Identifies the type of instances.",
    "username": "The name of the user.",
    "year": "The year, of four digits.",
}


def part_words(name: str) -> str:
    """Return the description of a path parameter: ``Identifies the payment method.`` for ``payment_method_id``."""
    words = name.removesuffix("_id").replace("_", " ")
    return PARTS.get(name) or (f"Identifies the {words}." if name.endswith("_id") else f"The {words}.")


def describe(components: dict[str, dict[str, Any]]) -> None:
    """Give each schema and each field without a description the words that are known for it."""
    for name, schema in components.items():
        if not schema.get("description") and name in SCHEMAS:
            schema["description"] = SCHEMAS[name]
        _describe_fields(schema, name)


def _describe_fields(schema: dict[str, Any], owner: str) -> None:
    for name, field in schema.get("properties", {}).items():
        description = field.get("description", "")
        first, _, default = description.partition("Default: ")
        if not first or (first.strip() == ID_WORDS and name != "id"):
            words = OF_SCHEMA.get(f"{owner}.{name}") or _of_page(owner, name) or FIELDS.get(name) or first.strip()
            described = f"{words} Default: {default}" if default and words else words or description
            if described:
                field["description"] = described
        _describe_fields(field, f"{owner}.{name}")


def _of_page(owner: str, name: str) -> str | None:
    pages = {
        "data": "The items of this page.",
        "page": "Which page this is, from 1.",
        "pages": "How many pages there are.",
        "results": "How many items there are on all pages.",
    }
    return pages.get(name) if owner.endswith("Page") else None
