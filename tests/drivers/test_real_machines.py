"""Real instances from the cradle to the grave, through the public API: libvirt hosts, no KVM, and much goes wrong.

``make test`` runs the first, and a soak all; ``make real`` runs them alone, and says how far they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.drivers.real import short_folder, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")

if why_not() is None:
    from tests.drivers.real_world import PASSWORD, World
    from tests.resources.serial import Terminal, token_of


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Of one host in each of two regions, or of two hosts in one."""
    with World(short_folder(), *getattr(request, "param", ())) as made:
        yield made


def test_an_instance_lives_on_real_hosts_whatever_is_killed(world: World) -> None:
    created = world.create("first", backups_enabled=True)
    number = created["id"]
    # By then images and the helper system are on the host: a part of a file whose upload dies stays for minutes.
    world.until(lambda: any(name.startswith("crofter-") for name in world.daemons.left()))
    world.kill_server()
    world.say("the server was killed while it deployed, and started again")
    world.settled(number)
    world.say("running")
    address = world.ssh(number, "ip -4 -o addr show eth0")
    assert f" {created['ipv4'][0]}/" in address, "the guest has the address that the interface shows"
    assert world.ssh(number, "hostname", password=PASSWORD) == "first"
    world.say("signed in with key and password")
    _crash_daemon_and_guest(world, number)
    _save_and_restore(world, number)
    _resize_and_clone(world, number)
    _migrate(world, number)
    _leave_nothing(world)


def _crash_daemon_and_guest(world: World, number: int) -> None:
    host = next(iter(world.daemons.regions))
    world.daemons.unplug(host)
    assert world.ssh(number, "echo alive") == "alive"
    assert world.status(number) == "running", "unknown is not off"
    world.daemons.plug(host)
    domain = next(name for name in world.daemons.left() if name.endswith(f"-i-{number}"))
    world.ssh(number, "echo kept > /root/file; sync")
    os.kill(world.daemons.process_of(host, domain), 9)
    world.until(lambda: any(event["action"] == "lassie_reboot" for event in world.events()))
    world.say("libvirtd was killed, then QEMU; the watchdog has noticed")
    world.settled(number)
    assert world.ssh(number, "cat /root/file") == "kept"


def _save_and_restore(world: World, number: int) -> None:
    saved = world.call("POST", f"/{number}/backups", label="before")
    world.settled(number)
    world.say("a snapshot was taken of the running machine")
    world.ssh(number, "rm /root/file; sync")
    world.call("POST", f"/{number}/backups/{saved['id']}/restore", compute_id=number, overwrite=True)
    world.until(lambda: world.status(number) in ("offline", "running") and _quiet(world))
    if world.status(number) == "offline":
        world.call("POST", f"/{number}/boot")
    world.settled(number)
    assert world.ssh(number, "cat /root/file") == "kept"
    world.say("and restored")


def _quiet(world: World) -> bool:
    return not any(event["status"] in ("scheduled", "started") for event in world.events())


def _is_over(world: World, action: str) -> bool:
    return any(event["action"] == action and event["status"] == "finished" for event in world.events())


def _resize_and_clone(world: World, number: int) -> None:
    world.call("POST", f"/{number}/resize", type="g6-standard-1", allow_auto_disk_resize=True)
    world.until(lambda: world.status(number) != "running" or _is_over(world, "compute_resize"))
    world.kill_server()
    world.settled(number)
    memory = int(world.ssh(number, "free -m | awk '/^Mem/{print $2}'"))
    assert memory > 1500, memory
    world.say("resized, while the server was killed")
    world.call("POST", f"/{number}/shutdown")
    world.settled(number, "offline")
    copy = world.call("POST", f"/{number}/clone", region="us-east", type="g6-standard-1")["id"]
    world.settled(copy, "offline")
    world.say("shut down and cloned")
    world.call("DELETE", f"/{copy}")


def _migrate(world: World, number: int) -> None:
    world.until(lambda: _quiet(world))
    world.call("POST", f"/{number}/migrate", region="eu-west")
    world.until(lambda: _quiet(world) and world.call("GET", f"/{number}")["region"] == "eu-west")
    if world.status(number) == "offline":
        world.call("POST", f"/{number}/boot")
    world.settled(number)
    assert world.ssh(number, "cat /root/file") == "kept"
    world.say("migrated to the other host")


def _leave_nothing(world: World) -> None:
    for instance in world.call("GET", "")["data"]:
        world.call("DELETE", f"/{instance['id']}")
    world.until(lambda: world.call("GET", "")["data"] == [] and _quiet(world))
    world.until(lambda: world.daemons.left() == [], 120)
    assert world.admin("hosts", "reconcile", "--json").strip() == "[]"
    world.say("deleted, and nothing is left on the hosts")


# ---- a host is drained, and the instance is worked on ---------------------------------------------------------------

NEW_PASSWORD = "another-Horse-8-battery"


@pytest.mark.soak
@pytest.mark.parametrize("world", [(("us-east",), 2)], indirect=True)
def test_an_instance_leaves_its_host_while_it_runs_and_is_rescued_and_rebuilt(world: World) -> None:
    number = world.create("second")["id"]
    world.settled(number)
    world.ssh(number, "echo kept > /root/file; sync")
    world.say("running")
    _drain(world, number)
    _rescue(world, number)
    _new_password(world, number)
    _rebuild(world, number)
    _leave_nothing(world)


def _drain(world: World, number: int) -> None:
    first, second = world.daemons.regions
    host = world.daemons.host_of(f"-i-{number}")
    other = first if host == second else second
    boot = world.ssh(number, "cat /proc/sys/kernel/random/boot_id; echo $$ > /run/before; cat /root/file")
    world.admin("hosts", "drain", str(host))
    assert f"instance {number}: on host {other}" in world.told
    world.say("its host was drained, and it was moved")
    assert world.daemons.host_of(f"-i-{number}") == other
    assert world.ssh(number, "cat /proc/sys/kernel/random/boot_id; test -e /run/before; cat /root/file") == boot
    assert world.status(number) == "running"
    assert world.events()[0]["action"] != "lassie_reboot"
    world.admin("hosts", "drain", str(host), "--over")
    world.kill_server()
    world.settled(number)
    world.admin("hosts", "drain", str(other), "--shut-down")
    world.until(lambda: world.status(number) == "stopped")
    world.admin("hosts", "drain", str(other), "--over")
    world.settled(number)
    assert world.ssh(number, "cat /root/file") == "kept"
    world.say("then shut down with its host, and started again with it")


def _rescue(world: World, number: int) -> None:
    disk = world.call("GET", f"/{number}/disks")["data"][0]["id"]
    world.call("POST", f"/{number}/rescue", devices={"sda": {"disk_id": disk}})
    world.settled(number)
    assert world.server is not None
    terminal = Terminal(world.server.url, token_of(world.client, number))
    terminal.type("\r")
    terminal.expect("# ")
    terminal.type("mount -t ext4 /dev/vda /mnt && cat /mnt/root/file && umount /mnt && echo done''here\r")
    assert "\nkept" in terminal.expect("donehere")
    terminal.close()
    world.say("rescued: its disk was read in the rescue system, by the serial console")


def _new_password(world: World, number: int) -> None:
    world.call("POST", f"/{number}/shutdown")
    world.settled(number, "offline")
    assert world.daemons.went_off_itself(f"-i-{number}"), "the rescue system hears the power button"
    world.say("the rescue system was shut down")
    world.call("POST", f"/{number}/password", root_pass=NEW_PASSWORD)
    world.settled(number, "offline")
    world.call("POST", f"/{number}/boot")
    world.settled(number)
    assert world.ssh(number, "cat /root/file", password=NEW_PASSWORD) == "kept"
    assert not world.lets_in(number, PASSWORD)
    world.say("signed in with a new password, and not with the old one")


def _rebuild(world: World, number: int) -> None:
    world.call("POST", f"/{number}/rebuild", image="compute/debian12", root_pass=PASSWORD)
    world.settled(number)
    assert world.ssh(number, "ls /root", password=PASSWORD) == ""
    assert not world.lets_in(number, NEW_PASSWORD)
    world.say("rebuilt")
