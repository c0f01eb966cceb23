"""Answers as text: a table, JSON, YAML, CSV, or ids alone."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

FORMS = ("table", "json", "yaml", "csv", "id")
KEYS = ("id", "username", "address", "token", "label", "filename")
"""Fields that name an object without an id, in order of preference."""
GAP = "  "
NARROWEST = 6


def rendered(value: Any, form: str, columns: Sequence[str] = (), chosen: bool = False, width: int | None = None) -> str:
    """Return the output text with its final newline. Default columns apply to lists only."""
    rows = rows_of(value)
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    if form == "yaml":
        return "".join(f"{line}\n" for line in _yaml(value, 0))
    if form == "id":
        keys = [key_of(row) for row in (rows if rows is not None else [value])]
        return "".join(f"{cell(key)}\n" for key in keys if key is not None)
    if form == "csv":
        return _csv(rows if rows is not None else [value], columns if chosen or rows == [] else ())
    if rows is None and not chosen:
        return "".join(f"{line}\n" for line in _described(value, width))
    return "".join(f"{line}\n" for line in table(rows if rows is not None else [value], columns, width))


def rows_of(value: Any) -> list[Any] | None:
    """The items of a list, or None if this is one object."""
    if isinstance(value, dict) and isinstance(value.get("data"), list) and "pages" in value:
        return list(value["data"])
    return value if isinstance(value, list) else None


def key_of(row: Any) -> Any:
    return next((row[name] for name in KEYS if name in row), None) if isinstance(row, dict) else row


def looked_up(row: Any, column: str) -> Any:
    """``entity.label`` of an event."""
    if isinstance(row, dict) and column not in row and "." in column:
        first, _, rest = column.partition(".")
        return looked_up(row.get(first), rest)
    return row.get(column) if isinstance(row, dict) else None


def cell(value: Any) -> str:
    """Return a value as one line without control characters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(cell(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}={cell(item)}" for name, item in value.items())
    return "".join(sign if sign.isprintable() else " " for sign in str(value))


def table(rows: list[Any], columns: Sequence[str], width: int | None) -> list[str]:
    columns = columns or _plain_columns(rows)
    if not rows:
        return []
    cells = [list(columns), *([cell(looked_up(row, column)) for column in columns] for row in rows)]
    widths = [max(_width(line[at]) for line in cells) for at in range(len(columns))]
    if width is not None:
        _shrink(widths, width - len(GAP) * (len(columns) - 1))
    right = [all(isinstance(looked_up(row, column), (int, float)) for row in rows) for column in columns]
    return [
        GAP.join(_fitted(text, size, right=at_right) for text, size, at_right in zip(line, widths, right, strict=True))
        .rstrip()
        for line in cells
    ]  # fmt: skip


def _plain_columns(rows: list[Any]) -> list[str]:
    columns = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
    return list(columns)


def _shrink(widths: list[int], available: int) -> None:
    """Take from the widest column, until all of them fit or none can give more."""
    while sum(widths) > available and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _fitted(text: str, size: int, *, right: bool) -> str:
    if _width(text) > size:
        while _width(text) > size - 1:
            text = text[:-1]
        text += "…"
    blank = " " * (size - _width(text))
    return blank + text if right else text + blank


def _described(value: Any, width: int | None) -> Iterator[str]:
    """Yield the lines of one object: a line for each field, then a table for each list of objects."""
    if not isinstance(value, dict):
        yield cell(value)
        return
    flat = dict(_flat(value, ""))
    tables = {
        name: item for name, item in flat.items() if isinstance(item, list) and item and isinstance(item[0], dict)
    }
    lines = {name: cell(item) for name, item in flat.items() if name not in tables}
    longest = max(map(len, lines), default=0)
    for name, text in lines.items():
        yield f"{name:<{longest}}{GAP}{text}".rstrip()
    for name, rows in tables.items():
        yield from ("", f"{name}:", *(f"{GAP}{line}" for line in table(rows, (), width and width - len(GAP))))


def _flat(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield from _flat(item, f"{prefix}{name}.")
        else:
            yield prefix + name, item


def _csv(rows: list[Any], columns: Sequence[str]) -> str:
    import csv  # noqa: PLC0415 - most commands do without
    import io  # noqa: PLC0415

    flat = [dict(_flat(row, "")) if isinstance(row, dict) else {"value": row} for row in rows]
    columns = columns or _plain_columns(flat)
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(columns)
    for row, parts in zip(rows, flat, strict=True):
        lines.writerow([_csv_cell(parts[name] if name in parts else looked_up(row, name)) for name in columns])
    return written.getvalue()


def _csv_cell(value: Any) -> str:
    plain = not isinstance(value, (list, dict))
    if not plain:
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, str) else cell(value)


def _yaml(value: Any, depth: int) -> Iterator[str]:
    """Blocks, with every text that could be taken for something else in quotes, which are JSON's and YAML's."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        for name, item in value.items():
            if isinstance(item, (dict, list)) and item:
                yield f"{pad}{_yaml_text(name)}:"
                yield from _yaml(item, depth + 1)
            else:
                yield f"{pad}{_yaml_text(name)}: {_yaml_text(item)}"
    elif isinstance(value, list) and value:
        for item in value:
            first, *more = _yaml(item, depth + 1)
            yield f"{pad}- {first.lstrip()}"
            yield from more
    else:
        yield pad + _yaml_text(value)


def _yaml_text(value: Any) -> str:
    if isinstance(value, str) and value.isascii() and value.replace("_", "a").replace("-", "a").isalnum():
        is_word = value[0].isalpha() and value.lower() not in (
            "true",
            "false",
            "null",
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
        )
        if is_word:
            return value
    return json.dumps(value, ensure_ascii=True)
