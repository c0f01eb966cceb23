"""Cost of a dialect: the same requests to a server without and with a dialect, in turns."""

from __future__ import annotations

import itertools
from pathlib import Path

from bench import filling
from bench.client import Make
from bench.measuring import Candidate, Effort, microseconds
from bench.stores import Store
from bench.table import Verdict, render
from bench.work import WORK, StepContext, get

WORD = "quibble"
"""A word of the same length as the interface's, so that the number of bytes is equal."""
MOST = 1.15
"""Times the CPU of a request to a server without a dialect."""
ALIAS = "/v4/machines"
WORDS_ALONE = f'[words]\ncompute = "{WORD}"\n'
LISTED = "compute/instances compute/types regions images volumes domains nodebalancers tags".split()
MANY_RULES = "".join(
    f"""
[[answers]]
path = "/v4/{path}"
method = "GET"
field = "data[].{field}"
add = 0
"""
    for path in LISTED
    for field in (*(f"added_{number}" for number in range(6)), *(f"made.inner_{number}" for number in range(6)))
)
"""Number of rules of a dialect that follows another version closely: fields of objects, also of created ones."""
WITH_RULES = f"""{WORDS_ALONE}{MANY_RULES}
[[answers]]
path = "/v4/compute/instances"
field = "data[].status"
while = "compute_resize"
value = "resizing"

[[answers]]
path = "/v4/compute/instances/{{computeId}}"
field = "status"
while = "compute_resize"
value = "resizing"

[[answers]]
path = "/v4/compute/instances/{{computeId}}"
field = "lke_cluster_id"
add = 0

[[answers]]
path = "/v4/compute/instances"
field = "data[].lke_cluster_id"
add = 0

[[aliases]]
path = "{ALIAS}"
to = "/v4/compute/instances"
"""
FILTERED = '{"label": "filled-77", "image": {"+neq": "compute/debian11"}}'
ASKED = (
    *WORK,
    StepContext("X-Filter label and image of an instance", get("/v4/compute/instances", FILTERED), 0),
)


def _in_dialect(make: Make) -> Make:
    return lambda number: make(number).replace(b"compute", WORD.encode())


def dialects(store: Store, effort: Effort, folder: Path) -> tuple[str, list[Verdict]]:
    """On SQLite: with a word alone, and with rules for answers and an alias besides."""
    names = ("plain", "word", "rules")
    for name, text in zip(names[1:], (WORDS_ALONE, WITH_RULES), strict=True):
        (folder / f"{name}.toml").write_text(text)
    stores = [Store(filling.copy(store.folder, folder / f"dialect-{name}")) for name in names]
    servers = [
        stores[0].server(),
        *(
            copied.server("--dialect", f"{folder / name}.toml")
            for name, copied in zip(names[1:], stores[1:], strict=True)
        ),
    ]
    rows, verdicts = [], []
    numbers = itertools.count(1)
    try:
        for work in ASKED:
            makes = [work.make, _in_dialect(work.make), _in_dialect(work.make)]
            candidates = [Candidate(server, make) for server, make in zip(servers, makes, strict=True)]
            plain, *others = (cost.server for cost in microseconds(candidates, effort, numbers))
            judged = [Verdict(cost / plain, MOST) for cost in others]
            verdicts += judged
            figures = [cell for cost, verdict in zip(others, judged, strict=True) for cell in _cells(cost, verdict)]
            rows.append([work.name, f"{plain:.0f}", *figures])
    finally:
        for server in servers:
            server.stop()
    columns = ["CPU per request, us", "none", "a word", "ratio", "", "and rules", "ratio", ""]
    return render(f"Dialects (ratios <= {MOST})", columns, rows), verdicts


def _cells(cost: float, verdict: Verdict) -> list[str]:
    return [f"{cost:.0f}", f"{verdict.value:.2f}x", "ok" if verdict.within() else "OVER"]
