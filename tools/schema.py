"""The schema as SQL, one file per database: what a release freezes into a migration."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import crofter.assembly  # noqa: F401 - all of the server, and so every table
from crofter.db import compiling
from crofter.db.schema import MIGRATIONS

UNRELEASED = "0001_foundation"
"""The revision that is still written anew from the tables. Once it is released, databases have it, and it is frozen."""


def statements(dialect: str) -> list[str]:
    """Everything that makes the present schema on an empty database."""
    made = groupby(compiling.schema(dialect), _is_index)
    return [statement for index, run in made for statement in (sorted(run) if index else run)]


def _is_index(statement: str) -> bool:
    """A table's indexes come in any order; in a file that is read in diffs they have one."""
    return statement.startswith(("CREATE INDEX", "CREATE UNIQUE INDEX"))


def files(name: str = UNRELEASED) -> dict[str, str]:
    """The content of each file of a revision, by its name."""
    return {f"{name}.{dialect}.sql": "\n--;\n".join(statements(dialect)) + "\n" for dialect in compiling.URLS}


def stale(versions: Path = MIGRATIONS / "versions") -> list[str]:
    """The files that are not what they would be if written now."""
    return [name for name, text in files().items() if (versions / name).read_text() != text]


def main(name: str) -> None:
    for file, text in files(name).items():
        (MIGRATIONS / "versions" / file).write_text(text)
        print(f"{file}: {text.count('--;') + 1} statements")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else UNRELEASED)
