"""A command loads what it needs and no more: every module of the server would take it half a second."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from crofter.cli import admin, admin_commands
from crofter.db import metadata
from tests.cloud import Cloud

LIGHT = (
    "accounts create bob bob@example.com",
    "accounts list",
    "users create eve eve@example.com --beside bob",
    "users set-password eve --generate",
    "users delete eve",
    "users list",
    "tokens create bob",
    "tokens list",
    "accounts suspend {euuid}",
    "accounts resume {euuid}",
    "accounts credit {euuid} 12.50",
    "tickets open {euuid} Spam Text",
    "tickets answer 1 Hello",
    "tickets list",
    "managed services",
    "managed credentials {euuid}",
    "maintenance list",
    "operations list",
    "mails list",
    "audit show {euuid}",
    "audit verify",
    "doctor",
)
SERVER = (
    "crofter.registry",
    "crofter.assembly",
    "crofter.edge",
    "crofter.engine.worker",
    "alembic",
    "uvicorn",
    "typst",
)
HOOKS = ("resources.billing.meters", "resources.events.visibility", "resources.instances.neighbours")
"""Where the registry tells lower resources of higher ones: without the registry, what these do is done in part."""

RUN = """
import contextlib, io, json, sys
from crofter.cli import main
commands, forbidden, data = json.loads(sys.argv[1])
euuid = ""
for command in commands:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            main(["admin", *command.format(euuid=euuid).split(), "--data", data, "--json"])
        except SystemExit as end:
            assert end.code == 0 or command == "doctor", command
    if command.startswith("accounts create"):
        euuid = json.loads(printed.getvalue())[0]["euuid"]
    loaded = [name for name in forbidden if name in sys.modules]
    assert not loaded, f"{command} loads {loaded}"
mine = sum(name.startswith("crofter") for name in sys.modules)
from crofter import registry
from crofter.db import metadata
print(json.dumps([mine, [endpoint.row for endpoint in registry.ENDPOINTS if "answers" in vars(endpoint)],
                  sorted(metadata.tables)]))
"""


def test_a_command_loads_neither_the_server_nor_what_only_the_registry_completes(tmp_path: Path) -> None:
    Cloud(data=str(tmp_path)).close()  # the first start makes every table, and must know them all
    forbidden = [*SERVER, *(f"crofter.{name}" for name in HOOKS)]
    given = json.dumps([LIGHT, forbidden, str(tmp_path)])
    done = subprocess.run([sys.executable, "-c", RUN, given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded, read_at_the_start, tables = json.loads(done.stdout)
    assert loaded < 130  # of more than four hundred
    assert len(read_at_the_start) < 10  # the signatures of endpoints: the others when they are first called
    # Whoever opens an empty database first makes all tables, and imports the registry for that.
    assert set(tables) == set(metadata.tables)


def test_every_command_is_light_or_says_that_it_needs_the_whole_server() -> None:
    light = {" ".join(name for name in line.split() if name in WORDS) for line in LIGHT}
    assert light.isdisjoint(admin_commands.WHOLE_SERVER)
    for name in admin.COMMANDS:
        group = name.partition(" ")[0]
        assert name in admin_commands.MODULES or group in admin_commands.MODULES or group in admin_commands._OPENING


WORDS = {word for name in admin.COMMANDS for word in name.split()}
