"""COVERAGE.md: each row of the interface, the endpoint that serves it, and the tests that call it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from crofter.edge.endpoint import Endpoint

ROOT = Path(__file__).resolve().parent.parent
METHODS = {"get": "GET", "head": "GET", "post": "POST", "put": "PUT", "delete": "DELETE"}
HOLE = "{}"

Call = tuple[str, str, str]
"""A method, a path with holes where the test puts something in, and the file that says so."""


class Row(NamedTuple):
    """A line of the interface: ``GET /v4/tags/{label}``."""

    method: str
    path: str

    @property
    def shape(self) -> tuple[str, ...]:
        """The path without version and without the names of its parameters."""
        parts = self.path.strip("/").split("/")[1:]
        return (self.method, *("**" if part.endswith(":path}") else HOLE if "{" in part else part for part in parts))


def interface(file: Path = ROOT / "tests" / "interface.tsv") -> list[Row]:
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    return [Row(*line.split("\t")[:2]) for line in lines]


def row_of(one: Endpoint) -> Row:
    return Row(one.method, f"/{'v4beta' if one.beta else 'v4'}/{one.path}")


def calls_in(folder: Path) -> Iterator[Call]:
    """Every ``client.get("/v4/…")`` in the tests of a folder, as far as it can be read without running it."""
    for file in sorted(folder.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        known = {
            target.id: text
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and (text := _text(node.value, {})).startswith("/v4")
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                for method, path in _called(node.func.attr, node.args, known):
                    yield method, path, file.relative_to(folder).as_posix()


def _called(name: str, arguments: list[ast.expr], known: dict[str, str]) -> Iterator[tuple[str, str]]:
    if name in ("request", "stream") and len(arguments) > 1:
        method, path = _text(arguments[0], known), _text(arguments[1], known)
    elif name in METHODS and arguments:
        method, path = METHODS[name], _text(arguments[0], known)
    else:
        return
    if path.startswith(("/v4/", "/v4beta/")):
        yield method, path.partition("?")[0]


def _text(node: ast.expr, known: dict[str, str]) -> str:
    """A string as it is written, with holes for what is only known when the test runs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id, HOLE)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, known)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, known) + _text(node.right, known)
    return HOLE


def tests_of(rows: Iterable[Row], calls: Iterable[Call]) -> dict[tuple[str, ...], list[str]]:
    """The files that call each row, by its shape. A call counts for the row that fits it best."""
    shapes = {row.shape for row in rows}
    found: dict[tuple[str, ...], set[str]] = {shape: set() for shape in shapes}
    for method, path, file in calls:
        parts = (method, *path.strip("/").split("/")[1:])
        fitting = [shape for shape in shapes if _fits(shape, parts)]
        if fitting:
            found[max(fitting, key=lambda shape: sum(part not in (HOLE, "**") for part in shape))].add(file)
    return {shape: sorted(files) for shape, files in found.items()}


def _fits(shape: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if shape[-1] == "**":
        return len(parts) >= len(shape) and _fits(shape[:-1], parts[: len(shape) - 1])
    return len(shape) == len(parts) and all(
        part != "" if wanted == HOLE else wanted == part for wanted, part in zip(shape, parts, strict=True)
    )


def render(endpoints: Sequence[Endpoint], rows: Sequence[Row], calls: Iterable[Call]) -> str:
    ours = {row_of(one).shape: one for one in endpoints}
    promised = {row.shape for row in rows}
    more = sorted((row_of(one) for one in endpoints if row_of(one).shape not in promised), key=lambda row: row[::-1])
    tests = tests_of([*rows, *more], calls)
    built = [row for row in rows if row.shape in ours]
    called = sum(bool(tests[row.shape]) for row in built)
    head = ["| Interface | Operation | Package | Called by |", "|---|---|---|---|"]
    return "\n".join(
        [
            "# Coverage",
            "",
            f"**{len(rows)} rows of the interface: {len(built)} built, {len(rows) - len(built)} missing, "
            f"{called} called by a test.**",
            "",
            "Written by `make openapi`. What calls an endpoint is read from the tests without running them.",
            "",
            *head,
            *(_line(row, ours.get(row.shape), tests[row.shape]) for row in rows),
            "",
            f"## Beyond the interface: {len(more)}",
            "",
            *head,
            *(_line(row, ours[row.shape], tests[row.shape]) for row in more),
            "",
        ]
    )


def _line(row: Row, one: Endpoint | None, files: list[str]) -> str:
    path = row.path.replace(":path}", "}")
    served = f"`{one.name}` | {one.tag}" if one else "**missing** |"
    called = ", ".join(f"[{file}](tests/{file})" for file in files) or ("**no test**" if one else "")
    return f"| `{row.method} {path}` | {served} | {called} |"
