"""The support staff's commands, beside a running server on the same database."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crofter import audit, clock
from crofter.cli import main
from tests.cloud import Cloud


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Cloud]:
    cloud = Cloud(data=str(tmp_path / "data"))
    yield cloud
    cloud.close()


class Desk:
    """Where somebody of the staff types commands."""

    def __init__(self, folder: Path, screen: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._screen = screen
        self.said = ""

    def __call__(self, *words: str, code: int = 0) -> Any:
        with pytest.raises(SystemExit) as ended:
            main(["admin", *words, "--data", str(self._folder), "--json"])
        shown = self._screen.readouterr()
        self.said = shown.err
        assert ended.value.code == code, shown
        return json.loads(shown.out) if shown.out.strip() else None

    def read(self, *words: str) -> str:
        with pytest.raises(SystemExit):
            main(["admin", *words, "--data", str(self._folder)])
        return self._screen.readouterr().out


@pytest.fixture
def staff(house: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path / "data", capsys)


def test_a_ticket_is_answered_while_the_server_runs(house: Cloud, staff: Desk) -> None:
    alice = house.person(username="alice")
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "It is \x1b[31mred\x1b[0m."})
    (listed,) = staff("tickets", "list")
    assert (listed["id"], listed["status"], listed["summary"]) == (1, "new", "Help")
    assert "\x1b" not in staff.read("tickets", "show", "1")
    staff("tickets", "answer", "1", "Better now?")
    assert alice.get("/v4/support/tickets/1").json()["status"] == "open"
    (reply,) = alice.get("/v4/support/tickets/1/replies").json()["data"]
    assert (reply["description"], reply["from_compute"]) == ("Better now?", True)
    assert [mail["to"] for mail in house.door.get("/_sandbox/outbox").json()["mails"]] == ["alice@example.com"]
    staff("tickets", "close", "1")
    assert staff("tickets", "list") == []
    assert [one["id"] for one in staff("tickets", "list", "--all")] == [1]
    staff("tickets", "answer", "1", "Too late.", code=1)
    assert "ticket 1 is closed" in staff.said


def test_an_answer_is_read_from_standard_input(house: Cloud, staff: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = house.person(username="alice")
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."})
    monkeypatch.setattr("sys.stdin", io.StringIO("A long\nanswer.\n"))
    staff("tickets", "answer", "1", "-", "--close")
    assert alice.get("/v4/support/tickets/1").json()["status"] == "closed"
    assert [one["text"] for one in staff("tickets", "show", "1")] == ["Please.", "A long\nanswer.\n"]


def test_an_abuse_ticket_is_opened(house: Cloud, staff: Desk) -> None:
    account = house.account(username="alice")
    staff("tickets", "open", account["euuid"], "Spam", "Your server sends spam.", "--nature", "abuse")
    alice = house.client(account["token"])
    assert alice.get("/v4/support/tickets/1").json()["closable"] is False
    assert alice.get("/v4/account/notifications").json()["data"][0]["type"] == "ticket_abuse"
    staff("tickets", "open", "nobody", "Spam", "Text", code=1)


def test_an_attached_file_is_saved_for_its_owner_alone(house: Cloud, staff: Desk, tmp_path: Path) -> None:
    alice = house.person(username="alice")
    alice.post("/v4/support/tickets", json={"summary": "Help", "description": "Please."})
    alice.post("/v4/support/tickets/1/attachments", files={"file": ("log.txt", b"hello")})
    target = tmp_path / "saved"
    staff("tickets", "save", "1", "log.txt", "--to", str(target))
    assert target.read_bytes() == b"hello"
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_credential_is_decrypted_on_record(house: Cloud, staff: Desk) -> None:
    account = house.account(username="dora", managed=True)
    dora = house.client(account["token"])
    dora.post("/v4/managed/credentials", json={"label": "prod", "username": "root", "password": "hunter2"})
    assert staff("managed", "credentials", account["euuid"]) == [{"id": 1, "label": "prod", "last_decrypted": None}]
    assert staff("managed", "decrypt", "1") == [{"username": "root", "password": "hunter2"}]
    assert dora.get("/v4/managed/credentials/1").json()["last_decrypted"] is not None
    with house.world.database.read() as db:
        last = list(audit.entries(db, 2))[-1]
        assert audit.verify(house.world.keyring, db) == []
    assert last.username.startswith("staff ")
    assert last.path == "/v4/managed/credentials/1"
    assert "PRIVATE KEY" in staff.read("managed", "ssh-key", account["euuid"])


def test_managed_service_is_ended_by_the_staff(house: Cloud, staff: Desk) -> None:
    account = house.account(username="dora", managed=True)
    dora = house.client(account["token"])
    body = {"label": "web", "service_type": "url", "address": "http://127.0.0.1:9/", "timeout": 5}
    dora.post("/v4/managed/services", json=body)
    assert [one["label"] for one in staff("managed", "services")] == ["web"]
    assert staff("managed", "services", "--problems") in ([], None)
    staff("managed", "disable", account["euuid"])
    assert dora.get("/v4/managed/services").status_code == 403
    assert dora.get("/v4/account/events").json()["data"][0]["action"] == "managed_disabled"
    staff("managed", "disable", account["euuid"], code=1)


def test_without_a_database_there_is_nothing_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(tmp_path / "nowhere", capsys)
    desk("tickets", "list", code=1)
    assert "there is no database" in desk.said
    assert not (tmp_path / "nowhere").exists()


def test_maintenance_is_announced_done_and_called_off(house: Cloud, staff: Desk) -> None:
    house.freeze()
    alice = house.person(username="alice")
    body = {"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian12", "root_pass": "correct-horse-9"}
    number = alice.post("/v4/compute/instances", json=body).json()["id"]
    house.settle()
    now = house.world.clock.now()
    assert staff("maintenance", "schedule", str(number), clock.text(now - 1000), "Too late", code=1) is None
    (first,) = staff("maintenance", "schedule", str(number), "2040-01-01T00:00:00", "Never")
    (second,) = staff("maintenance", "schedule", str(number), "2039-01-01T00:00:00", "New kernel")
    assert [one["reason"] for one in staff("maintenance", "list")] == ["New kernel", "Never"]
    shown = alice.get("/v4beta/account/maintenance").json()["data"]
    assert {(one["reason"], one["status"], one["type"]) for one in shown} == {
        ("Never", "pending", "reboot"),
        ("New kernel", "pending", "reboot"),
    }
    assert [one["type"] for one in alice.get("/v4/account/notifications").json()["data"]] == ["maintenance"] * 2
    staff("maintenance", "cancel", str(first["scheduled"]))
    staff("maintenance", "cancel", str(first["scheduled"]), code=1)
    assert "no maintenance" in staff.said
    assert [one["id"] for one in staff("maintenance", "list")] == [second["scheduled"]]
    staff("maintenance", "schedule", str(number), clock.text(now + clock.HOUR), "Tonight")
    house.advance(3700)
    actions = [event["action"] for event in alice.get("/v4/account/events").json()["data"]]
    assert actions[0] == "host_reboot"
    assert [one["status"] for one in staff("maintenance", "list")] == ["started", "pending"]
