"""Settings: flags over variables over a file, and a readable word when they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crofter.config import SettingsError, load

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
