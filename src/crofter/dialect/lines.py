"""Where in a file of TOML something stands: its reader does not say."""

from __future__ import annotations

import re

_TABLE = re.compile(r"\s*\[(\[)?\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_.-]+|\"[^\"]*\")\s*=")


class Lines:
    """The lines of tables and keys. ``answers.2.path`` is the path of the third table of answers."""

    def __init__(self, text: str) -> None:
        self._lines: dict[str, int] = {}
        counted: dict[str, int] = {}
        table = ""
        for number, line in enumerate(text.splitlines(), 1):
            if match := _TABLE.match(line):
                table = match[2]
                if match[1]:
                    place = counted[table] = counted.get(table, -1) + 1
                    table = f"{table}.{place}"
                self._lines.setdefault(table, number)
            elif match := _KEY.match(line):
                name = match[1].strip('"')
                self._lines.setdefault(f"{table}.{name}" if table else name, number)

    def of(self, *names: str | int) -> int:
        """Return the line of the named value, or of its closest parent."""
        for end in range(len(names), 0, -1):
            if number := self._lines.get(".".join(map(str, names[:end]))):
                return number
        return 1
