"""The OpenAPI document of all endpoints, which takes a second to write: once for all tests that read it."""

from __future__ import annotations

from typing import Any

from crofter import __version__
from crofter.edge import openapi
from crofter.registry import ENDPOINTS

DOCUMENT: dict[str, Any] = openapi.document(ENDPOINTS, __version__)
