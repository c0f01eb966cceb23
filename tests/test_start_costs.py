"""A command loads what it needs and no more: every module of the server would take it half a second."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crofter import registry
from crofter.cli import admin, admin_commands
from crofter.db import metadata
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.served import Process, serving, write_statements
from tests.sweep import NEW
from tests.test_operator_records import ALIVE, NEED_A_HOST, scene

SERVER = (
    "crofter.registry",
    "crofter.assembly",
    "crofter.edge",
    "crofter.engine.worker",
    "crofter.resources.events.visibility",
    "alembic",
    "sqlalchemy",
    "uvicorn",
    "typst",
)
"""Modules that only a server needs, and modules that prepared statements replace. Event visibility is partly known
without the registry; other ports of the registry raise an error that says so.
"""
HOSTLESS = {
    "hosts add": "us-east qemu+tls://nowhere.invalid/system --disk 1000",
    "hosts drain": "1",
    "hosts fence": "1 --is-off",
    "hosts remove": "1",
    "images import": "{folder}/none --id compute/debian12 --sum 00",
}
"""Commands for real machines, refused without them."""
MOST = 220
"""Modules of ours that one command may load, of more than four hundred."""
OPERATIONS = "operations cancel"
"""The cleanup of an ended operation belongs to its resource: it needs all operations, but no endpoint."""
MOST_WITH_OPERATIONS = 300
PARTS_OF_OPERATIONS = {"crofter.edge", "crofter.resources.events.visibility"}
"""The table of stored answers, which one of them prunes, and a port, which is filled where all operations are."""

# Neighbours of one group share a process, which has loaded no more before than what all commands need.
RUN = """
import contextlib, io, itertools, json, os, sys, traceback
from crofter.cli import main, admin_commands, opening
commands, forbidden, data = json.loads(sys.argv[1])

def run(command, words, refused):
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stderr):
            code = main(["admin", *words.split(), "--data", data, "--json"])
    except SystemExit as end:
        code = end.code
    except BaseException:
        code = traceback.format_exc()
    mine = sum(name.startswith("crofter") for name in sys.modules)
    wrong = [name for name in forbidden if name in sys.modules]
    return [command, mine, wrong, None if bool(code) == refused else f"{code} {stderr.getvalue()}"]

for _, group in itertools.groupby(commands, lambda one: one[0].split()[0]):
    if os.fork() == 0:
        for one in group:
            os.write(1, json.dumps(run(*one)).encode() + b"\\n")
        os._exit(0)
    os.wait()
"""
NEVER_READY = """
import sys
from crofter import assembly
from crofter.cli import main
assembly.FILTERS_READY_AFTER = 3600
sys.exit(main(sys.argv[1:]))
"""
"""Serves, and does not load what filters need before there is one."""
LISTED = """
import json
from crofter import bootstrap, registry
from crofter.db import metadata
read = sum("answers" in vars(endpoint) for endpoint in registry.ENDPOINTS)
print(json.dumps([read, sorted(metadata.tables)]))
"""


def examined(commands: list[tuple[str, str, bool]], forbidden: tuple[str, ...], data: Path) -> list[Any]:
    """Return what each command has loaded: its name, the number of our modules, and the forbidden ones."""
    given = json.dumps([commands, forbidden, str(data)])
    done = subprocess.run([sys.executable, "-c", RUN, given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_command_loads_neither_the_server_nor_more_than_its_part(tmp_path: Path) -> None:
    cloud = Cloud(data=str(tmp_path / "data"))
    cloud.freeze()
    names = scene(cloud, tmp_path)
    cloud.close()
    uses = {**ALIVE, **HOSTLESS}
    light = [name for name in uses if name not in admin_commands.WHOLE_SERVER]
    # Doctor reports stored mail and missing workers.
    commands = [(name, f"{name} {uses[name].format(**names)}", name in (*HOSTLESS, "doctor")) for name in light]
    seen = examined(commands, SERVER, tmp_path / "data")
    assert [command[0] for command in seen] == light
    needless = {name: set(wrong) - (PARTS_OF_OPERATIONS if name == OPERATIONS else set()) for name, _, wrong, _ in seen}
    assert {name: modules for name, modules in needless.items() if modules} == {}
    assert {name: refused for name, _, _, refused in seen if refused} == {}
    most = {OPERATIONS: MOST_WITH_OPERATIONS}
    assert {name: mine for name, mine, _, _ in seen if mine > most.get(name, MOST)} == {}


def loaded(server: Process) -> set[str]:
    """Return the packages that a process logged while importing."""
    lines = [line for line in server.log().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.both
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_server_starts_and_serves_without_sqlalchemy(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Start on an empty database, then on the same again. Only a filter has no prepared statement."""
    write_statements()
    flags = ["--data", str(tmp_path / "data")]
    lists = [listed.path for listed in registry.ENDPOINTS if listed.method == "GET" and "{" not in listed.path]
    assert len(lists) > 50
    if database == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        flags += ["--database", server.address(server.empty())]
    for _ in range(2):
        with serving(*flags, program=(sys.executable, "-X", "importtime", "-c", NEVER_READY)) as process:
            with process.client() as client:
                made = client.post("/v4/compute/instances", json=NEW)
                assert made.status_code == 200, made.text
                assert client.post("/_sandbox/clock/advance", json={"seconds": 40 * 86400}).status_code == 200
                for path in lists:
                    assert client.get(f"/v4{path}").status_code in (200, 404), path
            assert "crofter" in loaded(process)
            assert loaded(process) & {"sqlalchemy", "alembic"} == set()
            with ThreadPoolExecutor(8) as threads:
                assert set(threads.map(partial(filtered, process), range(8))) == {200}
            assert "sqlalchemy" in loaded(process)


def filtered(process: Process, number: int) -> int:
    """Each is a statement of its own, and they come at once: the tables must be made for all of them once."""
    named = {"X-Filter": json.dumps({"+or": [{"label": "box"}] * (number + 1)})}
    with process.client(patient=True) as client:
        return client.get("/v4/compute/instances", headers=named).status_code


def test_a_command_that_loads_the_server_is_found(tmp_path: Path) -> None:
    Cloud(data=str(tmp_path)).close()
    (seen,) = examined([("rotate-key", "rotate-key", False)], SERVER, tmp_path)
    assert "crofter.registry" in seen[2]
    assert seen[1] > MOST


def test_every_command_is_examined_or_says_that_it_needs_the_whole_server() -> None:
    assert {*ALIVE, *HOSTLESS} | {*admin_commands.WHOLE_SERVER} == {*admin.COMMANDS}
    assert set(HOSTLESS) == set(NEED_A_HOST)
    for name in admin.COMMANDS:
        group = name.partition(" ")[0]
        assert name in admin_commands.MODULES or group in admin_commands.MODULES or group in admin_commands._OPENING


def test_the_registry_knows_every_table_and_reads_signatures_when_endpoints_are_called() -> None:
    done = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, check=True)
    read_at_the_start, tables = json.loads(done.stdout)
    assert read_at_the_start < 10
    # The process that opens an empty database first creates all tables, and imports the registry for that.
    assert set(tables) == set(metadata.tables)
