"""In production the first password and token are in a file for the operator alone, and never in what is printed."""

from __future__ import annotations

from pathlib import Path

from tests.served import run, serving

PRODUCTION = {
    "CROFTER_MODE": "production",
    "CROFTER_SECRET_KEY": "5" * 64,
    "CROFTER_BASE_URL": "https://cloud.example",
    "CROFTER_BOOTSTRAP_TOKEN": "",
}


def kept(folder: Path) -> dict[str, str]:
    file = folder / "first-login.txt"
    assert file.stat().st_mode & 0o777 == 0o600
    return dict(line.split(None, 1) for line in file.read_text().splitlines())


def test_a_server_keeps_them_in_a_file(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path), env=PRODUCTION) as server:
        login = kept(tmp_path)
        with server.client(login["token"]) as client:
            assert client.get("/v4/profile").json()["username"] == login["user"] == "admin"
        printed = "\n".join(server.output) + server.log()
        assert login["password"] not in printed
        assert login["token"] not in printed
        assert str(tmp_path / "first-login.txt") in printed


def test_a_command_that_comes_first_does_too(tmp_path: Path) -> None:
    ended = run("admin", "accounts", "list", "--data", str(tmp_path / "data"), env=PRODUCTION)
    assert ended.returncode == 0, ended.stderr
    login = kept(tmp_path / "data")
    assert login["password"] not in ended.stdout + ended.stderr
    assert login["token"] not in ended.stdout + ended.stderr
