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
    from tests.drivers.real_cloud import PASSWORD, RealCloud
    from tests.resources.serial import Terminal, token_of


@pytest.fixture
def real_cloud(request: pytest.FixtureRequest) -> Iterator[RealCloud]:
    """Return a cloud with a host in each of two regions, or with two hosts in a region."""
    with RealCloud(short_folder(), *getattr(request, "param", ())) as made:
        yield made


def test_an_instance_lives_on_real_hosts_whatever_is_killed(real_cloud: RealCloud) -> None:
    created = real_cloud.create("first", backups_enabled=True)
    number = created["id"]
    # Images and the helper system are on the host by then: a partial file of a dead upload stays for minutes.
    real_cloud.until(lambda: any(name.startswith("crofter-") for name in real_cloud.daemons.left()))
    real_cloud.kill_server()
    real_cloud.say("the server was killed while it deployed, and started again")
    real_cloud.settled(number)
    real_cloud.say("running")
    address = real_cloud.ssh(number, "ip -4 -o addr show eth0")
    assert f" {created['ipv4'][0]}/" in address, "the guest has the address that the interface shows"
    assert real_cloud.ssh(number, "hostname", password=PASSWORD) == "first"
    real_cloud.say("signed in with key and password")
    _crash_daemon_and_guest(real_cloud, number)
    _save_and_restore(real_cloud, number)
    _resize_and_clone(real_cloud, number)
    _migrate(real_cloud, number)
    _leave_nothing(real_cloud)


def _crash_daemon_and_guest(real_cloud: RealCloud, number: int) -> None:
    host = next(iter(real_cloud.daemons.regions))
    real_cloud.daemons.unplug(host)
    assert real_cloud.ssh(number, "echo alive") == "alive"
    assert real_cloud.status(number) == "running", "unknown is not off"
    real_cloud.daemons.plug(host)
    domain = next(name for name in real_cloud.daemons.left() if name.endswith(f"-i-{number}"))
    real_cloud.ssh(number, "echo kept > /root/file; sync")
    os.kill(real_cloud.daemons.process_of(host, domain), 9)
    real_cloud.until(lambda: any(event["action"] == "lassie_reboot" for event in real_cloud.events()))
    real_cloud.say("libvirtd was killed, then QEMU; the watchdog has noticed")
    real_cloud.settled(number)
    assert real_cloud.ssh(number, "cat /root/file") == "kept"


def _save_and_restore(real_cloud: RealCloud, number: int) -> None:
    saved = real_cloud.call("POST", f"/{number}/backups", label="before")
    real_cloud.settled(number)
    real_cloud.say("a snapshot was taken of the running machine")
    real_cloud.ssh(number, "rm /root/file; sync")
    real_cloud.call("POST", f"/{number}/backups/{saved['id']}/restore", compute_id=number, overwrite=True)
    real_cloud.until(lambda: real_cloud.status(number) in ("offline", "running") and _quiet(real_cloud))
    if real_cloud.status(number) == "offline":
        real_cloud.call("POST", f"/{number}/boot")
    real_cloud.settled(number)
    assert real_cloud.ssh(number, "cat /root/file") == "kept"
    real_cloud.say("and restored")


def _quiet(real_cloud: RealCloud) -> bool:
    return not any(event["status"] in ("scheduled", "started") for event in real_cloud.events())


def _is_over(real_cloud: RealCloud, action: str) -> bool:
    return any(event["action"] == action and event["status"] == "finished" for event in real_cloud.events())


def _resize_and_clone(real_cloud: RealCloud, number: int) -> None:
    real_cloud.call("POST", f"/{number}/resize", type="g6-standard-1", allow_auto_disk_resize=True)
    real_cloud.until(lambda: real_cloud.status(number) != "running" or _is_over(real_cloud, "compute_resize"))
    real_cloud.kill_server()
    real_cloud.settled(number)
    memory = int(real_cloud.ssh(number, "free -m | awk '/^Mem/{print $2}'"))
    assert memory > 1500, memory
    real_cloud.say("resized, while the server was killed")
    real_cloud.call("POST", f"/{number}/shutdown")
    real_cloud.settled(number, "offline")
    copy = real_cloud.call("POST", f"/{number}/clone", region="us-east", type="g6-standard-1")["id"]
    real_cloud.settled(copy, "offline")
    real_cloud.say("shut down and cloned")
    real_cloud.call("DELETE", f"/{copy}")


def _migrate(real_cloud: RealCloud, number: int) -> None:
    real_cloud.until(lambda: _quiet(real_cloud))
    real_cloud.call("POST", f"/{number}/migrate", region="eu-west")
    real_cloud.until(lambda: _quiet(real_cloud) and real_cloud.call("GET", f"/{number}")["region"] == "eu-west")
    if real_cloud.status(number) == "offline":
        real_cloud.call("POST", f"/{number}/boot")
    real_cloud.settled(number)
    assert real_cloud.ssh(number, "cat /root/file") == "kept"
    real_cloud.say("migrated to the other host")


def _leave_nothing(real_cloud: RealCloud) -> None:
    for instance in real_cloud.call("GET", "")["data"]:
        real_cloud.call("DELETE", f"/{instance['id']}")
    real_cloud.until(lambda: real_cloud.call("GET", "")["data"] == [] and _quiet(real_cloud))
    real_cloud.until(lambda: real_cloud.daemons.left() == [], 120)
    assert real_cloud.admin("hosts", "reconcile", "--json").strip() == "[]"
    real_cloud.say("deleted, and nothing is left on the hosts")


# ---- a host is drained, and the instance is worked on ---------------------------------------------------------------

NEW_PASSWORD = "another-Horse-8-battery"


@pytest.mark.soak
@pytest.mark.parametrize("real_cloud", [(("us-east",), 2)], indirect=True)
def test_an_instance_leaves_its_host_while_it_runs_and_is_rescued_and_rebuilt(real_cloud: RealCloud) -> None:
    number = real_cloud.create("second")["id"]
    real_cloud.settled(number)
    real_cloud.ssh(number, "echo kept > /root/file; sync")
    real_cloud.say("running")
    _drain(real_cloud, number)
    _rescue(real_cloud, number)
    _new_password(real_cloud, number)
    _rebuild(real_cloud, number)
    _leave_nothing(real_cloud)


def _drain(real_cloud: RealCloud, number: int) -> None:
    first, second = real_cloud.daemons.regions
    host = real_cloud.daemons.host_of(f"-i-{number}")
    other = first if host == second else second
    boot = real_cloud.ssh(number, "cat /proc/sys/kernel/random/boot_id; echo $$ > /run/before; cat /root/file")
    real_cloud.admin("hosts", "drain", str(host))
    assert f"instance {number}: on host {other}" in real_cloud.admin_stderr
    real_cloud.say("its host was drained, and it was moved")
    assert real_cloud.daemons.host_of(f"-i-{number}") == other
    assert real_cloud.ssh(number, "cat /proc/sys/kernel/random/boot_id; test -e /run/before; cat /root/file") == boot
    assert real_cloud.status(number) == "running"
    assert real_cloud.events()[0]["action"] != "lassie_reboot"
    real_cloud.admin("hosts", "drain", str(host), "--over")
    real_cloud.kill_server()
    real_cloud.settled(number)
    real_cloud.admin("hosts", "drain", str(other), "--shut-down")
    real_cloud.until(lambda: real_cloud.status(number) == "stopped")
    real_cloud.admin("hosts", "drain", str(other), "--over")
    real_cloud.settled(number)
    assert real_cloud.ssh(number, "cat /root/file") == "kept"
    real_cloud.say("then shut down with its host, and started again with it")


def _rescue(real_cloud: RealCloud, number: int) -> None:
    disk = real_cloud.call("GET", f"/{number}/disks")["data"][0]["id"]
    real_cloud.call("POST", f"/{number}/rescue", devices={"sda": {"disk_id": disk}})
    real_cloud.settled(number)
    assert real_cloud.server is not None
    terminal = Terminal(real_cloud.server.url, token_of(real_cloud.client, number))
    terminal.type("\r")
    terminal.expect("# ")
    terminal.type("mount -t ext4 /dev/vda /mnt && cat /mnt/root/file && umount /mnt && echo done''here\r")
    assert "\nkept" in terminal.expect("donehere")
    terminal.close()
    real_cloud.say("rescued: its disk was read in the rescue system, by the serial console")


def _new_password(real_cloud: RealCloud, number: int) -> None:
    real_cloud.call("POST", f"/{number}/shutdown")
    real_cloud.settled(number, "offline")
    assert real_cloud.daemons.went_off_itself(f"-i-{number}"), "the rescue system hears the power button"
    real_cloud.say("the rescue system was shut down")
    real_cloud.call("POST", f"/{number}/password", root_pass=NEW_PASSWORD)
    real_cloud.settled(number, "offline")
    real_cloud.call("POST", f"/{number}/boot")
    real_cloud.settled(number)
    assert real_cloud.ssh(number, "cat /root/file", password=NEW_PASSWORD) == "kept"
    assert not real_cloud.lets_in(number, PASSWORD)
    real_cloud.say("signed in with a new password, and not with the old one")


def _rebuild(real_cloud: RealCloud, number: int) -> None:
    real_cloud.call("POST", f"/{number}/rebuild", image="compute/debian12", root_pass=PASSWORD)
    real_cloud.settled(number)
    assert real_cloud.ssh(number, "ls /root", password=PASSWORD) == ""
    assert not real_cloud.lets_in(number, NEW_PASSWORD)
    real_cloud.say("rebuilt")
