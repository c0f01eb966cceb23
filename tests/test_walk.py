"""docs/operating.md is walked as it is written: split roles on PostgreSQL behind a proxy, each alarm raised."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.walk import alarms, places, proxies
from tools.walk.__main__ import walk

from tests.databases import PostgresServer

INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
"""Debian's."""


PROXY = proxies.installed()


def test_the_page_is_walked_and_every_alarm_is_seen(tmp_path: Path, postgres_server: PostgresServer) -> None:
    seen = walk(tmp_path, postgres_server.address(postgres_server.empty()), long=False, proxy=PROXY)
    assert set(seen) == set(alarms.NAMES) - alarms.NEED_HOSTS - alarms.NEED_MAILS


def test_it_is_walked_behind_a_proxy() -> None:
    """Report a missing proxy as a skipped test."""
    if PROXY is None:
        pytest.skip("there is neither nginx nor Caddy: the page was walked without (Debian: apt-get install nginx)")


@pytest.mark.soak
@pytest.mark.parametrize("name", proxies.PROXIES)
def test_the_long_walk_has_backups_keys_and_a_step_that_hangs(
    tmp_path: Path, postgres_server: PostgresServer, name: str
) -> None:
    program = proxies.installed(name)
    if program is None:
        pytest.skip(f"there is no {name} (Debian: apt-get install {name})")
    seen = walk(tmp_path, postgres_server.address(postgres_server.empty()), long=True, proxy=program)
    assert set(seen) == set(alarms.NAMES) - alarms.NEED_HOSTS


@pytest.mark.soak
@pytest.mark.parametrize(
    "programs", INSTALLED or [None], ids=lambda programs: programs.parent.name if programs else "-"
)
def test_the_long_walk_on_what_is_installed(tmp_path: Path, programs: Path | None) -> None:
    if programs is None:
        pytest.skip("no PostgreSQL is installed (Debian 12: apt-get install postgresql-15)")
    with places.postgresql(programs) as database:
        walk(tmp_path, database, long=True, proxy=PROXY)
