"""The files of deploy/ are what they say: units that systemd takes, and alarms and boards about metrics that exist."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from crofter.cli import parser
from tests.cloud import Cloud

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
METRIC = re.compile(r"\bcrofter_[a-z_]+")
RULES = (DEPLOY / "prometheus" / "crofter.rules.yml").read_text()
PROGRAMS = f"{os.environ['PATH']}{os.pathsep}/usr/sbin"
BOARD = json.loads((DEPLOY / "grafana" / "crofter.json").read_text())


@pytest.fixture
def metrics(cloud: Cloud) -> set[str]:
    """Return the names of all metrics of a server."""
    cloud.admin.get("/v4/tags")
    text = cloud.sandbox.get("/metrics").text
    named = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    return named | {f"{name}_bucket" for name in named}


@pytest.mark.both
def test_alarms_and_panels_are_about_metrics_that_exist(metrics: set[str]) -> None:
    asked = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    alarms = re.findall(r"^        expr: (.+)$", RULES, re.MULTILINE)
    assert len(alarms) == RULES.count("- alert:") > 5
    for expression in (*asked, *alarms):
        assert expression.count("(") == expression.count(")"), expression
        assert set(METRIC.findall(expression)) <= metrics, expression


def test_panels_do_not_lie_upon_each_other() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in BOARD["panels"]]
    assert len(places) == len(set(places)) == len({panel["id"] for panel in BOARD["panels"]})


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_start_what_there_is_and_reload_by_signal(unit: Path) -> None:
    settings = configparser.RawConfigParser(strict=False)
    settings.optionxform = str  # type: ignore[assignment,method-assign]
    settings.read(unit)
    program, *words = settings["Service"]["ExecStart"].split()
    assert program.endswith("/crofter")
    parser().parse_args(words)
    assert settings["Service"]["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert (settings["Service"]["NoNewPrivileges"], settings["Service"]["ProtectSystem"]) == ("yes", "strict")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_are_taken_by_systemd(unit: Path, tmp_path: Path) -> None:
    local = tmp_path / unit.name
    local.write_text(unit.read_text().replace("/opt/crofter/.venv/bin/crofter", "/bin/true"))
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(local)], capture_output=True, text=True, timeout=60, check=False
    )
    assert [line for line in ended.stderr.splitlines() if unit.name in line] == []


@pytest.mark.skipif(shutil.which("promtool") is None, reason="there is no promtool")
def test_rules_are_taken_by_prometheus() -> None:
    rules = str(DEPLOY / "prometheus" / "crofter.rules.yml")
    subprocess.run(["promtool", "check", "rules", rules], check=True, timeout=60)


def test_proxies_hold_back_no_stream_and_say_who_calls() -> None:
    nginx, caddy = (DEPLOY / "nginx" / "crofter.conf").read_text(), (DEPLOY / "caddy" / "Caddyfile").read_text()
    assert nginx.count("{") == nginx.count("}")
    assert caddy.count("{") == caddy.count("}")
    for words in ("proxy_buffering off", "X-Forwarded-For $remote_addr", "proxy_set_header Host $host"):
        assert words in nginx
    directives = [line.split("#")[0].strip() for line in caddy.splitlines()]
    assert "flush_interval -1" in directives
    # Caddy sets the client's address itself, unless configured to trust another proxy.
    assert not [line for line in directives if line.startswith(("trusted_proxies", "header_up X-Forwarded"))]


@pytest.mark.skipif(shutil.which("caddy") is None, reason="there is no Caddy")
def test_the_example_is_taken_by_caddy(tmp_path: Path) -> None:
    homes = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(tmp_path))
    words = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "caddy" / "Caddyfile")]
    ended = subprocess.run(words, env={**os.environ, **homes}, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert '"level":"warn"' not in ended.stderr, ended.stderr


@pytest.mark.skipif(shutil.which("logrotate", path=PROGRAMS) is None, reason="there is no logrotate")
def test_the_example_is_taken_by_logrotate(tmp_path: Path) -> None:
    """Rotate the log and notify the server, which is a file here."""
    log, example = tmp_path / "crofter.log", (DEPLOY / "logrotate" / "crofter").read_text()
    (reload,) = re.findall(r"^        (systemctl .+)$", example, re.MULTILINE)
    local = example.replace("    su crofter crofter\n", "").replace("/var/log/crofter/", f"{tmp_path}/")
    (tmp_path / "example").write_text(local.replace(reload, f"touch {tmp_path}/reloaded"))
    log.write_text("a line\n")
    program = str(shutil.which("logrotate", path=PROGRAMS))
    words = [program, "--force", "--state", str(tmp_path / "state"), str(tmp_path / "example")]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "crofter.log.1").read_text() == "a line\n"
    assert not log.exists() or log.read_text() == ""
    assert (tmp_path / "reloaded").exists()
