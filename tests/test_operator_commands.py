"""Effects of the operator's commands on accounts, users, money and operations, next to a running server."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from crofter.cli import doctor, host_certificates, operations
from crofter.engine.tables import operation
from crofter.resources.billing.store import payment
from tests.cloud import Cloud
from tests.served import CROFTER, environment
from tests.test_staff import AdminCommands


@pytest.fixture
def cloud(cloud_in_folder: Cloud) -> Cloud:
    cloud_in_folder.freeze()
    return cloud_in_folder


@pytest.fixture
def admin(cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AdminCommands:
    return AdminCommands(capsys, tmp_path / "data", cloud.runtime.settings.database)


@pytest.mark.both
def test_a_suspended_account_lets_nobody_in_until_it_is_resumed(cloud: Cloud, admin: AdminCommands) -> None:
    account = cloud.account(username="alice")
    alice = cloud.client(account["token"])
    alice.put("/v4/account", json={"company": "Garden \x1b[1mLtd"})
    listed = {row["euuid"]: row for row in admin("accounts", "list")}[account["euuid"]]
    assert (listed["username"], listed["suspended"], "\x1b" in listed["name"]) == ("alice", False, False)
    admin("accounts", "suspend", account["euuid"])
    assert alice.get("/v4/tags").status_code == 401
    admin("accounts", "suspend", account["euuid"], code=1)
    admin("accounts", "resume", account["euuid"])
    assert alice.get("/v4/tags").status_code == 200


def test_an_account_is_closed_whatever_it_owes(cloud: Cloud, admin: AdminCommands) -> None:
    account = cloud.account(username="alice", card="none")
    alice = cloud.client(account["token"])
    body = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian12", "root_pass": "correct-horse-9"}
    alice.post("/v4/compute/instances", json=body)
    cloud.settle()
    cloud.advance(3600 * 5)
    (closed,) = admin("accounts", "close", account["euuid"])
    assert float(closed["owed"]) > 0
    assert alice.get("/v4/account").status_code == 401
    cloud.settle()
    assert admin("operations", "list", "--state", "failed") == []
    admin("accounts", "close", account["euuid"], code=1)


def test_money_is_credited_and_refunded_to_the_cent(cloud: Cloud, admin: AdminCommands) -> None:
    account = cloud.account(username="alice")
    alice = cloud.client(account["token"])
    admin("accounts", "credit", account["euuid"], "12.50")
    assert alice.get("/v4/account").json()["balance"] == -12.5
    with cloud.runtime.database.write() as db:
        number = db.insert(payment, account_id=2, date="2020-01-01T00:00:00", amount=10_000_000, reference="x")
    assert admin("accounts", "refund", str(number), "7") == [{"payment": number, "refunded": "7.00", "left": "3.00"}]
    admin("accounts", "refund", str(number), "3.01", code=1)
    assert admin.stderr == f"crofter: of payment {number} 3.00 USD are left\n"
    admin("accounts", "refund", str(number), "3")
    assert alice.get("/v4/account").json()["balance"] == -2.5
    for wrong in ("0", "nan", "1.005", "x"):
        admin("accounts", "credit", account["euuid"], wrong, code=1)


def test_a_user_is_removed_with_its_tokens(cloud: Cloud, admin: AdminCommands) -> None:
    cloud.account(username="alice")
    admin("users", "create", "bobby", "bob@example.com", "--beside", "alice")
    (made,) = admin("tokens", "create", "bobby")
    bob = cloud.client(made["token"])
    assert bob.get("/v4/profile").status_code == 200
    admin("users", "delete", "bobby")
    assert bob.get("/v4/profile").status_code == 401
    admin("users", "delete", "alice", code=1)
    assert admin.stderr == "crofter: An account needs at least one unrestricted user\n"
    admin("users", "reset-two-factor", "alice", code=1)
    assert admin.stderr == "crofter: user alice has no second factor\n"


def test_a_doctor_says_what_is_wrong_and_what_to_do(
    cloud: Cloud, admin: AdminCommands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert all(row["ok"] for row in admin("doctor"))
    monkeypatch.setenv("CROFTER_MAIL", "smtp://127.0.0.1:1")
    monkeypatch.setenv("CROFTER_PROT", "1")
    checks = {row["check"]: row for row in admin("doctor", code=1)}
    assert sorted(name for name, row in checks.items() if not row["ok"]) == ["mail", "settings"]
    assert "CROFTER_PORT" in checks["settings"]["found"]
    assert [name for name, row in checks.items() if row["do"]] == ["settings", "mail"]
    (tmp_path / "data" / "secret.key").chmod(0o644)
    assert not {row["check"]: row["ok"] for row in admin("doctor", code=1)}["key"]


def test_a_doctor_does_not_wait_for_a_mail_server_that_never_comes_to_the_point(
    cloud: Cloud, admin: AdminCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "MAIL_SECONDS", 0.5)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            caller, _ = listening.accept()
            with caller:
                while not over.wait(0.05):
                    caller.sendall(b"220-hello\r\n")

        greeting = threading.Thread(target=greet)
        greeting.start()
        monkeypatch.setenv("CROFTER_MAIL", f"smtp://127.0.0.1:{listening.getsockname()[1]}")
        (wrong,) = [row for row in admin("doctor", code=1) if not row["ok"]]
        over.set()
        greeting.join()
    assert (wrong["check"], wrong["found"].partition(": ")[2]) == ("mail", "no answer within 0.5 seconds")


def test_who_has_read_enough_of_an_answer_is_shown_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([CROFTER, "config", "show"], env=environment(), stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.usefixtures("short_keys")
def test_a_doctor_tells_when_certificates_for_hosts_end(
    cloud: Cloud, admin: AdminCommands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    admin("hosts", "certificate", "node1.example", "--to", str(tmp_path / "node1"))
    certificates = [row for row in admin("doctor") if row["check"] == "certificate"]
    assert [row["found"].partition(",")[0] for row in certificates] == [
        "of the authority",
        "of the server",
        "of the authority for machines",
        "of host node1.example",
    ]
    assert all(row["ok"] and re.search(r"good until \d{4}-\d\d-\d\d$", row["found"]) for row in certificates)
    monkeypatch.setattr(host_certificates, "LIFE", timedelta(seconds=1))
    admin("hosts", "certificate", "node2.example", "--to", str(tmp_path / "node2"))
    bad = [row["found"].partition(",")[0] for row in admin("doctor", code=1) if not row["ok"]]
    assert bad == ["of host node2.example"]


@pytest.mark.parametrize(
    ("vlans", "network"),
    [
        ("1-100", "bridge:br0"),
        ("200-100", "bridge:br0"),
        ("100", "bridge:br0"),
        ("2-4095", "bridge:br0"),
        ("2-9", "user"),
    ],
)
def test_vlans_of_a_host_are_tags_of_its_bridge(admin: AdminCommands, vlans: str, network: str) -> None:
    host = ("us-east", "qemu+tls://nowhere.invalid/system", "--disk", "1000")
    admin("hosts", "add", *host, "--network", network, "--vlans", vlans, code=1)
    assert "VLANs are given as 100-199" in admin.stderr


def test_a_list_of_operations_that_is_cut_says_so(cloud: Cloud, admin: AdminCommands) -> None:
    now = cloud.runtime.clock.now()
    row = {"kind": "strange", "version": 1, "queue": "none", "cursor": "x", "state": "failed", "input": {}, "vars": {}}
    row |= {"due": now, "created": now, "finished": now}
    with cloud.runtime.database.write() as db:
        for _ in range(operations.MOST):
            db.insert(operation, **row)
    assert (len(admin("operations", "list")), admin.stderr) == (operations.MOST, "")
    with cloud.runtime.database.write() as db:
        db.insert(operation, **row)
    assert len(admin("operations", "list")) == operations.MOST
    assert admin.stderr == "crofter: these are the latest 200; there are more\n"


@pytest.mark.usefixtures("short_keys")
def test_files_that_root_makes_belong_to_the_owner_of_the_data_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = 65534 if os.geteuid() == 0 else os.getuid()  # without root's rights they belong to the owner anyway
    folder, outside = tmp_path / "owned", tmp_path / "outside"
    folder.mkdir()
    os.chown(folder, owner, owner if os.geteuid() == 0 else -1)
    outside.write_text("not ours")
    (folder / "link").symlink_to(outside)
    os.link(outside, folder / "second name")
    admin = AdminCommands(capsys, folder)
    admin("init")
    admin.read("rotate-key")
    admin("hosts", "certificate", "node1.example", "--to", str(tmp_path / "node1"))
    made = [path for path in folder.rglob("*") if path.name not in ("link", "second name")]
    assert {"crofter.db", "secret.key", "hosts", "cacert.pem"} <= {path.name for path in made}
    assert {path.stat().st_uid for path in made} == {owner}
    assert outside.stat().st_uid == os.getuid()
