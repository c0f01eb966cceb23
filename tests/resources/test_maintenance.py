"""Scheduled maintenance through HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import Client

from crofter import clock
from tests.cloud import Cloud
from tests.edge.people import restricted
from tests.resources.compute import deploy, entity, events, last, refused, status
from tests.resources.money import stand_at
from tests.resources.test_sweeping import host_of

URL = "/v4beta/account/maintenance"


def listed(client: Client, **wanted: Any) -> list[dict[str, Any]]:
    answer = client.get(URL, headers={"X-Filter": json.dumps(wanted)})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def tomorrow(cloud: Cloud, hours: int = 24) -> str:
    return clock.text(cloud.runtime.clock.now() // 1000 * 1000 + hours * clock.HOUR)


def test_there_is_none_at_first(cloud: Cloud, alice: Client) -> None:
    assert alice.get(URL).json() == {"data": [], "page": 1, "pages": 1, "results": 0}
    assert alice.get("/v4/account/maintenance").status_code == 404  # a beta endpoint


@pytest.mark.both
def test_maintenance_is_announced_begun_and_over(cloud: Cloud, alice: Client, mallory: Client) -> None:
    cloud.freeze()
    own = deploy(cloud, alice, label="web")
    when = tomorrow(cloud)
    cloud.fault("maintenance", compute_id=own, type="reboot", when=when, reason="A new kernel.")
    expected = {
        "entity": {"id": own, "label": "web", "type": "compute", "url": f"/v4/compute/instances/{own}"},
        "reason": "A new kernel.",
        "status": "pending",
        "type": "reboot",
        "when": when,
    }
    assert listed(alice) == [expected]
    assert listed(mallory) == []
    assert "maintenance" in {
        notification["type"] for notification in alice.get("/v4/account/notifications").json()["data"]
    }
    cloud.advance(24 * 3600 + 1)
    assert listed(alice) == [{**expected, "status": "started"}]
    event = last(alice, "host_reboot")
    assert entity(event["entity"])[:2] == ("compute", own)  # type: ignore[index]
    assert event["secondary_entity"]["type"] == "compute_config"
    cloud.advance(2 * 3600)
    assert listed(alice) == []
    assert (status(alice, own), last(alice, "host_reboot")["status"]) == ("running", "finished")


def test_a_cold_migration_moves_the_instance(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("maintenance", compute_id=own, type="cold_migration", when=tomorrow(cloud, 1))
    cloud.advance(3600)
    cloud.settle()
    assert (last(alice, "compute_migrate")["status"], status(alice, own)) == ("finished", "running")
    assert events(alice, "host_reboot") == []


def test_a_live_migration_moves_the_instance_while_it_runs(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    before = host_of(cloud, own)
    cloud.fault("maintenance", compute_id=own, type="live_migration", when=tomorrow(cloud, 1))
    cloud.advance(3600)
    cloud.settle()
    assert host_of(cloud, own) != before
    assert (status(alice, own), events(alice, "compute_migrate")) == ("running", [])


@pytest.mark.parametrize("kind", ["live_migration", "volume_migration"])
def test_some_maintenance_is_not_felt(cloud: Cloud, alice: Client, kind: str) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    own = deploy(cloud, alice)
    before = len(events(alice))
    cloud.fault("maintenance", compute_id=own, type=kind, when=tomorrow(cloud, 1))
    cloud.advance(2 * 3600 + 60)
    assert (status(alice, own), len(events(alice)), listed(alice)) == ("running", before, [])


def test_what_is_off_is_not_rebooted(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False)
    cloud.fault("maintenance", compute_id=own, when=tomorrow(cloud, 1))
    cloud.advance(3660)
    assert (status(alice, own), events(alice, "host_reboot")) == ("offline", [])
    assert listed(alice)[0]["status"] == "started"


def test_maintenance_goes_with_its_instance(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    cloud.fault("maintenance", compute_id=own, when=tomorrow(cloud, 1))
    alice.delete(f"/v4/compute/instances/{own}")
    cloud.settle()
    assert listed(alice) == []
    cloud.advance(2 * 3600)
    assert events(alice, "host_reboot") == []


def test_maintenance_is_filtered(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    first, second = deploy(cloud, alice), deploy(cloud, alice)
    cloud.fault("maintenance", compute_id=first, type="reboot", when=tomorrow(cloud, 1))
    cloud.fault("maintenance", compute_id=second, type="cold_migration", when=tomorrow(cloud, 48))

    def filtered(**wanted: Any) -> list[int]:
        return [maintenance["entity"]["id"] for maintenance in listed(alice, **wanted)]

    assert filtered() == [first, second]
    assert filtered(type="reboot") == [first]
    assert filtered(status="pending") == [first, second]
    assert filtered(when={"+gt": tomorrow(cloud, 24)}) == [second]
    assert filtered(**{"+order_by": "when", "+order": "desc"}) == [second, first]
    refused(alice.get(URL, headers={"X-Filter": '{"reason": "x"}'}), "Cannot filter on reason", "X-Filter")


def test_everybody_sees_what_they_may_view(cloud: Cloud, alice: Client) -> None:
    seen, hidden = deploy(cloud, alice), deploy(cloud, alice)
    for own in (seen, hidden):
        cloud.fault("maintenance", compute_id=own, when=tomorrow(cloud))
    bob = restricted(cloud, "bob", of="alice", compute={seen: "read_only"})
    assert [maintenance["entity"]["id"] for maintenance in listed(bob)] == [seen]
    for scope, code in (("maintenance:read_only", 200), ("account:read_write", 403)):
        assert cloud.client(cloud.token("alice", scope)).get(URL).status_code == code


@pytest.mark.parametrize(
    ("body", "field"), [({"type": "party"}, "type"), ({"when": "soon"}, "when"), ({"compute_id": 4711}, "compute_id")]
)
def test_maintenance_that_makes_no_sense_is_refused(
    cloud: Cloud, alice: Client, body: dict[str, Any], field: str
) -> None:
    own = deploy(cloud, alice)
    answer = cloud.sandbox.post("/_sandbox/faults", json={"kind": "maintenance", "compute_id": own, **body})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
