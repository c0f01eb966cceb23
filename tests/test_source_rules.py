"""Rules for every file: size, names, imports, and sources of time and randomness."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import symtable
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp
import pytest

from tests.plain_words import metaphors

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "crofter"

FILE_LINES = 400
FUNCTION_LINES = 60

CHANCE_AND_TIME = {"clock.py", "rng.py"}
ALLOWED = {
    "bootstrap.py": {"time.sleep"},  # other processes that start, in real time
    "client/transport.py": {"time.sleep"},  # the client has no clock but the wall's
    "client/waiting.py": {"time.sleep"},
    "engine/time_travel.py": {"time.sleep"},  # for other processes, which are in real time
    "pytest_plugin.py": {"secrets.token_urlsafe"},  # in the process of somebody's tests, which has no server
    "engine/heartbeat.py": {"secrets.randbelow"},  # two processes with the same seed must not get the same number
    "cli/doctor.py": {"time.time"},  # this machine's clock is what it looks at
    "cli/host_certificates.py": {"datetime.datetime.now"},  # whoever checks a certificate has the wall's clock
    "cli/hosts.py": {"time.sleep"},  # real machines on their way, which a server in real time moves
    # On hosts that several servers share, two with the same seed must not give the same names.
    "drivers/hypervisor/libvirt/helper.py": {"uuid.uuid4"},
    "drivers/hypervisor/libvirt/host.py": {"uuid.uuid4"},
    "drivers/hypervisor/libvirt/hypervisor.py": {"secrets.token_hex"},
    "drivers/hypervisor/libvirt/performing.py": {"uuid.uuid4"},
    "drivers/hypervisor/libvirt/password_hash.py": {"secrets.choice"},  # a salt
    "drivers/hypervisor/libvirt/scripts.py": {"secrets.token_hex"},  # tells a guest that it is another one
    "drivers/hypervisor/libvirt/swap_header.py": {"uuid.uuid4"},  # no two disks of a guest are mistaken for each other
    "resources/instances/hypervisor_client.py": {"time.sleep"},  # real machines do not stand still with the clock
}
REAL_MACHINES = "drivers/hypervisor/libvirt/"
"""Waits in real time, like the machines."""
FORBIDDEN = {
    "time.time",
    "time.time_ns",
    "time.sleep",
    "time.localtime",
    "time.gmtime",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "os.urandom",
    "random",
    "secrets",
    "uuid.uuid1",
    "uuid.uuid4",
}
"""Names, or whole modules."""
COMPARING = {"secrets.compare_digest"}

STATUSES = {400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 415, 422, 429, 501, 502, 503, 504}
"""Without 500, which is also the size of a page."""
KNOW_STATUSES = (
    "edge/problems.py",
    "edge/mounts.py",
    "edge/streams.py",
    "cli/",
    "client/",
    "drivers/",
    "login/",
    "sandbox/",
    "db/migrations/",
)
"""Where statuses are made or forced, and the mounted pages and drivers that speak HTTP of their own."""


TELL_NOTHING = {"one", "found", "told", "said"}
"""Names that say how a variable came about, and not what it holds."""


def files() -> list[Path]:
    sources = sorted(SOURCE.rglob("*.py"))
    assert len(sources) > 50
    return sources


def all_python() -> list[Path]:
    """Return all Python files: of the server, tests, tools and benchmarks."""
    sources = [file for folder in ("src", "tests", "tools", "bench") for file in sorted((ROOT / folder).rglob("*.py"))]
    assert len(sources) > 500
    return sources


@cache
def nodes(text: str) -> list[ast.AST]:
    """Return all nodes of a file. Cached: parsing takes longer than any rule."""
    return list(ast.walk(ast.parse(text)))


def name_of(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


# Sizes


def too_long(name: str, text: str) -> Iterator[str]:
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{name} has {lines} lines"
    for node in nodes(text):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{name}: {node.name} has {length} lines"


def test_no_file_and_no_function_is_too_long() -> None:
    planted = "def endless():\n" + "    x = 1\n" * FILE_LINES
    assert len(list(too_long("planted.py", planted))) == 2
    assert [wrong for file in files() for wrong in too_long(name_of(file), file.read_text())] == []


# Names


def names_that_tell_nothing(text: str) -> list[str]:
    """Return nondescript variables, parameters and nested functions.

    Functions of modules, methods and fields are read with their owner: ``store.one``.
    """
    return list(_telling_nothing(symtable.symtable(text, "source", "exec")))


def _telling_nothing(scope: symtable.SymbolTable) -> Iterator[str]:
    if scope.get_type() != "class":
        for name in sorted(TELL_NOTHING.intersection(scope.get_identifiers())):
            symbol = scope.lookup(name)
            named_with_owner = scope.get_type() == "module" and symbol.is_namespace()
            if symbol.is_parameter() or (symbol.is_assigned() and not named_with_owner):
                yield f"{scope.get_name()}, line {scope.get_lineno()}: {name}"
    for inner in scope.get_children():
        yield from _telling_nothing(inner)


def test_variables_are_named_after_what_they_hold() -> None:
    for planted in (
        "one = 1",
        "def f():\n    found = 1",
        "def f(one): ...",
        "def f():\n    def found(): ...",
        "x = [one for one in y]",
        "x = lambda found: 1",
        "if (found := x): ...",
        "for number, one in x: ...",
        "with x as (y, found): ...",
        "try: ...\nexcept E as found: ...",
        "match x:\n    case [E() as one, *found]: ...",
    ):
        assert names_that_tell_nothing(planted), planted
    harmless = (
        "def one(ctx): return db.one(x, found=1)\nclass A:\n    found: int\n    def one(self): ...\none_of = 'one'"
    )
    assert names_that_tell_nothing(harmless) == []
    named = {file.relative_to(ROOT).as_posix(): names_that_tell_nothing(file.read_text()) for file in all_python()}
    assert {name: wrong for name, wrong in named.items() if wrong} == {}


# Plain words

NAMING = {"arg", "asname", "attr", "id", "name"}
"""Where the nodes of a syntax tree keep names; texts may be about real ones."""


def names_of_our_own(text: str) -> list[str]:
    if not metaphors(text):
        return []  # usual case: parsing every file would take seconds
    named = {value for node in nodes(text) for key, value in ast.iter_fields(node) if key in NAMING}
    return sorted(name for name in named if isinstance(name, str) and metaphors(name))


def test_names_are_the_words_of_the_field() -> None:
    planted = "class FrontDoor: ...\ndef lane_of(): ...\nx.desk = indoors = lanesplit = 'a deed'"
    assert names_of_our_own(planted) == ["FrontDoor", "desk", "lane_of"]
    named = {file.relative_to(ROOT).as_posix(): names_of_our_own(file.read_text()) for file in all_python()}
    assert {name: words for name, words in named.items() if words} == {}


def paths_of_our_own(paths: list[str]) -> list[str]:
    """Files and folders that are called by one of the words."""
    return [path for path in paths if metaphors(path.replace("/", " "))]


def test_files_and_folders_are_the_words_of_the_field() -> None:
    planted = ["src/desk.py", "tests/front_door/test_it.py", "console/src/Purse.tsx", "src/desktop.py"]
    assert paths_of_our_own(planted) == planted[:3]
    console = [file for file in (ROOT / "console" / "src").rglob("*") if file.is_file()]
    assert len(console) > 50
    paths = [file.relative_to(ROOT).as_posix() for file in (*all_python(), *console)]
    assert paths_of_our_own(paths) == []


# Time and chance


def imported_names(tree: list[ast.AST]) -> dict[str, str]:
    """Return the full name of each imported name: ``now`` for ``datetime.datetime.now``."""
    names: dict[str, str] = {}
    for node in tree:
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def full_name(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = full_name(node.value, names)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def own_time_or_chance(text: str) -> list[str]:
    """Uses of the machine's clock and of randomness that a replay could not repeat."""
    tree = nodes(text)
    names = imported_names(tree)
    used = [full_name(node, names) for node in tree if isinstance(node, (ast.Attribute, ast.Name))]
    return [name for name in used if name is not None and name not in COMPARING and _banned(name)]


def _banned(name: str) -> bool:
    whole = name.partition(".")[0]
    return name in FORBIDDEN if whole not in FORBIDDEN else name != whole


def test_time_comes_from_the_clock_and_chance_from_the_rng() -> None:
    for planted in (
        "import time\nx = time.time()",
        "import time as t\nx = t.time_ns()",
        "from time import time\nx = time()",
        "from datetime import datetime, UTC\nx = datetime.now(UTC)",
        "import datetime\nx = datetime.datetime.utcnow()",
        "import random\nx = random.random()",
        "from random import choice\nx = choice('ab')",
        "import secrets\nx = secrets.token_hex()",
        "from uuid import uuid4\nx = uuid4()",
        "import os\nx = os.urandom(8)",
    ):
        assert own_time_or_chance(planted), planted
    assert (
        own_time_or_chance("import time, secrets\nimport random\ntime.monotonic()\nsecrets.compare_digest('', '')")
        == []
    )
    used = {name_of(file): own_time_or_chance(file.read_text()) for file in files()}
    assert all(used[name] for name in CHANCE_AND_TIME)
    allowed = {
        name: ALLOWED.get(name, set()) | ({"time.sleep"} if name.startswith(REAL_MACHINES) else set()) for name in used
    }
    left = {name: set(uses) - allowed[name] for name, uses in used.items() if name not in CHANCE_AND_TIME}
    assert {name: uses for name, uses in left.items() if uses} == {}


def since_the_machine_started(text: str) -> list[str]:
    """Last times that begin at zero: with a clock that does, too, they say that it was done as the machine started."""
    if "monotonic()" not in text:
        return []
    tree = nodes(text)
    assigned = [node for node in tree if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None]
    at_zero, clock = set(), {"time.monotonic()"}
    for node in assigned:
        names = {ast.unparse(target) for target in (node.targets if isinstance(node, ast.Assign) else [node.target])}
        value = ast.unparse(node.value or node)
        at_zero |= names if value in ("0", "0.0") else set()
        clock |= names if value in clock else set()
    passed = [node for node in tree if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)]
    return [
        ast.unparse(node) for node in passed if ast.unparse(node.left) in clock and ast.unparse(node.right) in at_zero
    ]


def test_nothing_takes_the_start_of_the_machine_for_a_time_when_it_was_done() -> None:
    planted = (
        "self.a = 0.0\nself.b: float = 0\nnow = time.monotonic()\nnow - self.a > 60\ntime.monotonic() - self.b < EVERY"
    )
    assert since_the_machine_started(planted) == ["now - self.a", "time.monotonic() - self.b"]
    assert since_the_machine_started("self.due_at = 0.0\nnow = time.monotonic()\nnow >= self.due_at") == []
    used = {name_of(file): since_the_machine_started(file.read_text()) for file in files()}
    assert {name: uses for name, uses in used.items() if uses} == {}


# Statuses


def statuses_in(text: str) -> list[str]:
    uses = []
    for node in nodes(text):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in STATUSES:
            uses.append(f"line {node.lineno}: {node.value}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "HTTPStatus":
            uses.append(f"line {node.lineno}: {node.attr}")
    return [use for use in uses if not use.endswith((": OK", ": NO_CONTENT"))]


def test_only_the_edge_knows_which_status_a_problem_becomes() -> None:
    assert statuses_in("raise Gone(404)")
    assert statuses_in("from http import HTTPStatus\nx = HTTPStatus.CONFLICT")
    statuses = {name_of(file): statuses_in(file.read_text()) for file in files()}
    assert statuses["edge/problems.py"]
    assert {name: uses for name, uses in statuses.items() if uses and not name.startswith(KNOW_STATUSES)} == {}


# Direction


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "200"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.soak  # `make check`, with which `make test` begins, says so too
def test_imports_go_downward_only() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


def test_an_import_that_goes_upward_is_refused(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = {
        "errors.py": ("crofter.resources.tags.rules", "Imports go downward only"),
        # The profile imports users already: a new circle of two packages.
        "resources/users/store.py": ("crofter.resources.profile.preferences.store", "Resources are ordered"),
        "resources/tags/store.py": ("crofter.resources.tags.rules", "Inside a resource too"),
        "resources/regions/store.py": ("crofter.resources.tags.api", "A resource's api is for HTTP"),
        "resources/oauth/rules.py": ("crofter.edge.uploads", "Only the api of a resource knows the edge"),
        "resources/tags/shapes.py": ("crofter.edge.problems", "Resources know no wire"),
        "drivers/hypervisor/errors.py": ("crofter.context", "Drivers know no account"),
    }
    for name, (module, _) in planted.items():
        with (tmp_path / "src" / "crofter" / name).open("a") as file:
            file.write(f"\nimport {module}\n")
    (tmp_path / "src" / "crofter" / "resources" / "tags" / "planted.py").write_text("")
    report = lint(tmp_path).stdout
    broken = [line for line in report.splitlines() if " BROKEN" in line]
    for _, contract in planted.values():
        assert any(line.startswith(contract) for line in broken), report
    assert "crofter.resources.users is not allowed to import crofter.resources.profile" in report
    assert "- crofter.resources.tags.planted" in report, "a module on no layer"


def ordered_packages() -> set[str]:
    """Packages all of whose modules a contract names, or the linter refuses."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {package for contract in contracts if contract.get("exhaustive") for package in contract["containers"]}


def packages_without_order(source: Path) -> set[str]:
    """Packages of resources whose modules no contract names."""
    resources = [file.parent for file in (source / "resources").rglob("__init__.py")]
    named = {".".join(("crofter", *folder.relative_to(source).parts)) for folder in resources}
    return named - ordered_packages()


def test_every_module_of_a_resource_is_on_a_layer(tmp_path: Path) -> None:
    planted = tmp_path / "resources" / "tags" / "colours"
    planted.mkdir(parents=True)
    (planted / "__init__.py").write_text("")
    assert packages_without_order(tmp_path) == {"crofter.resources.tags.colours"}
    assert packages_without_order(SOURCE) == set()


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a ring, if there are any: those that no order of loading can serve."""
    left = {module: set(names) for module, names in imports.items()}
    while loaded := {module for module, names in left.items() if not names & left.keys()}:
        for module in loaded:
            del left[module]
    return sorted(left)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("crofter", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 200
    assert circle(imports) == []
    planted = imports | {"crofter.clock": {"crofter.registry"}}
    assert "crofter.clock" in circle(planted)
