"""The schema as SQL, one file per database: what a release freezes into a migration."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import create_mock_engine

import crofter.assembly  # noqa: F401 - all of the server, and so every table
from crofter.db import metadata
from crofter.db.schema import MIGRATIONS

URLS = {"sqlite": "sqlite://", "postgresql": "postgresql+psycopg://"}


def statements(dialect: str) -> list[str]:
    """Everything that makes the present schema on an empty database."""
    made: list[str] = []

    def note(statement: Any, *_args: Any, **_options: Any) -> None:
        made.append(" ".join(str(statement.compile(dialect=engine.dialect)).split()))

    engine = create_mock_engine(URLS[dialect], note)
    metadata.create_all(engine, checkfirst=False)
    return [one for index, run in groupby(made, _is_index) for one in (sorted(run) if index else run)]


def _is_index(statement: str) -> bool:
    """A table's indexes come in any order; in a file that is read in diffs they have one."""
    return statement.startswith(("CREATE INDEX", "CREATE UNIQUE INDEX"))


def main(name: str) -> None:
    for dialect in URLS:
        path = MIGRATIONS / "versions" / f"{name}.{dialect}.sql"
        Path(path).write_text("\n--;\n".join(statements(dialect)) + "\n")
        print(f"{path.name}: {len(statements(dialect))} statements")


if __name__ == "__main__":
    main(sys.argv[1])
