"""``crofter login`` and ``crofter admin``, run as programs."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from crofter.cli import main
from tests import served
from tests.cloud import Cloud
from tests.login.visitor import PASSWORD, Visitor

CROFTER = [sys.executable, "-m", "crofter"]


def environment(home: Path) -> dict[str, str]:
    return served.environment(XDG_CONFIG_HOME=str(home), CROFTER_LOG="off")


@pytest.fixture
def cloud(_sqlite_cloud: Cloud) -> Cloud:
    """Return a cloud on SQLite: the command line does not depend on the database."""
    _sqlite_cloud.reset()
    return _sqlite_cloud


def sign_in(cloud: Cloud, visitor: Visitor, home: Path, decision: str) -> tuple[int, str]:
    """A person who runs ``crofter login`` and follows the address that it prints."""
    command = [*CROFTER, "login", "--url", cloud.url, "--no-browser", "--scopes", "account:read_only"]
    with subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        visitor.goes_to(program.stdout.readline().strip())
        assert "crofter command line" in visitor.page.text
        visitor.sends(username="ada", password=PASSWORD)
        visitor.goes_to(visitor.page.headers["location"])
        visitor.goes_to(visitor.sends(decision=decision).headers["location"])
        output = program.stdout.read()
    return program.returncode, output


def test_the_command_line_signs_in_and_out(cloud: Cloud, ada: Visitor, tmp_path: Path) -> None:
    code, output = sign_in(cloud, ada, tmp_path, "allow")
    assert (code, output) == (0, f"signed in to {cloud.url} as ada\n")
    file = tmp_path / "crofter" / "credentials.json"
    assert file.stat().st_mode & 0o777 == 0o600
    kept = json.loads(file.read_text())[cloud.url]
    mine = cloud.client(kept["access_token"])
    assert mine.get("/v4/profile").json()["username"] == "ada"
    apps = mine.get("/v4/profile/apps").json()["data"]
    assert [(app["label"], app["scopes"]) for app in apps] == [("crofter command line", "account:read_only")]
    assert mine.get("/v4/account/oauth-clients").json()["results"] == 0  # built-in client, which cannot be changed

    done = subprocess.run(
        [*CROFTER, "logout", "--url", cloud.url], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stdout == f"signed out of {cloud.url}\n"
    assert json.loads(file.read_text()) == {}
    assert cloud.client(kept["access_token"]).get("/v4/profile").status_code == 401


def test_commands_use_the_token_of_the_login_and_renew_it(cloud: Cloud, ada: Visitor, tmp_path: Path) -> None:
    """A token that has run out is replaced without a word, and the new one is kept."""
    assert sign_in(cloud, ada, tmp_path, "allow")[0] == 0
    file = tmp_path / "crofter" / "credentials.json"
    kept = json.loads(file.read_text())
    kept[cloud.url]["access_token"] = "run-out"
    file.write_text(json.dumps(kept))
    for _ in range(2):
        command = [*CROFTER, "account", "view", "--url", cloud.url, "-o", "json"]
        done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    renewed = json.loads(file.read_text())[cloud.url]
    assert renewed["username"] == "ada"
    assert renewed["access_token"] != "run-out"
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_command_line_is_turned_away(cloud: Cloud, ada: Visitor, tmp_path: Path) -> None:
    assert sign_in(cloud, ada, tmp_path, "cancel") == (1, "crofter: The user said no.\n")
    assert not (tmp_path / "crofter" / "credentials.json").exists()


def test_a_service_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    command = [*CROFTER, "login", "--url", "http://127.0.0.1:9", "--no-browser"]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("crofter: http://127.0.0.1:9/.well-known")


def test_an_interrupt_ends_a_login_without_a_trace(cloud: Cloud, tmp_path: Path) -> None:
    command = [*CROFTER, "login", "--url", cloud.url, "--no-browser"]
    with subprocess.Popen(
        command, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as login:
        assert login.stdout is not None
        assert login.stdout.readline().startswith("open this address")
        login.send_signal(signal.SIGINT)
        _, complaint = login.communicate(timeout=60)
    assert (login.returncode, complaint) == (130, "")


class Operator:
    """Types the commands of ``crofter admin``."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, screen: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._patch = patch
        self._screen = screen
        for name in [name for name in os.environ if name.startswith("CROFTER_")]:
            patch.delenv(name)

    def runs(self, *words: str, typed: str = "") -> tuple[int, str, str]:
        """Without a process of its own, whose start takes longer than everything that it does."""
        self._patch.setattr(sys, "stdin", io.StringIO(typed))
        self._screen.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["admin", *words, "--data", str(self.folder / "data")])
        out, err = self._screen.readouterr()
        code = ended.value.code
        return (code or 0, out, err) if not isinstance(code, str) else (1, out, f"{err}{code}\n")

    def sees(self, *words: str, typed: str = "") -> Any:
        code, output, complaint = self.runs(*words, "--json", typed=typed)
        assert code == 0, complaint
        return json.loads(output)


FIRST_START = "crofter: a new database: user admin, password [a-z0-9-]{23}, token ccp_"


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Operator:
    made = Operator(tmp_path, monkeypatch, capsys)
    code, _, stderr = made.runs("accounts", "list")
    assert (code, bool(re.match(FIRST_START, stderr))) == (0, True)
    return made


def test_an_operators_command_is_a_program(tmp_path: Path) -> None:
    """Run as a program: piped input, exit code and a line of output."""
    place = ["--data", str(tmp_path / "data")]
    made = served.run("admin", "users", "set-password", "admin", *place, env={"CROFTER_LOG": "off"}, typed=PASSWORD)
    assert (made.returncode, bool(re.match(FIRST_START, made.stderr))) == (0, True)
    refused = served.run("admin", "users", "set-password", "nobody", *place, typed=PASSWORD)
    assert (refused.returncode, refused.stderr) == (1, "crofter: there is no user nobody\n")


def test_an_operator_makes_accounts_and_users(operator: Operator) -> None:
    [opened] = operator.sees("accounts", "create", "carol", "carol@example.com")
    assert opened["username"] == "carol"
    operator.sees("users", "create", "dave", "dave@example.com", "--beside", "carol", "--restricted")
    users = operator.sees("users", "list")
    assert [(user["username"], user["restricted"]) for user in users] == [
        ("admin", False),
        ("carol", False),
        ("dave", True),
    ]
    assert users[1]["euuid"] == users[2]["euuid"] == opened["euuid"]
    assert [mail["to"] for mail in operator.sees("mails", "list")] == ["dave@example.com", "carol@example.com"]
    assert len(operator.sees("accounts", "list")) == 2


def test_an_operator_sets_passwords(operator: Operator) -> None:
    assert operator.sees("users", "set-password", "admin", typed=PASSWORD + "\n") == [{"username": "admin"}]
    [made] = operator.sees("users", "set-password", "admin", "--generate")
    assert re.fullmatch(r"([a-z2-9]{5}-){3}[a-z2-9]{5}", made["password"])
    assert operator.runs("users", "set-password", "admin", typed="weak\n")[0] == 1
    assert operator.runs("users", "set-password", "nobody", typed=PASSWORD)[2] == "crofter: there is no user nobody\n"


def test_an_operator_makes_lists_and_revokes_tokens(operator: Operator) -> None:
    [made] = operator.sees("tokens", "create", "admin", "--scopes", "computes:read_only", "--days", "3")
    assert made["token"].startswith("ccp_")
    tokens = operator.sees("tokens", "list", "--user", "admin")
    assert [(token["label"], token["scopes"]) for token in tokens] == [
        ("first token", "*"),
        ("made by the operator", "computes:read_only"),
    ]
    assert made["token"] not in json.dumps(tokens)
    operator.sees("tokens", "revoke", str(made["id"]))
    assert len(operator.sees("tokens", "list")) == 1
    assert operator.runs("tokens", "revoke", "99")[0] == 1
    assert operator.runs("tokens", "create", "admin", "--scopes", "moon")[2] == "crofter: moon is not a scope\n"


def test_an_operator_changes_the_master_key(operator: Operator) -> None:
    operator.sees("accounts", "create", "carol", "carol@example.com")
    before = (operator.folder / "data" / "secret.key").read_text()
    mails = operator.sees("mails", "list")
    code, output, _ = operator.runs("rotate-key")
    assert (code, "sealed values are under the new key" in output) == (0, True)
    after = (operator.folder / "data" / "secret.key").read_text()
    assert len(after.splitlines()) == 1
    assert after != before
    assert operator.sees("mails", "list") == mails


def test_an_operator_sees_whether_the_audit_log_is_whole(operator: Operator) -> None:
    operator.sees("tokens", "create", "admin")
    assert operator.runs("audit", "verify")[1] == "the audit log is whole\n"
    database = apsw.Connection(str(operator.folder / "data" / "crofter.db"))
    database.execute("UPDATE audit SET username = 'somebody else'")
    database.close()
    code, output, _ = operator.runs("audit", "verify")
    assert code == 1
    assert "it was altered" in output
