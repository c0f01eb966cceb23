"""The contract of name server drivers, checked for each driver; and real name servers that serve the files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crofter.db import Database
from crofter.drivers.dns import NameServer, NotPublished, SimulatedNameServer, Zone, ZoneFiles
from crofter.drivers.dns.zonefiles import commands
from tests.drivers.dns_servers import BINARIES, RealServer, binary

NAME = "example.org"


def zone(serial: int, address: str = "192.0.2.1", name: str = NAME) -> Zone:
    lines = (
        f"$ORIGIN {name}.",
        "$TTL 300",
        f"@ IN SOA ns1.example.com. admin.{name}. {serial} 14400 14400 1209600 300",
        "@ IN NS ns1.example.com.",
        f"www IN A {address}",
        'long IN TXT "' + "x" * 255 + '" "' + "y" * 200 + '"',
        "a_b IN A 192.0.2.9",
        "@ IN MX 0 .",
        '@ IN CAA 0 issue "ca.example.net"',
    )
    return Zone(name, serial, lines, transfers=("127.0.0.1",))


@pytest.fixture(params=["sqlite", "postgresql", "bind", "nsd", "knot"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> NameServer:
    """The simulated one on each database, and files for each sort of real ones."""
    if request.param in ("sqlite", "postgresql"):
        name = "sqlite_database" if request.param == "sqlite" else "postgres_database"
        return SimulatedNameServer(request.getfixturevalue(name))
    return ZoneFiles(tmp_path / "zones", request.param, "")


def lines(driver: NameServer, name: str = NAME) -> tuple[str, ...] | None:
    published = driver.published(name)
    return None if published is None else published.lines


@pytest.mark.both
def test_what_is_published_is_served_until_it_is_withdrawn(driver: NameServer) -> None:
    assert lines(driver) is None
    driver.publish(zone(1))
    driver.publish(zone(1, name="*.example.net"))
    assert lines(driver) == zone(1).lines
    driver.withdraw(NAME)
    driver.withdraw(NAME)
    assert lines(driver) is None
    assert lines(driver, "*.example.net") is not None


def test_the_latest_zone_wins(driver: NameServer) -> None:
    driver.publish(zone(2))
    driver.publish(zone(1, "192.0.2.66"))
    driver.publish(zone(2, "192.0.2.66"))
    assert lines(driver) == zone(2).lines
    driver.publish(zone(3, "192.0.2.3"))
    assert lines(driver) == zone(3, "192.0.2.3").lines


def test_a_name_that_was_withdrawn_begins_anew(driver: NameServer) -> None:
    driver.publish(zone(7))
    driver.withdraw(NAME)
    driver.publish(zone(1))
    assert lines(driver) == zone(1).lines


def test_a_zone_may_be_copied_from_its_masters(driver: NameServer) -> None:
    driver.publish(zone(1))
    driver.publish(Zone(NAME, 2, (), masters=("192.0.2.53", "2001:db8::53")))
    published = driver.published(NAME)
    assert published is not None
    assert (published.serial, published.lines) == (2, ())


def test_the_simulated_server_survives_with_its_database(sqlite_database: Database) -> None:
    SimulatedNameServer(sqlite_database).publish(zone(1))
    again = SimulatedNameServer(sqlite_database)
    assert again.names() == [NAME]
    assert again.published(NAME) == zone(1)


# ---- files ----------------------------------------------------------------------------------------------------------


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_failed_reload_is_told_and_done_when_it_is_tried_again(tmp_path: Path) -> None:
    failing = script(tmp_path / "reload", f"test -e {tmp_path}/ready || {{ echo no server; exit 3; }}")
    driver = ZoneFiles(tmp_path / "zones", "bind", f"{failing} ; touch {tmp_path}/done")
    with pytest.raises(NotPublished, match=r"reload ended with 3: no server"):
        driver.publish(zone(1))
    assert not (tmp_path / "done").exists()
    (tmp_path / "ready").touch()
    driver.publish(zone(1))
    assert (tmp_path / "done").exists()


def test_the_command_gets_nothing_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROFTER_SECRET_KEY", "secret")
    reload = script(tmp_path / "reload", f'env > {tmp_path}/env; echo "$1" > {tmp_path}/word; pwd > {tmp_path}/pwd')
    ZoneFiles(tmp_path / "zones", "bind", f"{reload} '$HOME;x'").publish(zone(1))
    assert "secret" not in (tmp_path / "env").read_text()
    assert (tmp_path / "word").read_text() == "$HOME;x\n"
    assert (tmp_path / "pwd").read_text() == "/\n"
    with pytest.raises(NotPublished):
        ZoneFiles(tmp_path / "other", "bind", "/no/such/command").publish(zone(1))
    assert commands("a b ; c 'd e'") == [["a", "b"], ["c", "d e"]]


def test_a_crash_at_any_moment_leaves_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail at each rename: the old or the new zone is complete, and a repetition finishes the work."""
    real = Path.replace
    for crash_at in range(2):
        folder = tmp_path / str(crash_at)
        driver = ZoneFiles(folder, "nsd", "")
        driver.publish(zone(1))
        renames = iter(range(10))

        def rename(path: Path, target: Path, renames: Iterator[int] = renames, crash_at: int = crash_at) -> Path:
            if next(renames) == crash_at:
                raise KeyboardInterrupt
            return real(path, target)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", rename)
            with pytest.raises(KeyboardInterrupt):
                driver.publish(zone(2, "192.0.2.2"))
        text = (folder / f"{NAME}.zone").read_text().splitlines()
        assert tuple(text) in (zone(1).lines, zone(2, "192.0.2.2").lines)
        again = ZoneFiles(folder, "nsd", "")
        again.publish(zone(2, "192.0.2.2"))
        assert lines(again) == zone(2, "192.0.2.2").lines
        assert again.names() == [NAME]


# ---- real name servers ----------------------------------------------------------------------------------------------


@pytest.fixture(params=list(BINARIES))
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RealServer]:
    if binary(request.param) is None:
        pytest.skip(f"there is no {BINARIES[request.param]} on this machine")
    tmp_path.chmod(0o755)
    server = RealServer(request.param, tmp_path)
    ZoneFiles(server.zones, request.param, "").publish(zone(1, name="first.org"))  # some want a zone to start with
    server.start()
    yield server
    server.stop()


def test_a_real_name_server_serves_what_is_published(real: RealServer) -> None:
    driver = ZoneFiles(real.zones, real.server, real.reload)
    driver.publish(zone(10))
    real.until(lambda: real.serial(NAME) == 10)
    assert real.ask(f"www.{NAME}", "A") == ["192.0.2.1"]
    assert real.ask(f"a_b.{NAME}", "A") == ["192.0.2.9"]
    assert real.ask(NAME, "MX") == ["0 ."]
    assert real.ask(f"long.{NAME}", "TXT") == ['"' + "x" * 255 + '" "' + "y" * 200 + '"']
    changed = zone(11, "192.0.2.2")
    _touch_later(real.zones, lambda: driver.publish(changed))
    real.until(lambda: real.serial(NAME) == 11)
    assert real.ask(f"www.{NAME}", "A") == ["192.0.2.2"]
    driver.withdraw(NAME)
    real.until(lambda: not real.ask(f"www.{NAME}", "A"))
    assert real.ask("www.first.org", "A") == ["192.0.2.1"]


def _touch_later(folder: Path, publish: Callable[[], None]) -> None:
    """Name servers go by the time of a file, in seconds: one that is changed within the same second looks unchanged."""
    before = (folder / f"{NAME}.zone").stat().st_mtime
    os.utime(folder / f"{NAME}.zone", (before - 2, before - 2))
    publish()
