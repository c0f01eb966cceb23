"""The list of landed migrations, with their digests: a file that is on it is never edited again.

`make openapi` appends the files of a new migration. Their digests stay as they were at that moment.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from crofter.db.schema import MIGRATIONS

FILE = "tests/db/landed_migrations.txt"
ROOT = Path(__file__).parent.parent
VERSIONS = MIGRATIONS / "versions"


def landed(text: str) -> dict[str, str]:
    """The digest of each landed file, by name."""
    lines = [line.split() for line in text.splitlines()]
    return {name: digest for digest, name in lines}


def written(versions: Path = VERSIONS) -> dict[str, str]:
    """The digest of each file of the migrations as they are now."""
    files = [file for pattern in ("[0-9]*.py", "[0-9]*.sql") for file in versions.glob(pattern)]
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}


def edited(versions: Path = VERSIONS) -> list[str]:
    """Names of landed files that are missing or differ from what has landed."""
    now = written(versions)
    return [name for name, digest in landed(_list()).items() if now.get(name) != digest]


def render() -> str:
    """The list with the files of new migrations appended, each landed line as it was."""
    digests = {**written(), **landed(_list())}
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))


def _list() -> str:
    file = ROOT / FILE
    return file.read_text() if file.exists() else ""
