"""Draining of a host: running instances leave in turn, and failures are reported."""

from __future__ import annotations

import pytest
from httpx2 import Client

from crofter.cli import hosts
from crofter.drivers.hypervisor import DomainRef
from crofter.engine.tables import worker
from crofter.resources.instances import hypervisor_client, leaving, sweeping
from tests.cloud import Cloud
from tests.resources.compute import act, deploy, events, status
from tests.resources.test_sweeping import host_of


@pytest.fixture(autouse=True)
def no_waiting(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock advance while the command waits for instances to leave."""
    monkeypatch.setattr(hosts, "pause", cloud.settle)


@pytest.mark.both
def test_an_instance_leaves_its_host_and_runs_on(
    cloud: Cloud, alice: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    own = deploy(cloud, alice)
    host, event_count = host_of(cloud, own), len(events(alice))
    driver = hypervisor_client.hypervisor(cloud.runtime)
    since = driver.observe(DomainRef(host, own)).since
    hosts._move_away(cloud.runtime, host)
    there = host_of(cloud, own)
    assert there != host
    seen = driver.observe(DomainRef(there, own))
    assert (seen.ref.host, seen.power, seen.since) == (there, "on", since)
    assert (status(alice, own), len(events(alice))) == ("running", event_count), "its owner notices nothing"
    assert capsys.readouterr().err == f"instance {own}: on host {there}\n"
    assert sweeping.reconcile(cloud.runtime) == sweeping.Report()
    act(alice, own, "reboot")
    cloud.settle()
    assert status(alice, own) == "running"


def test_an_instance_that_is_off_stays(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False)
    host = host_of(cloud, own)
    hosts._move_away(cloud.runtime, host)
    assert host_of(cloud, own) == host


def test_an_instance_leaves_behind_what_its_owner_has_begun(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = deploy(cloud, alice)
    host = host_of(cloud, own)
    act(alice, own, "shutdown")
    hosts._move_away(cloud.runtime, host)
    assert (host_of(cloud, own), status(alice, own)) == (host, "offline"), "it was switched off first"


def test_an_instance_for_which_there_is_no_space_stays_and_that_is_told(
    cloud: Cloud, alice: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    own = deploy(cloud, alice)
    host = host_of(cloud, own)
    for other in hypervisor_client.hypervisor(cloud.runtime).hosts():
        if other.id != host:
            hypervisor_client.hypervisor(cloud.runtime).faults.maintenance(other.id, begins=True)  # type: ignore[attr-defined]
    hosts._move_away(cloud.runtime, host)
    assert (host_of(cloud, own), status(alice, own)) == (host, "running")
    assert capsys.readouterr().err == f"instance {own}: stays, and is shut down: {leaving.NO_SPACE}\n"


def test_nobody_waits_for_a_server_that_is_not_there(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    with cloud.runtime.database.write() as db:
        db.update(worker, {"works": True}, lease=0)
    with pytest.raises(ValueError, match="no server works"):
        hosts._move_away(cloud.runtime, host_of(cloud, own))
    hosts._move_away(cloud.runtime, 0)  # where nothing is, nothing is waited for
