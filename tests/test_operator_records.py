"""Each command of `crofter admin` that was done leaves exactly one audit entry, with the name of who did it."""

from __future__ import annotations

import getpass
import io
import shlex
from pathlib import Path
from typing import Any

import pytest

from crofter import audit
from crofter.bootstrap import build_runtime
from crofter.cli import admin
from crofter.config import load
from crofter.context import Runtime
from crofter.db import query
from crofter.db.sql import func, select
from crofter.engine.tables import operation
from crofter.resources.billing.store import payment
from crofter.resources.users.store import user
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.resources.compute import deploy
from tests.test_staff import AdminCommands

BY_EVE = f"staff eve ({getpass.getuser()})"
ALIVE = {
    "accounts create": "carol carol@example.com",
    "accounts list": "",
    "users create": "dan dan@example.com --beside alice",
    "users list": "",
    "users set-password": "dan --generate",
    "tokens create": "dan",
    "tokens list": "--user dan",
    "tokens revoke": "1",
    "users reset-two-factor": "alice",
    "users delete": "dan",
    "operations list": "",
    "operations retry": "{operation}",
    "operations cancel": "{operation}",
    "accounts credit": "{alice} 12.50",
    "accounts refund": "1 5",
    "mails list": "",
    "tickets list": "",
    "tickets show": "1",
    "tickets answer": "1 Hello",
    "tickets save": "1 log.txt --to {folder}/log.txt",
    "tickets close": "1",
    "tickets open": "{alice} Spam Text",
    "managed services": "",
    "managed credentials": "{alice}",
    "managed decrypt": "1",
    "managed ssh-key": "{alice}",
    "managed disable": "{alice}",
    "maintenance schedule": "{instance} 2040-01-01T00:00:00 Why",
    "maintenance list": "",
    "maintenance cancel": "1",
    "addresses add": "eu-west 203.0.113.0/24",
    "addresses list": "",
    "addresses whose": "{address}",
    "addresses remove": "203.0.113.0/24",
    "hosts certificate": "node1.example --to {folder}/node1",
    "hosts list": "",
    "hosts reconcile": "",
    "images list": "",
    "accounts suspend": "{alice}",
    "accounts resume": "{alice}",
    "accounts close": "{alice}",
    "clock show": "",
    "clock accept": "",
    "doctor": "",
    "backup": "{folder}/backup",
    "audit show": "{alice}",
    "audit verify": "",
    "audit checkpoint": "{folder}/checkpoint",
}
"""One good use of each command, in an order in which they work, beside a running server."""
STOPPED = {"restore": "{folder}/backup --replace", "rotate-key": "", "clock back": ""}
"""The same, for those that want the server to be stopped."""
BEGINNINGS = ("init", "move")
"""Commands that need a new database."""
NEED_A_HOST = ("hosts add", "hosts drain", "hosts fence", "hosts remove", "images import")
"""Commands for real machines; tests/drivers/test_real_machines.py uses them."""

_ENTRIES = query(
    select(audit.audit.c.account_id, audit.audit.c.number, audit.audit.c.username, audit.audit.c.operation),
    lambda account, number, username, operation: (account, number, username, operation),
)

_QUEUED = query(
    select(func.max(operation.c.id)).where(operation.c.state == "queued", operation.c.event_id.is_not(None))
)


@pytest.fixture
def cloud(cloud_in_folder: Cloud) -> Cloud:
    cloud_in_folder.freeze()
    return cloud_in_folder


def entries(runtime: Runtime) -> set[Any]:
    with runtime.database.read() as db:
        assert audit.verify(runtime.keyring, db) == []
        return set(db.all(_ENTRIES))


def scene(cloud: Cloud, folder: Path) -> dict[str, Any]:
    """Create a managed account with a ticket, a file, a credential and an instance."""
    account = cloud.account(username="alice", managed=True)
    alice = cloud.client(account["token"])
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."})
    alice.post("/v4/support/tickets/1/attachments", files={"file": ("log.txt", b"hello")})
    alice.post("/v4/managed/credentials", json={"label": "prod", "username": "root", "password": "hunter2"})
    instance = deploy(cloud, alice)
    body = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian12", "root_pass": "correct-horse-9"}
    assert alice.post("/v4/compute/instances", json=body).status_code == 200  # stays queued, since time stands
    with cloud.runtime.database.write() as db:
        db.update(user, {"username": "alice"}, tfa_enabled=True)
        db.insert(payment, account_id=2, date="2020-01-01T00:00:00", amount=10_000_000, reference="x")
        queued = db.value(_QUEUED)
    (address,) = alice.get(f"/v4/compute/instances/{instance}").json()["ipv4"]
    names = {"alice": account["euuid"], "instance": instance, "address": address}
    return {**names, "folder": folder, "operation": queued}


def test_no_command_is_forgotten_here() -> None:
    assert sorted([*ALIVE, *STOPPED, *BEGINNINGS, *NEED_A_HOST]) == sorted(admin.COMMANDS)


@pytest.mark.both
@pytest.mark.usefixtures("short_keys")
def test_every_command_leaves_one_entry_with_a_name(
    cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = scene(cloud, tmp_path)
    admin = AdminCommands(capsys, tmp_path / "data", cloud.runtime.settings.database)
    for command, rest in ALIVE.items():
        before = entries(cloud.runtime)
        admin(*shlex.split(f"{command} {rest.format(**names)}"), "--as", "eve")
        (added,) = entries(cloud.runtime) - before
        assert added[2:] == (BY_EVE, command)


def test_commands_that_want_the_server_stopped_leave_one_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load({"data": str(tmp_path / "data")}, {})
    admin = AdminCommands(capsys, tmp_path / "data")
    admin("accounts", "list")
    admin("backup", str(tmp_path / "backup"))
    for command, rest in STOPPED.items():
        before = all_of(settings)
        admin.read(*shlex.split(f"{command} {rest.format(folder=tmp_path)}"), "--as", "eve")
        (added,) = [entry for entry in all_of(settings) - before if entry[2] == BY_EVE]
        assert added[3] == command


def test_what_a_database_begins_with_leaves_one_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], postgres_server: PostgresServer
) -> None:
    folder, target = str(tmp_path / "data"), postgres_server.address(postgres_server.empty())
    admin = AdminCommands(capsys, tmp_path / "data")
    admin("init", "--as", "eve")
    begun = all_of(load({"data": folder}, {}))
    assert [entry[2:] for entry in begun] == [(BY_EVE, "init")]
    admin("move", target, "--as", "eve")
    (added,) = all_of(load({"data": folder, "database": target}, {})) - begun
    assert added[2:] == (BY_EVE, "move")


def all_of(settings: Any) -> set[Any]:
    runtime = build_runtime(settings)
    try:
        return entries(runtime)
    finally:
        runtime.database.close()


def test_without_a_name_it_is_the_user_of_the_machine(
    cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = AdminCommands(capsys, tmp_path / "data", cloud.runtime.settings.database)
    monkeypatch.setattr("sys.stdin", io.StringIO("correct-horse-battery-9\n"))
    admin("users", "set-password", "admin")
    (account,) = admin("accounts", "list")
    (entry,) = [
        shown_entry
        for shown_entry in admin("audit", "show", account["euuid"])
        if shown_entry["operation"] == "users set-password"
    ]
    assert (entry["username"], entry["fields"]) == (f"staff {getpass.getuser()}", ["password"])
    assert entry["path"] == "/v4/account/users/admin"
    shown = admin("audit", "show", "server")
    assert [shown_entry["operation"] for shown_entry in shown] == ["accounts list", "audit show"]


def test_a_command_that_was_refused_leaves_none(
    cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    account = cloud.account(username="bob")
    admin = AdminCommands(capsys, tmp_path / "data", cloud.runtime.settings.database)
    before = entries(cloud.runtime)
    admin("tokens", "create", "nobody", code=1)
    admin("tickets", "show", "9", code=1)
    admin("managed", "ssh-key", account["euuid"], code=1)
    assert admin.stderr == "crofter: managed service is not enabled on this account\n"
    assert entries(cloud.runtime) == before
