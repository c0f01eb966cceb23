"""Shared fixtures: a cloud on each database, reset before every test."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from crofter.cli import host_certificates
from tests import disguise, selection
from tests.cloud import Cloud
from tests.databases import (
    PostgresServer,
    database,
    postgres_address,
    postgres_database,
    postgres_server,
    sqlite_database,
    sqlite_folder,
    sqlite_template,
)

pytest_plugins = ["tests.whole_run"]

__all__ = [
    "database",
    "postgres_address",
    "postgres_database",
    "postgres_server",
    "sqlite_database",
    "sqlite_folder",
    "sqlite_template",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    selection.addoption(parser)
    parser.addoption("--dialect", metavar="FILE", help="let all servers of this run speak this dialect")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--dialect")
    disguise.FILE = Path(file).resolve() if file else None
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script that runs tests in the background leaves it so
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selection.select(config, items)


def pytest_collection_finish() -> None:
    """Freeze the imported objects, as a server does after its start, so that collections skip them."""
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.fixture(scope="session")
def _sqlite_cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    yield cloud
    cloud.close()


@pytest.fixture(scope="session")
def _postgres_cloud(postgres_server: PostgresServer) -> Iterator[Cloud]:
    cloud = Cloud(postgres_server.address(postgres_server.create()))
    yield cloud
    cloud.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def cloud(request: pytest.FixtureRequest) -> Any:
    """A running cloud in the state of a first start."""
    made: Cloud = request.getfixturevalue("_sqlite_cloud" if request.param == "sqlite" else "_postgres_cloud")
    made.reset()
    return made


@pytest.fixture(params=["sqlite", "postgresql"])
def cloud_in_folder(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cloud]:
    """A cloud of the test's own whose files are in ``data``, for commands that open them beside it."""
    database = None
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.address(server.create())
    cloud = Cloud(database, data=str(tmp_path / "data"))
    yield cloud
    cloud.close()


@pytest.fixture
def alice(cloud: Cloud) -> httpx2.Client:
    """The owner of an account."""
    return cloud.person(username="alice")


@pytest.fixture
def mallory(cloud: Cloud) -> httpx2.Client:
    """The owner of another account, who should never notice alice's."""
    return cloud.person(username="mallory")


@pytest.fixture
def short_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """For certificates that have to last for a test: to find the primes of a good key takes a second."""
    monkeypatch.setattr(host_certificates, "_BITS", 1024)
