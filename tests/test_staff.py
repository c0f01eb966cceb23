"""The support staff's commands, beside a running server on the same database."""

from __future__ import annotations

import getpass
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from crofter import audit, clock
from crofter.cli import main
from crofter.drivers.hypervisor import DiskRef, DiskSpec, Empty, Order
from crofter.resources.instances import hypervisor_client
from crofter.resources.instances.store import instance
from tests.cloud import Cloud
from tests.observed import actions, mails
from tests.resources.compute import deploy


@pytest.fixture
def cloud(cloud_in_folder: Cloud) -> Cloud:
    return cloud_in_folder


class AdminCommands:
    """`crofter admin` as an operator types it."""

    def __init__(self, screen: pytest.CaptureFixture[str], folder: Path, database: str | None = None) -> None:
        self._place = ["--data", str(folder), *(["--database", database] if database else [])]
        self._screen = screen
        self.stderr = ""

    def __call__(self, *words: str, code: int = 0) -> Any:
        with pytest.raises(SystemExit) as ended:
            main(["admin", *words, *self._place, "--json"])
        shown = self._screen.readouterr()
        self.stderr = shown.err
        assert ended.value.code == code, shown
        return json.loads(shown.out) if shown.out.strip() else None

    def read(self, *words: str) -> str:
        with pytest.raises(SystemExit):
            main(["admin", *words, *self._place])
        return self._screen.readouterr().out


@pytest.fixture
def staff(cloud: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AdminCommands:
    return AdminCommands(capsys, tmp_path / "data", cloud.runtime.settings.database)


def recorded(cloud: Cloud, account_id: int = 2) -> list[tuple[str, str, str]]:
    """Return the audit entries of the staff on an account: operator, action and object."""
    with cloud.runtime.database.read() as db:
        assert audit.verify(cloud.runtime.keyring, db) == []
        entries = [entry for entry in audit.entries(db, account_id) if entry.username.startswith("staff ")]
    return [(entry.username, entry.operation, entry.path) for entry in entries]


ME = f"staff {getpass.getuser()}"


@pytest.mark.both
def test_a_ticket_is_answered_while_the_server_runs(cloud: Cloud, staff: AdminCommands) -> None:
    alice = cloud.person(username="alice")
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "It is \x1b[31mred\x1b[0m."})
    (listed,) = staff("tickets", "list")
    assert (listed["id"], listed["status"], listed["summary"]) == (1, "new", "Help")
    assert "\x1b" not in staff.read("tickets", "show", "1")
    staff("tickets", "answer", "1", "Better now?")
    assert alice.get("/v4/support/tickets/1").json()["status"] == "open"
    (reply,) = alice.get("/v4/support/tickets/1/replies").json()["data"]
    assert (reply["description"], reply["from_compute"]) == ("Better now?", True)
    assert [mail["to"] for mail in mails(cloud)] == ["alice@example.com"]
    staff("tickets", "close", "1")
    assert staff("tickets", "list") == []
    assert [ticket["id"] for ticket in staff("tickets", "list", "--all")] == [1]
    staff("tickets", "answer", "1", "Too late.", code=1)
    assert "ticket 1 is closed" in staff.stderr
    path = "/v4/support/tickets/1"
    assert recorded(cloud) == [(ME, "tickets answer", path), (ME, "tickets close", path)]


def test_people_who_share_a_login_say_who_they_are(cloud: Cloud, staff: AdminCommands) -> None:
    alice = cloud.person(username="alice")
    alice.post("/v4/support/tickets", json={"summary": "Help\nme", "description": "Please."})
    staff("tickets", "answer", "1", "Gladly.", "--as", "eve\x1b")
    assert recorded(cloud)[0][0] == f"staff eve\N{REPLACEMENT CHARACTER} ({getpass.getuser()})"
    (mail,) = mails(cloud)
    assert mail["subject"] == "[Ticket 1] Help me"


def test_the_record_of_an_account_is_shown(cloud: Cloud, staff: AdminCommands) -> None:
    account = cloud.account(username="alice")
    alice = cloud.client(account["token"])
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."})
    staff("tickets", "answer", "1", "Gladly.")
    asked, answered = staff("audit", "show", account["euuid"])
    assert (asked["username"], asked["fields"]) == ("alice", ["description", "summary"])
    assert (answered["username"], answered["operation"], answered["number"]) == (ME, "tickets answer", 2)
    assert staff("audit", "show", account["euuid"], "--last", "1") == [answered]
    assert ME in staff.read("audit", "show", account["euuid"])


TEXT = "a text has 1 to 65000 characters"
SUMMARY = "a summary has 1 to 64 characters"
WRONG = {
    "audit show nobody": "there is no account nobody",
    "tickets show 9": "there is no ticket 9",
    "tickets answer 9 Hello": "there is no ticket 9",
    "tickets answer 2 Hello": "ticket 2 is closed",
    "tickets answer 1 ''": TEXT,
    "tickets answer 1 ' '": TEXT,
    "tickets answer 1 {long}": TEXT,
    "tickets close 9": "there is no ticket 9",
    "tickets close 2": "ticket 2 is closed",
    "tickets open nobody Spam Text": "there is no account nobody",
    "tickets open {alice} '' Text": SUMMARY,
    "tickets open {alice} {long:.65} Text": SUMMARY,
    "tickets open {alice} Spam ' '": TEXT,
    "tickets open {alice} Spam {long}": TEXT,
    "tickets open {alice} Spam Text --compute 9": "there is no instance 9",
    "tickets open {bob} Spam Text --compute {instance}": "instance {instance} is not of this account",
    "tickets save 9 log.txt --to {new}": "there is no ticket 9",
    "tickets save 1 a.txt --to {new}": "there is no file a.txt in ticket 1",
    "tickets save 2 log.txt --to {new}": "there is no file log.txt in ticket 2",
    "tickets save 1 log.txt --to {new}/a": "cannot write {new}/a: No such file or directory",
    "tickets save 1 log.txt --to {old}": "cannot write {old}: File exists",
    "managed credentials nobody": "there is no account nobody",
    "managed decrypt 9": "there is no credential 9",
    "managed ssh-key nobody": "there is no account nobody",
    "managed disable nobody": "there is no account nobody",
    "managed disable {bob}": "managed service is not enabled on this account",
    "maintenance schedule 9 2040-01-01T00:00:00 Why": "there is no instance 9",
    "maintenance schedule {instance} tomorrow Why": "tomorrow is no moment like 2030-12-31T23:00:00",
    "maintenance schedule {instance} 2020-01-01T00:00:00 Why": "2020-01-01T00:00:00 is over",
    "maintenance cancel 9": "there is no maintenance 9 that has not begun",
    "addresses add nowhere 203.0.113.0/24": "there is no region nowhere",
    "addresses add eu-west 203.0.113.7/24": "203.0.113.7/24 is no IPv4 network like 203.0.113.0/24: "
    "203.0.113.7/24 has host bits set",
    "addresses add eu-west 10.0.0.0/8": "10.0.0.0/8 is too large: at most /16, and several of them if need be",
    "addresses add eu-west 203.0.113.0/32": "203.0.113.0/32 has no address that could be given out "
    "beside its gateway 203.0.113.0",
    "addresses add us-east 203.0.113.0/24": "built-in addresses of us-east are in use (1): add networks first",
    "addresses remove 203.0.113.0/24": "203.0.113.0/24 is no network of any region",
}
"""Commands with a single thing wrong in each, and what is said of it."""


def test_what_is_wrong_is_said_in_a_line_and_leaves_no_trace(
    cloud: Cloud, staff: AdminCommands, tmp_path: Path
) -> None:
    account, other = cloud.account(username="alice", managed=True), cloud.account(username="bob")
    alice = cloud.client(account["token"])
    for summary in ("Help", "Thanks"):
        alice.post("/v4/support/tickets", json={"summary": summary, "description": "Please."})
    alice.post("/v4/support/tickets/1/attachments", files={"file": ("log.txt", b"hello")})
    alice.post("/v4/support/tickets/2/close", json={})
    (tmp_path / "old").write_text("mine")
    names: dict[str, Any] = {
        "alice": account["euuid"],
        "bob": other["euuid"],
        "instance": deploy(cloud, alice),
        "long": "x" * 65001,
    }
    names |= {"new": tmp_path / "new", "old": tmp_path / "old"}
    for command, words in WRONG.items():
        staff(*shlex.split(command.format(**names)), code=1)
        assert staff.stderr == f"crofter: {words.format(**names)}\n", command
    assert (recorded(cloud), recorded(cloud, 3)) == ([], [])
    assert (sorted(file.name for file in tmp_path.iterdir()), names["old"].read_text()) == (["data", "old"], "mine")
    assert [ticket["status"] for ticket in alice.get("/v4/support/tickets").json()["data"]] == ["new", "closed"]


def test_a_ticket_is_shown_with_what_it_is_about(cloud: Cloud, staff: AdminCommands) -> None:
    account = cloud.account(username="alice", managed=True)
    alice = cloud.client(account["token"])
    number = alice.post("/v4/compute/instances", json={"region": "us-east", "type": "g6-nanode-1", "label": "web-1"})
    words = {"summary": "Help", "description": "Please."}
    alice.post("/v4/support/tickets", json={**words, "compute_id": number.json()["id"]})
    alice.post("/v4/support/tickets", json={**words, "vlan": "back", "region": "us-east"})
    shown = staff.read("tickets", "show", "1").splitlines()
    assert shown[:3] == [
        "1  Help  (new)",
        f"account: {account['euuid']}",
        f"about: compute web-1  /v4/compute/instances/{number.json()['id']}",
    ]
    assert staff("tickets", "show", "2")[0]["about"] == "/v4beta/networking/vlans?region=us-east"
    alice.post("/v4/support/tickets", json={**words, "managed_issue": True})
    assert [ticket["nature"] for ticket in staff("tickets", "list")] == ["managed", "customer", "customer"]


def test_an_answer_is_read_from_standard_input(
    cloud: Cloud, staff: AdminCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = cloud.person(username="alice")
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."})
    monkeypatch.setattr("sys.stdin", io.StringIO("A long\nanswer.\n"))
    staff("tickets", "answer", "1", "-", "--close")
    assert alice.get("/v4/support/tickets/1").json()["status"] == "closed"
    assert [reply["text"] for reply in staff("tickets", "show", "1")] == ["Please.", "A long\nanswer.\n"]


def test_an_abuse_ticket_is_opened(cloud: Cloud, staff: AdminCommands) -> None:
    account = cloud.account(username="alice")
    staff("tickets", "open", account["euuid"], "Spam", "Your server sends spam.", "--nature", "abuse")
    alice = cloud.client(account["token"])
    assert alice.get("/v4/support/tickets/1").json()["closable"] is False
    assert alice.get("/v4/account/notifications").json()["data"][0]["type"] == "ticket_abuse"
    (mail,) = mails(cloud)
    assert (mail["to"], mail["subject"]) == ("alice@example.com", "[Ticket 1] Spam")
    assert recorded(cloud) == [(ME, "tickets open", "/v4/support/tickets/1")]


def test_a_ticket_about_an_instance_is_opened(cloud: Cloud, staff: AdminCommands) -> None:
    account = cloud.account(username="alice")
    alice = cloud.client(account["token"])
    body = {"region": "us-east", "type": "g6-nanode-1", "label": "web-1"}
    number = alice.post("/v4/compute/instances", json=body).json()["id"]
    about = ("Spam", "It sends spam.", "--nature", "abuse", "--compute", str(number))
    staff("tickets", "open", account["euuid"], *about)
    assert alice.get("/v4/support/tickets/1").json()["entity"]["label"] == "web-1"


def test_an_attached_file_is_saved_for_its_owner_alone(cloud: Cloud, staff: AdminCommands, tmp_path: Path) -> None:
    alice = cloud.person(username="alice")
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."})
    alice.post("/v4/support/tickets/1/attachments", files={"file": ("log.txt", b"hello")})
    target = tmp_path / "saved"
    staff("tickets", "save", "1", "log.txt", "--to", str(target))
    assert target.read_bytes() == b"hello"
    assert target.stat().st_mode & 0o777 == 0o600
    assert recorded(cloud) == [(ME, "tickets save", "/v4/support/tickets/1")]


def test_a_credential_is_decrypted_on_record(cloud: Cloud, staff: AdminCommands) -> None:
    account = cloud.account(username="dora", managed=True)
    dora = cloud.client(account["token"])
    dora.post("/v4/managed/credentials", json={"label": "prod", "username": "root", "password": "hunter2"})
    assert staff("managed", "credentials", account["euuid"]) == [{"id": 1, "label": "prod", "last_decrypted": None}]
    assert staff("managed", "decrypt", "1") == [{"username": "root", "password": "hunter2"}]
    assert dora.get("/v4/managed/credentials/1").json()["last_decrypted"] is not None
    assert "hunter2" in staff.read("managed", "decrypt", "1")
    assert "PRIVATE KEY" in staff.read("managed", "ssh-key", account["euuid"])
    decrypted = (ME, "managed decrypt", "/v4/managed/credentials/1")
    assert recorded(cloud) == [
        decrypted,
        decrypted,
        (ME, "managed ssh-key", "/v4/managed/credentials/sshkey"),
    ]


def test_managed_service_is_ended_by_the_staff(cloud: Cloud, staff: AdminCommands) -> None:
    account = cloud.account(username="dora", managed=True)
    dora = cloud.client(account["token"])
    body = {"label": "web", "service_type": "url", "address": "http://127.0.0.1:9/", "timeout": 5}
    dora.post("/v4/managed/services", json=body)
    assert [service["label"] for service in staff("managed", "services")] == ["web"]
    assert staff("managed", "services", "--problems") == []
    staff("managed", "disable", account["euuid"])
    assert dora.get("/v4/managed/services").status_code == 403
    assert dora.get("/v4/account/events").json()["data"][0]["action"] == "managed_disabled"
    staff("managed", "disable", account["euuid"], code=1)
    assert staff.stderr == "crofter: managed service is not enabled on this account\n"
    assert recorded(cloud) == [(ME, "managed disable", "/v4/account/settings")]


def test_without_a_database_there_is_nothing_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    admin = AdminCommands(capsys, tmp_path / "nowhere")
    admin("tickets", "list", code=1)
    assert "there is no database" in admin.stderr
    assert not (tmp_path / "nowhere").exists()


def test_maintenance_is_announced_done_and_called_off(cloud: Cloud, staff: AdminCommands) -> None:
    cloud.freeze()
    alice = cloud.person(username="alice")
    body = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian12", "root_pass": "correct-horse-9"}
    number = alice.post("/v4/compute/instances", json=body).json()["id"]
    cloud.settle()
    now = cloud.runtime.clock.now()
    assert staff("maintenance", "schedule", str(number), clock.text(now - 1000), "Too late", code=1) is None
    (first,) = staff("maintenance", "schedule", str(number), "2040-01-01T00:00:00", "Never")
    (second,) = staff("maintenance", "schedule", str(number), "2039-01-01T00:00:00", "New kernel")
    assert [maintenance["reason"] for maintenance in staff("maintenance", "list")] == ["New kernel", "Never"]
    shown = alice.get("/v4beta/account/maintenance").json()["data"]
    assert {(maintenance["reason"], maintenance["status"], maintenance["type"]) for maintenance in shown} == {
        ("Never", "pending", "reboot"),
        ("New kernel", "pending", "reboot"),
    }
    assert [notification["type"] for notification in alice.get("/v4/account/notifications").json()["data"]] == [
        "maintenance"
    ] * 2
    staff("maintenance", "cancel", str(first["scheduled"]))
    staff("maintenance", "cancel", str(first["scheduled"]), code=1)
    assert "no maintenance" in staff.stderr
    assert [maintenance["id"] for maintenance in staff("maintenance", "list")] == [second["scheduled"]]
    staff("maintenance", "schedule", str(number), clock.text(now + clock.HOUR), "Tonight")
    cloud.advance(3700)
    assert actions(alice)[0] == "host_reboot"
    assert [maintenance["status"] for maintenance in staff("maintenance", "list")] == ["started", "pending"]
    verbs = [operation for _, operation, _ in recorded(cloud)]
    assert verbs == ["maintenance schedule"] * 2 + ["maintenance cancel", "maintenance schedule"]


def test_what_hosts_and_the_database_disagree_about_is_reported(cloud: Cloud, staff: AdminCommands) -> None:
    alice = cloud.person(username="alice")
    own = deploy(cloud, alice)
    assert staff("hosts", "reconcile") == []
    with cloud.runtime.database.write() as db:
        (host,) = db.raw(f"SELECT host FROM instance WHERE id = {own}").fetchone()
        db.update(instance, {"id": own}, status="booting")
    hypervisor_client.hypervisor(cloud.runtime).ensure_disk(
        DiskRef(host, 4712), DiskSpec(100), Empty(), Order(1, "stray", 1, "stray")
    )
    reported = staff("hosts", "reconcile")
    assert [(row["what"], row["which"]) for row in reported] == [("orphans", f"d4712 on host {host}"), ("stuck", own)]
    assert staff("hosts", "reconcile") == reported  # nothing was changed
    assert "d4712" in staff.read("hosts", "reconcile")


def test_the_user_of_a_suspended_account_gets_a_token_that_works_once_it_is_resumed(
    cloud: Cloud, staff: AdminCommands
) -> None:
    euuid = cloud.account(username="carol")["euuid"]
    staff("accounts", "suspend", euuid)
    (made,) = staff("tokens", "create", "carol")
    client = cloud.client(made["token"])
    assert client.get("/v4/profile").status_code == 401
    staff("accounts", "resume", euuid)
    assert client.get("/v4/profile").json()["username"] == "carol"
