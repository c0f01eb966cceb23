"""Settings: flags over variables over a file, and a readable word when they cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crofter.cli import main
from crofter.config import SettingsError, complaints, load
from tests.served import run

PRODUCTION = {"mode": "production", "secret_key": "5" * 64, "base_url": "https://cloud.example"}


def test_without_any_setting_it_is_a_sandbox_on_this_machine() -> None:
    settings = load({}, {})
    assert (settings.host, settings.port, settings.data, settings.mode) == ("127.0.0.1", 8420, "./data", "sandbox")
    assert (settings.driver, settings.role, settings.workers) == ("simulated", "all", 1)
    assert "general" not in settings.rate_limits


def test_a_flag_is_heard_before_a_variable_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "crofter.toml"
    file.write_text('port = 1\nhost = "::1"\ndata = "from-file"\n')
    environ = {"CROFTER_PORT": "2", "CROFTER_HOST": "127.0.0.2", "CROFTER_CONFIG": str(file)}
    settings = load({"port": 3, "host": None}, environ)
    assert (settings.port, settings.host, settings.data) == (3, "127.0.0.2", "from-file")
    assert load({"config": str(file)}, {}).port == 1


def test_a_file_that_is_named_by_a_flag_replaces_the_one_of_the_variable(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("port = 1")
    (tmp_path / "b.toml").write_text("port = 2")
    flags, environ = {"config": str(tmp_path / "b.toml")}, {"CROFTER_CONFIG": str(tmp_path / "a.toml")}
    assert load(flags, environ).port == 2


def test_rate_limits_come_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "crofter.toml"
    file.write_text('[rate_limits]\ngeneral = "5 per 1 minute"\nstats = "7 per 1 second"\n')
    settings = load({"config": str(file)}, {"CROFTER_RATE_LIMIT_GENERAL": "9 per 2 hour"})
    assert (settings.rate_limits["general"], settings.rate_limits["stats"]) == ("9 per 2 hour", "7 per 1 second")


def test_production_has_the_limits_of_the_interface() -> None:
    limits = load(PRODUCTION, {}).rate_limits
    assert limits["general"] == "1600 per 2 minute"
    assert (limits["tickets"], limits["transfers"], limits["stats"]) == ("2 per 1 minute",) * 2 + ("100 per 1 minute",)


def test_an_address_that_others_can_reach_means_production() -> None:
    settings = load({**PRODUCTION, "mode": None, "host": "192.0.2.1", "behind_proxy": True}, {})
    assert settings.mode == "production"


@pytest.mark.parametrize(
    ("flags", "environ", "words"),
    [
        ({"mode": "toy"}, {}, "mode"),
        ({}, {"CROFTER_PORT": "many"}, "port"),
        ({"driver": "xen"}, {}, "there is no driver 'xen'"),
        ({"workers": 4}, {}, "SQLite is for one process"),
        ({"role": "api"}, {}, "SQLite is for one process"),
        ({"database": "mysql://x"}, {}, "postgresql://"),
        ({"mode": "sandbox", "host": "0.0.0.0"}, {}, "CROFTER_SANDBOX_KEY"),
        ({"host": "0.0.0.0"}, {}, "CROFTER_SECRET_KEY"),
        ({"mode": "production"}, {}, "CROFTER_SECRET_KEY"),
        ({"mode": "production", "secret_key": "short"}, {}, "secret key"),
        ({**PRODUCTION, "host": "192.0.2.1"}, {}, "needs TLS"),
        ({**PRODUCTION, "base_url": None}, {}, "production mode needs base_url"),
        ({**PRODUCTION, "base_url": ""}, {}, "base_url is an address like"),
        ({**PRODUCTION, "base_url": "cloud.example"}, {}, "base_url is an address like"),
        ({**PRODUCTION, "base_url": "https://"}, {}, "base_url is an address like"),
        ({**PRODUCTION, "base_url": "https://["}, {}, "base_url is an address like"),
        ({}, {"CROFTER_BASE_URL": "ftp://cloud.example"}, "base_url is an address like"),
        ({"config": "/no/such/file"}, {}, "cannot read /no/such/file"),
        ({}, {"CROFTER_RATE_LIMIT_LUNCH": "1 per 1 day"}, "no rate limit is called lunch"),
        ({}, {"CROFTER_RATE_LIMIT_GENERAL": "often"}, "written like"),
        ({"port": -1}, {}, "port"),
        ({"port": 65536}, {}, "port"),
        ({"threads": 0}, {}, "threads"),
        ({"workers": 0}, {}, "workers"),
        ({}, {"CROFTER_PROBE_NETWORKS": "us-east:10.0.0.0/8"}, "list of region=network"),
        ({}, {"CROFTER_PROBE_CERTIFICATES": "/no/such/file"}, "there is no /no/such/file"),
        ({}, {"CROFTER_BASE_URL": "nonsense"}, "base_url is an address like"),
        ({}, {"CROFTER_BASE_URL": "https://cloud.example:many"}, "base_url is an address like"),
        ({}, {"CROFTER_BASE_URL": "https://cloud example"}, "base_url is an address like"),
        ({}, {"CROFTER_BASE_URL": "https://me:secret@cloud.example"}, "base_url is an address like"),
        ({}, {"CROFTER_MAIL": "smtp://"}, "mail is an address like"),
        ({}, {"CROFTER_MAIL": "smtp://mail.example:x"}, "mail is an address like"),
        ({}, {"CROFTER_MAIL_FROM": "nobody"}, "mail_from is a sender like"),
        ({}, {"CROFTER_TLS_CERTIFICATE": "/no/such/file"}, "both tls_certificate and tls_key"),
        ({"tls_certificate": "/no/such", "tls_key": "/no/such"}, {}, "tls_certificate is a file"),
        ({}, {"CROFTER_CATALOGUE": "/no/such/folder"}, "catalogue is a folder"),
        ({}, {"CROFTER_PASSWORD_MEMORY": "0"}, "password_memory"),
    ],
)
@pytest.mark.both
def test_settings_that_cannot_be_served_are_refused_in_words(
    flags: dict[str, Any], environ: dict[str, str], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        load(flags, environ)


def test_a_sandbox_needs_no_address_of_its_own() -> None:
    assert load({}, {}).base_url is None
    assert load({"base_url": "http://localhost:8420/"}, {}).address == "http://localhost:8420"


@pytest.mark.parametrize("content", ["port = ", "= 3", "[[[", "porrt = 8420"])
def test_a_file_that_makes_no_sense_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "crofter.toml"
    file.write_text(content)
    with pytest.raises(SettingsError, match=r"crofter\.toml"):
        load({"config": str(file)}, {})


def test_a_variable_that_is_no_setting_is_told_with_the_nearest_one() -> None:
    environ = {"CROFTER_PROT": "1", "CROFTER_RATE_LIMIT_GENERAL": "1 per 1 day", "CROFTER_URL": "x", "HOME": "/"}
    assert complaints(environ) == ["CROFTER_PROT is no setting, and nothing reads it; the nearest is CROFTER_PORT"]
    assert complaints({"CROFTER_CONFIG": "/no/such/file", "CROFTER_PORT": "many"}) == []
    assert complaints({"CROFTER_TOKEN": "of the client", "CROFTER_PROFILE": "work"}) == []


def test_a_server_and_a_command_say_so_when_they_start(tmp_path: Path) -> None:
    warning = "CROFTER_MAILFROM is no setting, and nothing reads it; the nearest is CROFTER_MAIL_FROM"
    env = {"CROFTER_MAILFROM": "x@example.com", "CROFTER_LOG": "json"}
    listed = run("admin", "accounts", "list", "--data", str(tmp_path / "data"), env=env)
    assert (listed.returncode, f"crofter: {warning}\n" in listed.stderr) == (0, True)
    refused = run("serve", "--data", "/proc/nowhere", "--port", "0", env=env)  # the log begins before anything is made
    lines = [json.loads(line) for line in refused.stderr.splitlines() if line.startswith("{")]
    assert [(line["level"], line["message"]) for line in lines] == [("warning", warning)]


def shown(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, tuple[Any, str]]:
    with pytest.raises(SystemExit) as ended:
        main(["config", "show", "--origin", "--json", *words])
    assert ended.value.code == code
    return {row["setting"]: (row["value"], row["origin"]) for row in json.loads(capsys.readouterr().out)}


def test_settings_are_shown_with_where_they_came_from_and_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "crofter.toml"
    file.write_text('threads = 3\n[rate_limits]\nstats = "7 per 1 second"\n')
    for name, value in {
        "SECRET_KEY": "5" * 64,
        "MAIL": "smtp://me:hunter2@mail.example",
        "DATABASE": "postgresql://me:p@ss/w@db.example/x?password=again&a=1",
        "RATE_LIMIT_GENERAL": "9 per 2 hour",
    }.items():
        monkeypatch.setenv(f"CROFTER_{name}", value)
    settings = shown(capsys, "--config", str(file), "--port", "99")
    assert settings["port"] == (99, "--port")
    assert settings["threads"] == (3, str(file))
    assert settings["data"] == ("./data", "default")
    assert settings["secret_key"] == ("********", "CROFTER_SECRET_KEY")
    assert settings["mail"] == ("smtp://me:********@mail.example", "CROFTER_MAIL")
    assert settings["database"][0] == "postgresql://me:********@db.example/x?password=********&a=1"
    assert settings["rate_limit_stats"] == ("7 per 1 second", str(file))
    assert settings["rate_limit_general"] == ("9 per 2 hour", "CROFTER_RATE_LIMIT_GENERAL")


def test_settings_that_cannot_be_served_are_shown_all_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROFTER_BASE_URL", "nonsense")
    assert shown(capsys, code=1)["base_url"] == ("nonsense", "CROFTER_BASE_URL")
