"""Configuration profiles of an instance through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client

from crofter.drivers.hypervisor import DomainRef
from crofter.resources.instances import hypervisor_client
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.compute import (
    act,
    configs,
    create,
    deploy,
    disks,
    entity,
    events,
    last,
    listed,
    refused,
    status,
)

URL = "/v4/compute/instances"
SLOTS = ("sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh")
HELPERS = ("devtmpfs_automount", "distro", "modules_dep", "network", "updatedb_disabled")
VLAN = {"purpose": "vlan", "label": "inside", "ipam_address": "10.0.0.1/24"}


@pytest.fixture
def own(alice: Client) -> int:
    """In a region of the next generation, so that it may have private networks."""
    return int(create(alice, region="us-southeast")["id"])


def add(client: Client, own: int, **body: Any) -> dict[str, Any]:
    answer = client.post(f"{URL}/{own}/configs", json={"label": "mine", "devices": {}, **body})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def machine(cloud: Cloud, own: int) -> Any:
    """Return the machine's definition in the hypervisor."""
    with cloud.runtime.database.read() as db:
        host = int(db.raw(f"SELECT host FROM instance WHERE id = {own}").fetchone()[0])
    return hypervisor_client.hypervisor(cloud.runtime).observe(DomainRef(host, own)).active


def test_a_profile_has_defaults_for_everything(cloud: Cloud, alice: Client, own: int) -> None:
    answer = alice.post(f"{URL}/{own}/configs", json={"label": "mine", "devices": {}})
    made = answer.json()
    assert answer.status_code == 200
    assert made == {
        "comments": "",
        "created": made["created"],
        "devices": dict.fromkeys(SLOTS),
        "helpers": dict.fromkeys(HELPERS, True),
        "id": made["id"],
        "initrd": None,
        "interfaces": [],
        "kernel": "compute/latest-64bit",
        "label": "mine",
        "memory_limit": 2048,
        "root_device": "/dev/sda",
        "run_level": "default",
        "updated": made["created"],
        "virt_mode": "paravirt",
    }
    assert alice.get(f"{URL}/{own}/configs/{made['id']}").json() == made
    assert configs(alice, own) == [made]
    event = last(alice, "compute_config_create")
    assert (event["status"], entity(event["entity"])[:2]) == ("notification", ("compute", own))  # type: ignore[index]
    url = f"{URL}/{own}/configs/{made['id']}"
    assert entity(event["secondary_entity"]) == ("compute_config", made["id"], "mine", url)


def test_the_network_helper_is_a_setting_of_the_account(cloud: Cloud, alice: Client) -> None:
    assert alice.put("/v4/account/settings", json={"network_helper": False}).status_code == 200
    own = deploy(cloud, alice)
    assert [config["helpers"]["network"] for config in configs(alice, own)] == [False]
    assert add(alice, own)["helpers"]["network"] is False
    assert add(alice, own, helpers={"network": True, "distro": False})["helpers"] == {
        **dict.fromkeys(HELPERS, True),
        "distro": False,
    }


@pytest.mark.both
def test_every_field_counts_and_reaches_the_machine(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False, region="us-southeast")
    root, swap = disks(alice, own)
    sent = {
        "label": "everything",
        "comments": "for tests",
        "devices": {"sda": {"disk_id": root["id"]}, "sdd": {"disk_id": swap["id"], "volume_id": None}, "sdb": None},
        "helpers": dict.fromkeys(HELPERS, False),
        "interfaces": [{"purpose": "public"}, VLAN],
        "kernel": "compute/grub2",
        "memory_limit": 1024,
        "root_device": "/dev/sdd",
        "run_level": "single",
        "virt_mode": "fullvirt",
    }
    made = add(alice, own, **sent)
    assert {name: made[name] for name in sent if name not in ("devices", "interfaces")} == {
        name: sent[name] for name in sent if name not in ("devices", "interfaces")
    }
    assert made["devices"]["sdd"] == {"disk_id": swap["id"], "volume_id": None}
    assert made["interfaces"] == [{"purpose": "public", "label": "", "ipam_address": ""}, VLAN]
    act(alice, own, "boot", config_id=made["id"])
    cloud.settle()
    running = machine(cloud, own)
    assert (running.memory, running.kernel, running.run_level, running.virt_mode) == (
        1024,
        "compute/grub2",
        "single",
        "fullvirt",
    )
    assert [(device.slot, device.disk) for device in running.devices] == [("sda", root["id"]), ("sdd", swap["id"])]
    assert [interface.purpose for interface in running.interfaces] == ["public", "vlan"]
    assert (running.helpers, running.root_device) == ((), "/dev/sdd")


def test_a_change_is_partial_and_counts_from_the_next_boot(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    (config,) = configs(alice, own)
    address = f"{URL}/{own}/configs/{config['id']}"
    answer = alice.put(address, json={"memory_limit": 512, "helpers": {"distro": False}, "comments": None})
    after = answer.json()
    changed = {name for name in after if after[name] != config[name]}
    assert changed <= {"memory_limit", "helpers", "comments", "updated"}
    assert (after["comments"], after["helpers"]["distro"], after["helpers"]["network"]) == (None, False, True)
    assert machine(cloud, own).memory == 2048
    act(alice, own, "reboot")
    cloud.settle()
    assert machine(cloud, own).memory == 512
    event = last(alice, "compute_config_update")
    assert (event["status"], entity(event["secondary_entity"])[:2]) == (  # type: ignore[index]
        "notification",
        ("compute_config", config["id"]),
    )
    # A response can be sent back.
    answer = alice.put(address, json=after)
    assert {**answer.json(), "updated": None} == {**after, "updated": None}


def test_nulls_change_nothing(cloud: Cloud, alice: Client, own: int) -> None:
    made = add(alice, own)
    nothing: dict[str, Any] = dict.fromkeys(
        "devices label helpers interfaces kernel memory_limit root_device run_level virt_mode".split()
    )
    for body in (nothing, {"helpers": {"network": None, "distro": None}}):
        answer = alice.put(f"{URL}/{own}/configs/{made['id']}", json=body)
        assert {**answer.json(), "updated": None} == {**made, "updated": None}


@pytest.mark.parametrize(
    ("body", "reason", "field"),
    [
        ({"devices": None}, "devices is required", "devices"),
        ({"label": None}, "label is required", "label"),
        ({"label": ""}, "Length must be 1-48 characters", "label"),
        ({"label": "x" * 49}, "Length must be 1-48 characters", "label"),
        ({"devices": {"sdz": {"disk_id": 1}}}, f"Must be one of {', '.join(SLOTS)}", "devices.sdz"),
        ({"devices": {"sda": {"disk_id": 4711}}}, "disk_id is not valid", "devices.sda.disk_id"),
        ({"devices": {"sda": {"volume_id": 4711}}}, "volume_id is not valid", "devices.sda.volume_id"),
        ({"kernel": "compute/none"}, "kernel is not valid", "kernel"),
        ({"memory_limit": 2049}, "Must be 0-2048", "memory_limit"),
        ({"memory_limit": -1}, "Must be 0-2147483647", "memory_limit"),
        ({"run_level": "init"}, "Must be one of default, single, binbash", "run_level"),
        ({"virt_mode": "hyper"}, "Must be one of paravirt, fullvirt", "virt_mode"),
        ({"interfaces": [{"purpose": "public"}] * 4}, "Must have 0-3 items", "interfaces"),
        ({"interfaces": [{"purpose": "public"}] * 2}, "Only one public interface is allowed", "interfaces"),
        ({"interfaces": [{}]}, "purpose is required", "interfaces[0].purpose"),
        ({"interfaces": [{"purpose": "vlan"}]}, "label is required", "interfaces[0].label"),
        (
            {"interfaces": [{"purpose": "vlan", "label": "no spaces"}]},
            "Must be 1-64 ASCII letters, numbers and dashes",
            "interfaces[0].label",
        ),
        (
            {"interfaces": [{**VLAN, "ipam_address": "10.0.0.1"}]},
            "Must be an IP address with a prefix length",
            "interfaces[0].ipam_address",
        ),
        ({"interfaces": [VLAN, VLAN]}, "VLAN labels must be unique within a configuration", "interfaces"),
        (
            {"interfaces": [{"purpose": "public", "label": "x"}]},
            "Must be empty for a public interface",
            "interfaces[0].label",
        ),
        (
            {"interfaces": [{"purpose": "public", "ipam_address": "10.0.0.1/24"}]},
            "Must be empty for a public interface",
            "interfaces[0].ipam_address",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    cloud: Cloud, alice: Client, own: int, body: dict[str, Any], reason: str, field: str
) -> None:
    refused(alice.post(f"{URL}/{own}/configs", json={"label": "mine", "devices": {}, **body}), reason, field)
    assert configs(alice, own) == events(alice, "compute_config_create") == []
    if None not in body.values():
        made = add(alice, own)
        refused(alice.put(f"{URL}/{own}/configs/{made['id']}", json=body), reason, field)


def test_an_item_that_makes_no_sense_hides_no_other(cloud: Cloud, alice: Client, own: int) -> None:
    interfaces = [{"purpose": "zzz"}, {"purpose": "public", "label": "v1"}]
    devices = {"sda": {"disk_id": "x"}, "sdb": {"disk_id": 4711}, "sdc": None}
    problems = [
        ("devices.sda.disk_id", "Must be of type Integer"),
        ("devices.sdb.disk_id", "disk_id is not valid"),
        ("interfaces[0].purpose", "Must be one of public, vlan"),
        ("interfaces[1].label", "Must be empty for a public interface"),
    ]
    made = add(alice, own)["id"]
    body = {"label": "mine", "devices": devices, "interfaces": interfaces}
    for answer in (
        alice.post(f"{URL}/{own}/configs", json=body),
        alice.put(f"{URL}/{own}/configs/{made}", json=body),
    ):
        assert (answer.status_code, errors(answer)) == (400, problems)


def test_a_slot_holds_one_thing_and_a_thing_one_slot(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, booted=False)
    root = disks(alice, own)[0]["id"]
    for devices, field in (
        ({"sda": {"disk_id": root}, "sdb": {"disk_id": root}}, "devices.sdb"),
        ({"sde": {"disk_id": root}}, "devices"),
    ):
        body = {"label": "x", "devices": devices, "virt_mode": "fullvirt"}
        answer = alice.post(f"{URL}/{own}/configs", json=body)
        assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, [field])
    made = add(alice, own, devices={"sde": {"disk_id": root}})
    answer = alice.put(f"{URL}/{own}/configs/{made['id']}", json={"virt_mode": "fullvirt"})
    assert answer.status_code == 400


def test_a_root_device_that_is_none_becomes_the_first_disk(cloud: Cloud, alice: Client, own: int) -> None:
    assert add(alice, own, root_device="nonsense")["root_device"] == "/dev/sda"
    assert add(alice, own, root_device="/dev/sdb")["root_device"] == "/dev/sdb"


def test_private_networks_need_a_region_that_has_them(cloud: Cloud, alice: Client) -> None:
    old = create(alice, region="us-east")["id"]
    answer = alice.post(f"{URL}/{old}/configs", json={"label": "x", "devices": {}, "interfaces": [VLAN]})
    refused(answer, "VLANs are not available in this region", "interfaces")


def test_a_region_has_ten_private_networks_of_an_account(cloud: Cloud, alice: Client, own: int) -> None:
    for number in range(10):
        add(alice, own, interfaces=[{"purpose": "vlan", "label": f"net-{number}"}])
    add(alice, own, interfaces=[{"purpose": "vlan", "label": "net-3"}])
    body = {"label": "x", "devices": {}, "interfaces": [{"purpose": "vlan", "label": "net-10"}]}
    refused(alice.post(f"{URL}/{own}/configs", json=body), "At most 10 VLANs are allowed in a region", "interfaces")


def test_networks_of_the_booted_profile_come_and_go_with_events(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, region="us-southeast")
    (config,) = configs(alice, own)
    address = f"{URL}/{own}/configs/{config['id']}"
    assert alice.put(address, json={"interfaces": [{"purpose": "public"}, VLAN]}).status_code == 200
    assert alice.put(address, json={"interfaces": []}).json()["interfaces"] == []
    (attached,), (detached,) = events(alice, "vlan_attach"), events(alice, "vlan_detach")
    for event in (attached, detached):
        assert (event["status"], event["entity"]["id"]) == ("notification", own)
        assert entity(event["secondary_entity"])[:3] == ("vlan", "inside", "inside")  # type: ignore[index]


def test_a_boot_with_another_profile_changes_networks_with_events(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, region="us-southeast", interfaces=[VLAN])
    assert [event["secondary_entity"]["id"] for event in events(alice, "vlan_attach")] == ["inside"]
    act(alice, own, "reboot")
    cloud.settle()
    (first,) = configs(alice, own)
    devices = {"sda": {"disk_id": first["devices"]["sda"]["disk_id"]}}
    other = [{"purpose": "vlan", "label": "outside"}]
    second = add(alice, own, devices=devices, interfaces=other)["id"]
    act(alice, own, "reboot", config_id=second)
    cloud.settle()
    assert [event["secondary_entity"]["id"] for event in events(alice, "vlan_attach")] == ["inside", "outside"]
    assert [event["secondary_entity"]["id"] for event in events(alice, "vlan_detach")] == ["inside"]
    act(alice, own, "shutdown")
    cloud.settle()
    act(alice, own, "boot", config_id=first["id"])
    cloud.settle()
    assert [event["secondary_entity"]["id"] for event in events(alice, "vlan_detach")] == ["inside", "outside"]


def test_whoever_loses_its_profile_leaves_its_networks(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice, region="us-southeast", interfaces=[VLAN], backups_enabled=True)
    backup = act(alice, own, "backups", label="before")["id"]
    cloud.settle()

    def vlan_events() -> list[tuple[str, str]]:
        listed_events = [*events(alice, "vlan_attach"), *events(alice, "vlan_detach")]
        return [
            (event["action"], event["secondary_entity"]["id"])
            for event in sorted(listed_events, key=lambda event: event["id"])
        ]

    attached, detached = ("vlan_attach", "inside"), ("vlan_detach", "inside")
    assert vlan_events() == [attached]
    act(alice, own, "rebuild", image="compute/debian11", root_pass="a-long-Winding-r0ad")
    cloud.settle()
    assert vlan_events() == [attached, detached]
    act(alice, own, f"backups/{backup}/restore", compute_id=own, overwrite=True)
    cloud.settle()
    assert vlan_events() == [attached, detached, attached]
    act(alice, own, f"backups/{backup}/restore", compute_id=own, overwrite=True)
    cloud.settle()
    assert vlan_events() == [attached, detached, attached, detached, attached]
    act(alice, own, "shutdown")
    cloud.settle()
    (config,) = configs(alice, own)
    assert alice.delete(f"{URL}/{own}/configs/{config['id']}").status_code == 200
    assert vlan_events()[5:] == [detached]


def test_a_profile_that_runs_is_not_deleted(cloud: Cloud, alice: Client) -> None:
    own = deploy(cloud, alice)
    (config,) = configs(alice, own)
    address = f"{URL}/{own}/configs/{config['id']}"
    assert alice.delete(address).status_code == 400
    spare = add(alice, own, label="spare")
    assert alice.delete(f"{URL}/{own}/configs/{spare['id']}").json() == {}
    event = last(alice, "compute_config_delete")
    assert (event["status"], entity(event["secondary_entity"])[2]) == ("notification", "spare")  # type: ignore[index]
    act(alice, own, "shutdown")
    cloud.settle()
    assert alice.delete(address).status_code == 200
    assert configs(alice, own) == []
    assert alice.get(address).status_code == 404


def test_a_profile_that_goes_while_the_instance_is_made_is_not_booted(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    own = create(alice, image="compute/debian11", root_pass="correct-horse-battery-9")["id"]
    (config,) = configs(alice, own)
    assert alice.delete(f"{URL}/{own}/configs/{config['id']}").status_code == 200
    cloud.settle()
    assert status(alice, own) == "offline"
    assert last(alice, "compute_create")["status"] == "finished"


def test_profiles_are_filtered_by_label(cloud: Cloud, alice: Client, own: int) -> None:
    first, second = add(alice, own, label="first"), add(alice, own, label="second")
    path = f"{URL}/{own}/configs"
    assert [config["id"] for config in listed(alice, path, label="second")] == [second["id"]]
    assert [config["id"] for config in listed(alice, path, **{"+order_by": "label", "+order": "desc"})] == [
        second["id"],
        first["id"],
    ]
    refused(alice.get(path, headers={"X-Filter": '{"kernel": "x"}'}), "Cannot filter on kernel", "X-Filter")
