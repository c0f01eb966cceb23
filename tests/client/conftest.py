"""The command line in this process, against a cloud in this process: quick, and over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crofter import cli
from tests.cloud import Cloud

VARIABLES = ("URL", "TOKEN", "PROFILE", "CA")


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Crofter = Callable[..., CommandResult]


@pytest.fixture
def cloud(_sqlite_cloud: Cloud) -> Cloud:
    """Return a cloud on SQLite: the command line does not depend on the database."""
    _sqlite_cloud.reset()
    return _sqlite_cloud


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person who has configured nothing."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(f"CROFTER_{name}", raising=False)
    (tmp_path / "crofter").mkdir()
    return tmp_path / "crofter"


@pytest.fixture
def anybody(home: Path, capfd: pytest.CaptureFixture[str]) -> Crofter:
    """Run a command without credentials."""

    def run(*words: str) -> CommandResult:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        captured = capfd.readouterr()
        return CommandResult(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def crofter(cloud: Cloud, anybody: Crofter, monkeypatch: pytest.MonkeyPatch) -> Crofter:
    """Runs a command as ada, who owns an account."""
    monkeypatch.setenv("CROFTER_URL", cloud.url)
    monkeypatch.setenv("CROFTER_TOKEN", cloud.account(username="ada")["token"])
    return anybody
