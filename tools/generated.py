"""Writes the files that follow from the endpoints; with ``--check``, says which of them are out of date."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # so that "tools" is found, and tools/coverage.py is not taken for a library of that name

from crofter.edge import openapi  # noqa: E402
from crofter.registry import ENDPOINTS  # noqa: E402
from tools import commands, coverage, works_with  # noqa: E402


def files() -> dict[str, str]:
    """The content of each generated file, by its path."""
    return {
        "openapi.json": openapi.render(ENDPOINTS),
        "COVERAGE.md": coverage.render(ENDPOINTS, coverage.interface(), coverage.documented(ENDPOINTS)),
        commands.FILE: commands.render(json.loads(openapi.render(ENDPOINTS))),
        works_with.FILE: works_with.render(),
    }


def stale(root: Path = ROOT) -> list[str]:
    """The files that are not what they would be if written now."""
    return [name for name, text in files().items() if _read(root / name) != text]


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def main() -> None:
    if "--check" in sys.argv[1:]:
        if old := stale():
            sys.exit(f"out of date: {', '.join(old)}; run: make openapi")
        return
    for name, text in files().items():
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
