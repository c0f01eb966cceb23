"""What the house offers, in files that an operator can copy, edit and add to."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

BUILT_IN = Path(__file__).parent


class CatalogueError(Exception):
    """A catalogue file cannot be used. The text says which, and why."""


def read(name: str, folder: str | None) -> dict[str, Any]:
    """The file ``name`` of the operator's folder if it is there, else the built-in one."""
    own = Path(folder) / name if folder else None
    path = own if own is not None and own.exists() else BUILT_IN / name
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{path}: {error}") from error
