"""Resources measured alike: view, list 100, create, and lists and filters with growing tables.

An object of each kind is created through the interface, and its row is copied with the necessary differences. So this
module does not depend on the columns, and each kind needs a single entry of ``KINDS``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from bench import client, filling
from bench.client import Make, request
from bench.processes import TOKEN, Server
from bench.stores import Store
from bench.work import CREATE, FLAT, LIST, ONE, Growth, StepContext, get
from crofter.db.tally import BLOCK_BITS
from crofter.registry import ENDPOINTS


class Kind(NamedTuple):
    name: str
    table: str
    path: str
    """Where they are listed and created; ``{parent}`` is the number of what they are in."""
    body: Callable[[int], Mapping[str, Any]]
    """Creates object number n."""
    differs: Mapping[str, str]
    """Columns that are not as in the row that is copied, in SQL; ``n`` is the number of the row."""
    filters: Mapping[str, str]
    """Filters by name; each matches few rows."""
    parent: tuple[str, Mapping[str, Any]] | None = None


class Made(NamedTuple):
    """A kind of which there is one object, whose row can be copied."""

    kind: Kind
    path: str
    one: str


KINDS = (
    Kind("tag", "tag", "/v4/tags", lambda n: {"label": f"made-{n:08}"}, {"label": "'copied-' || n"}, {}),
    Kind(
        "volume",
        "volume",
        "/v4/volumes",
        lambda n: {"label": f"made-{n:08}", "region": "us-east", "size": 10},
        {"label": "'copied-' || n"},
        {"label": '{"label": "copied-77"}', "tag, none found": '{"tags": "nowhere"}'},
    ),
    Kind(
        "domain record",
        "domain_record",
        "/v4/domains/{parent}/records",
        lambda n: {"type": "A", "name": f"made-{n:08}", "target": "192.0.2.1"},
        {"name": "'copied-' || n", "digest": "'copied-' || n"},
        {"name": '{"name": "copied-77"}'},
        parent=("/v4/domains", {"domain": "example.org", "type": "master", "soa_email": "admin@example.org"}),
    ),
    Kind(
        "firewall",
        "firewall",
        "/v4/networking/firewalls",
        lambda n: {"label": f"made-{n:08}", "rules": {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}},
        {"label": "'copied-' || n"},
        {"label": '{"label": "copied-77"}', "tag, none found": '{"tags": "nowhere"}'},
    ),
)


def served() -> list[Kind]:
    """Return the kinds that this server has."""
    paths = {
        f"/v4/{endpoint.path}".replace("{domain_id}", "{parent}") for endpoint in ENDPOINTS if endpoint.method == "POST"
    }
    return [kind for kind in KINDS if kind.path in paths]


# ---- filling --------------------------------------------------------------------------------------------------------


def stores(folder: Path, sizes: Sequence[int], kinds: Sequence[Kind]) -> tuple[list[Store], list[Made]]:
    """Yield a store for each size, with that many objects of every kind."""
    growing = Store(folder / "kinds")
    server = growing.server()
    try:
        made = [_made(server, kind) for kind in kinds]
        _post(server, "/_sandbox/settle", {})  # rows are copied in their final state
    finally:
        server.stop()
    filled = []
    for present, size in zip([1, *sizes], sizes, strict=False):
        _copy_rows(growing.folder, kinds, present, size)
        filled.append(Store(filling.copy(growing.folder, folder / f"kinds-{size}")))
    return filled, made


def _made(server: Server, kind: Kind) -> Made:
    path = kind.path
    if kind.parent is not None:
        path = path.replace("{parent}", str(_post(server, *kind.parent)["id"]))
    first = _post(server, path, kind.body(0))
    return Made(kind, path, f"{path}/{first.get('id') or first['label']}")


def _post(server: Server, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    answer = client.send(server.port, _creating(path, body))
    if answer.status != 200:
        raise RuntimeError(f"POST {path}: {answer.status} {answer.body.decode()[:200]}")
    return dict(json.loads(answer.body))


def _creating(path: str, body: Mapping[str, Any]) -> bytes:
    return request("POST", path, TOKEN, body=json.dumps(body).encode())


def _copy_rows(folder: Path, kinds: Sequence[Kind], present: int, rows: int) -> None:
    """From ``present`` rows to ``rows``, in a database that no server has open."""
    connection = apsw.Connection(str(folder / "crofter.db"))
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-256000")
    with connection:
        for kind in kinds:
            names = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({kind.table})") if row[1] != "id"]
            values = ", ".join(kind.differs.get(name, f'first."{name}"') for name in names)
            quoted = ", ".join(f'"{name}"' for name in names)
            connection.execute(
                f"WITH RECURSIVE counted(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM counted WHERE n < ?)"
                f" INSERT INTO {kind.table} ({quoted}) SELECT {values} FROM counted,"
                f" (SELECT * FROM {kind.table} ORDER BY id LIMIT 1) AS first",
                (present + 1, rows),
            )
            _recount(connection, kind.table)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _recount(connection: apsw.Connection, table: str) -> None:
    """Copies belong to whom the first belongs, who is in the tally already if the table is counted at all."""
    owners = [int(row[0]) for row in connection.execute("SELECT DISTINCT owner FROM tally WHERE counted = ?", (table,))]
    if owners:
        (owner,) = owners
        connection.execute("DELETE FROM tally WHERE counted = ?", (table,))
        connection.execute(
            f"INSERT INTO tally (counted, owner, block, amount)"
            f" SELECT ?, ?, id >> {BLOCK_BITS}, count(*) FROM {table} GROUP BY 3",
            (table, owner),
        )


# requests


def work(made: Sequence[Made]) -> list[StepContext]:
    asked: list[StepContext] = []
    for made_kind in made:
        asked.append(StepContext(f"GET one {made_kind.kind.name}", get(made_kind.one), ONE))
        asked.append(StepContext(f"list 100 of kind {made_kind.kind.name}", get(made_kind.path), LIST))
        asked.append(StepContext(f"POST create {made_kind.kind.name}", _creator(made_kind), CREATE))
    return asked


def _creator(made_kind: Made) -> Make:
    return lambda number: _creating(made_kind.path, made_kind.kind.body(number))


def growth(made: Sequence[Made]) -> list[Growth]:
    return list(itertools.chain.from_iterable(map(_growth, made)))


def _growth(made_kind: Made) -> list[Growth]:
    name = made_kind.kind.name
    return [
        Growth(f"{name}: list 100, first page", lambda _rows: get(made_kind.path), FLAT),
        Growth(f"{name}: list 100, last page", lambda rows: get(f"{made_kind.path}?page={rows // 100}"), FLAT),
        *(
            Growth(f"{name}: X-Filter {called}", _filtered(made_kind.path, asked), FLAT)
            for called, asked in made_kind.kind.filters.items()
        ),
    ]


def _filtered(path: str, asked: str) -> Callable[[int], Make]:
    return lambda _rows: get(path, asked)
