"""The OpenAPI document of all endpoints, which takes a second to write: once for all tests that read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crofter import __version__
from crofter.dialect.described import described
from crofter.dialect.file import load
from crofter.edge import openapi
from crofter.registry import ENDPOINTS

DOCUMENT: dict[str, Any] = openapi.document(ENDPOINTS, __version__)

DIALECT = """
[words]
compute = "wug"

[[answers]]
path = "/v4/*"
method = "GET"
field = "data[].extra"
add = 0

[[answers]]
path = "/v4/compute/instances/{computeId}"
field = "placement"
add = { id = 7 }

[[answers]]
path = "/v4/account/payment-methods/*"
field = "extra"
add = 0
"""


def text_in_a_dialect(folder: Path) -> str:
    """Return the document as a server with another word and with answers of its own serves it, in JSON."""
    file = folder / "dialect.toml"
    file.write_text(DIALECT)
    dialect = load(str(file), ENDPOINTS)
    assert dialect.words is not None
    return described(dialect.words.outward(openapi.render(ENDPOINTS)), dialect)
