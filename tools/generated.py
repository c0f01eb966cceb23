"""Writes the files that follow from the endpoints; with ``--check``, says which of them are out of date.

``--examples`` first records the examples of the OpenAPI document anew, which takes some seconds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # makes "tools" importable, and keeps tools/coverage.py from hiding a library of that name

from crofter.edge import openapi  # noqa: E402
from crofter.registry import ENDPOINTS  # noqa: E402
from tools import commands, coverage, schema, scopes, works_with  # noqa: E402


def files() -> dict[str, str]:
    """The content of each generated file, by its path. The examples are compared by tests/test_schemathesis.py."""
    return {
        "openapi.json": openapi.render(ENDPOINTS),
        "COVERAGE.md": coverage.render(ENDPOINTS, coverage.interface(), coverage.documented(ENDPOINTS)),
        commands.FILE: commands.render(json.loads(openapi.render(ENDPOINTS))),
        works_with.FILE: works_with.render(),
        scopes.FILE: scopes.render(ENDPOINTS),
        schema.FILE: schema.render(),
    }


def stale(root: Path = ROOT) -> list[str]:
    """The files that are not what they would be if written now."""
    return [name for name, text in files().items() if _read(root / name) != text]


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def _write_examples() -> None:
    """Write the examples first: the OpenAPI document contains them."""
    from tools.life import record  # noqa: PLC0415 - it brings a whole server along

    (ROOT / record.FILE).write_text(record.text(), encoding="utf-8")


def main() -> None:
    if "--check" in sys.argv[1:]:
        if old := stale():
            sys.exit(f"out of date: {', '.join(old)}; run: make openapi")
        return
    if "--examples" in sys.argv[1:]:
        _write_examples()
    for name, text in files().items():
        (ROOT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
