"""COVERAGE.md: each row of the interface, the endpoint that serves it, and the answers that the tests get from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Literal, NamedTuple

from crofter.edge import openapi, unplanned
from crofter.edge.endpoint import Endpoint

ROOT = Path(__file__).resolve().parent.parent
ANY = "{}"
HEAD = ["| Interface | Operation | Package | Done | Refused with |", "|---|---|---|---|---|"]
WORDS = """\
Written by `make openapi` from what each endpoint documents. `make test` compares it with the answers that its run
really got, and fails where one of them never came, or where a refusal came that is not listed."""


class Row(NamedTuple):
    """A line of the interface: ``GET /v4/tags/{label}``."""

    method: str
    path: str

    @property
    def loose_shape(self) -> tuple[str, ...]:
        """The same for parameters that may hold slashes and for those that may not."""
        return tuple(ANY if part == "**" else part for part in self.shape)

    @property
    def shape(self) -> tuple[str, ...]:
        """The path without version and without the names of its parameters."""
        parts = self.path.strip("/").split("/")[1:]
        return (self.method, *("**" if part.endswith(":path}") else ANY if "{" in part else part for part in parts))


def interface(file: Path = ROOT / "tests" / "interface.tsv") -> list[Row]:
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    return [Row(*line.split("\t")[:2]) for line in lines]


class Operation(NamedTuple):
    """An operation of the family of servers that this one belongs to, and whether it is served."""

    row: Row
    group: str
    state: Literal["interface", "neighbour", "not planned", "not yet"]
    endpoint: Endpoint | None

    @property
    def served_by_or_why_not(self) -> str:
        """Return the serving endpoint, or the reason for its absence."""
        if self.endpoint is not None:
            return f"`{self.endpoint.name}`"
        return unplanned.reason(self.row.path.encode()) or ""


def family(endpoints: Sequence[Endpoint], file: Path = ROOT / "tests" / "family.tsv") -> list[Operation]:
    """Every operation of the family. What is served and of the interface, served beside it, or left out on purpose."""
    ours = {row_of(endpoint).loose_shape: endpoint for endpoint in endpoints}
    promised = {row.loose_shape for row in interface()}
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    return [_operation(Row(method, path), group, ours, promised) for method, path, group in lines]


def _operation(
    row: Row, group: str, ours: Mapping[tuple[str, ...], Endpoint], promised: Set[tuple[str, ...]]
) -> Operation:
    endpoint = ours.get(row.loose_shape)
    if endpoint is not None:
        return Operation(row, group, "interface" if row.loose_shape in promised else "neighbour", endpoint)
    return Operation(row, group, "not planned" if unplanned.reason(row.path.encode()) else "not yet", None)


def row_of(endpoint: Endpoint) -> Row:
    return Row(endpoint.method, f"/{'v4beta' if endpoint.beta else 'v4'}/{endpoint.path}")


def documented(endpoints: Sequence[Endpoint]) -> dict[str, set[int]]:
    """Return the statuses of each operation in the OpenAPI document."""
    described = openapi.operations(openapi.document(endpoints, ""))
    return {
        operation["operationId"]: {int(status) for status in operation["responses"]}
        for _method, _path, operation in described
    }


def render(endpoints: Sequence[Endpoint], rows: Sequence[Row], answers: Mapping[str, Set[int]]) -> str:
    """The page, with the answers that each operation has given."""
    ours = {row_of(endpoint).shape: endpoint for endpoint in endpoints}
    promised = {row.shape for row in rows}
    more = sorted((row for row in map(row_of, endpoints) if row.shape not in promised), key=lambda row: row[::-1])
    built = [row for row in rows if row.shape in ours]
    called = sum(any(map(_success, answers[ours[row.shape].name])) for row in built)
    return "\n".join(
        [
            "# Coverage",
            "",
            f"**{len(rows)} rows of the interface: {len(built)} built, {len(rows) - len(built)} missing, "
            f"{called} called with success by a test.**",
            "",
            WORDS,
            "",
            *HEAD,
            *(_line(row, ours.get(row.shape), answers) for row in rows),
            "",
            f"## Beyond the interface: {len(more)}",
            "",
            *HEAD,
            *(_line(row, ours[row.shape], answers) for row in more),
            "",
            *_of_family(family(endpoints)),
            "",
        ]
    )


def _of_family(operations: Sequence[Operation]) -> list[str]:
    often = Counter(operation.state for operation in operations)
    return [
        f"## The family: {len(operations)}",
        "",
        f"Servers of this family offer {len(operations)} operations. Of them {often['interface']} are of the interface,"
        f" {often['neighbour']} are served beside",
        f"it, {often['not planned']} are not planned, and {often['not yet']} are not built yet.",
        "",
        "| Group | Operation | State | Served by, or why not |",
        "|---|---|---|---|",
        *(
            f"| {operation.group} | `{operation.row.method} {operation.row.path}` | {operation.state} |"
            f" {operation.served_by_or_why_not} |"
            for operation in operations
        ),
    ]


def _line(row: Row, endpoint: Endpoint | None, answers: Mapping[str, Set[int]]) -> str:
    path = row.path.replace(":path}", "}")
    if endpoint is None:
        return f"| `{row.method} {path}` | **missing** | | | |"
    statuses = sorted(answers[endpoint.name])
    done = ", ".join(str(status) for status in statuses if _success(status)) or "**never**"
    refused = ", ".join(str(status) for status in statuses if not _success(status))
    return f"| `{row.method} {path}` | `{endpoint.name}` | {endpoint.tag} | {done} | {refused} |"


def _success(status: int) -> bool:
    return status < 300
