"""A host with a bridge for tests: libvirt's system daemon in a network of its own, and another machine on the bridge.

Nothing of the machine that runs the tests is touched: the daemon sees its own network and its own folders, and both
are gone with its process.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.drivers.libvirt_fleet import Daemons
from tests.drivers.real_cloud import RealCloud

FOLDERS = {
    "run": "/run/libvirt",
    "etc": "/etc/libvirt",
    "lib": "/var/lib/libvirt",
    "cache": "/var/cache/libvirt",
    "logs": "/var/log/libvirt",
}
"""Folders of the system daemon, by the test folder that replaces each."""
NAMES = {
    "passwd": "libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin\n",
    "group": "libvirt-qemu:x:64055:\nkvm:x:64056:\nlibvirt:x:64057:\n",
}
DEVICES = """
mkdir -p {home}/dev && mount -t tmpfs dev {home}/dev && mkdir {home}/dev/net {home}/dev/shm {home}/dev/pts
for node in null,1,3 zero,1,5 full,1,7 random,1,8 urandom,1,9 tty,5,0 net/tun,10,200; do
    IFS=, read name major minor <<END
$node
END
    mknod -m 666 {home}/dev/$name c $major $minor
done
mount --rbind /dev/pts {home}/dev/pts && ln -s pts/ptmx {home}/dev/ptmx && mount --rbind {home}/dev /dev;
"""
"""Without KVM, as in the other tests: what a virtual machine offers its root under that name need not work."""
SETTINGS = """host_uuid = "{number:08d}-aaaa-4aaa-8aaa-111111111111"
auth_unix_rw = "none"
log_outputs = "3:file:{home}/log"
"""
QEMU_SETTINGS = """stdio_handler = "file"
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
"""
BRIDGE = "br0"
GATEWAY, NETWORK, RESOLVER = "203.0.113.1", "203.0.113.0/24", "203.0.113.53"
ADVERTISE = """
import ipaddress, socket, struct, sys, time
router = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
card = socket.if_nametoindex("card")
advertisement = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0)
advertisement += struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 86400, 14400, 0) + ipaddress.IPv6Address(sys.argv[1]).packed
while True:
    router.sendto(advertisement, ("ff02::1", 0, 0, card))
    time.sleep(1)
"""
"""Router advertisement of the IPv6 network."""


class BridgedDaemons(Daemons):
    """A host with a bridge. ``outside`` is another machine on the bridge and the gateway of the guests."""

    def __init__(self, folder: Path, regions: tuple[str, ...], each: int) -> None:
        name = f"crofter-{os.getpid()}-{folder.parent.name}"
        self.network, self.outside = f"{name}-host", f"{name}-out"
        try:
            self._build()
            super().__init__(folder, regions, each)
        except BaseException:
            self._delete_networks()
            raise

    def _build(self) -> None:
        for name in (self.network, self.outside):
            _run("ip", "netns", "add", name)
        inside = ("ip", "-n", self.network)
        _run(*inside, "link", "set", "lo", "up")
        _run(*inside, "link", "add", BRIDGE, "type", "bridge")
        _run(*inside, "link", "set", BRIDGE, "up")
        _run(*inside, "link", "add", "port", "type", "veth", "peer", "name", "card", "netns", self.outside)
        _run(*inside, "link", "set", "port", "master", BRIDGE, "up")
        _run("ip", "-n", self.outside, "link", "set", "lo", "up")
        _run("ip", "-n", self.outside, "addr", "add", f"{GATEWAY}/24", "dev", "card")
        _run("ip", "-n", self.outside, "link", "set", "card", "up")
        # Else packets cross the bridge without being shown to iptables, and filters of connections see none.
        for family in ("iptables", "ip6tables"):
            _run("ip", "netns", "exec", self.network, "sysctl", "-qw", f"net.bridge.bridge-nf-call-{family}=1")

    def uri(self, number: int) -> str:
        return f"qemu+unix:///system?socket={self._homes[number]}/run/libvirt-sock"

    def _prepare(self, number: int) -> None:
        home = self._homes[number]
        for name in (*FOLDERS, "pool"):
            (home / name).mkdir(parents=True, exist_ok=True)
        self.volumes(self.regions[number]).mkdir(exist_ok=True)
        (home / "etc/libvirtd.conf").write_text(SETTINGS.format(number=1, home=home))
        (home / "etc/qemu.conf").write_text(QEMU_SETTINGS)
        # Needed even when other accounts are configured; the package that creates them starts a daemon as well.
        for name, line in NAMES.items():
            (home / name).write_text(Path("/etc", name).read_text() + line)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        home = self._homes[number]
        for path in FOLDERS.values():
            Path(path).mkdir(parents=True, exist_ok=True)
        places = FOLDERS | {name: f"/etc/{name}" for name in NAMES}
        mounts = "; ".join(f"mount --bind {home}/{name} {path}" for name, path in places.items())
        # The daemon configures the bridge through /sys, which shows the network namespace of its mount. The PID file
        # must not be in /run, where a second daemon would refuse to start.
        daemon = f"/usr/sbin/libvirtd --pid-file {home}/libvirtd.pid"
        script = f"set -e; mount -t sysfs sys /sys; {DEVICES.format(home=home)} {mounts}; exec {daemon}"
        return subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.network}", "unshare", "--mount", "sh", "-c", script],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def carry(self, tag: int) -> None:
        """Let frames of a VLAN through the port to the outside, as its operator does."""
        _run("bridge", "-n", self.network, "vlan", "add", "vid", str(tag), "dev", "port")

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            self._delete_networks()

    def _delete_networks(self) -> None:
        for name in (self.network, self.outside):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


class Outside:
    """The other machine on the bridge."""

    def __init__(self, network: str) -> None:
        self._enter = ("ip", "netns", "exec", network)
        self._services: list[subprocess.Popen[bytes]] = []

    def words(self, *command: str) -> list[str]:
        return [*self._enter, *command]

    def must(self, *command: str) -> None:
        _run(*self.words(*command))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.words(*command), capture_output=True, text=True, check=False)

    def serve(self, port: int) -> None:
        """Take connections on a port, say hello and close them."""
        program = (
            "import socket\n"
            f"s = socket.create_server(('', {port}))\n"
            "while True:\n    c, _ = s.accept(); c.sendall(b'hello'); c.close()\n"
        )
        self._services.append(subprocess.Popen(self.words("python3", "-c", program)))
        ends = time.monotonic() + 30
        while self.run("python3", "-c", _CONNECT.format(host="127.0.0.1", port=port)).returncode:
            assert time.monotonic() < ends, "the service does not start"
            time.sleep(0.1)

    def advertise(self, network: str) -> None:
        """Be the router of an IPv6 network, at its first address."""
        _run(*self.words("ip", "addr", "add", f"{network}1/64", "dev", "card", "nodad"))
        self._services.append(subprocess.Popen(self.words("python3", "-c", ADVERTISE, network)))

    def reaches(self, host: str, port: int) -> bool:
        return self.run("python3", "-c", _CONNECT.format(host=host, port=port)).returncode == 0

    def count(self, source: str) -> None:
        """From now on, packets that arrive from an address are counted."""
        assert self.run(_tables(source), "-I", "INPUT", "-s", source).returncode == 0

    def counted(self, source: str) -> int:
        listed = self.run(_tables(source), "-nvxL", "INPUT").stdout
        return sum(int(line.split()[0]) for line in listed.splitlines() if re.search(rf" {source}(/128)? ", line))

    def close(self) -> None:
        for service in self._services:
            service.kill()
            service.wait()


class BridgedCloud(RealCloud):
    """A host with machines on a bridge, in a region with its own addresses."""

    daemons: BridgedDaemons

    def make_daemons(self, folder: Path, regions: tuple[str, ...], each: int) -> BridgedDaemons:
        return BridgedDaemons(folder, regions, each)

    def network(self, number: int) -> tuple[str, ...]:
        return "--network", f"bridge:{BRIDGE}", "--resolvers", RESOLVER

    def open(self) -> None:
        super().open()
        self.admin("addresses", "add", self.first_region, NETWORK)
        self.outside = Outside(self.daemons.outside)

    def close(self) -> None:
        if hasattr(self, "outside"):
            self.outside.close()
        super().close()

    def guest_at(self, number: int) -> tuple[str, ...]:
        return (f"root@{self.call('GET', f'/{number}')['ipv4'][0]}",)

    def listens(self, number: int) -> bool:
        return self.outside.reaches(self.call("GET", f"/{number}")["ipv4"][0], 22)

    def sign_in(self, number: int, password: str | None) -> list[str]:
        return self.outside.words(*super().sign_in(number, password))


LISTEN = """
import socket, sys
card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
card.bind((sys.argv[1], 0))
print("ready", flush=True)
while True:
    print(card.recv(2000).hex(), flush=True)
"""
"""Print every frame that passes a card."""


def python(network: str, program: str, *arguments: str) -> subprocess.Popen[str]:
    """A program in a network, which says that it is ready and goes on."""
    command = ["ip", "netns", "exec", network, "python3", "-c", program, *arguments]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def until_last(listener: subprocess.Popen[str], last: str) -> Iterator[bytes]:
    """Yield the frames of a listener up to the one with this ending."""
    assert listener.stdout is not None
    patience = threading.Timer(60, listener.kill)
    patience.start()
    for line in listener.stdout:
        frame = bytes.fromhex(line)
        if frame.endswith(last.encode()):
            patience.cancel()
            return
        yield frame
    raise AssertionError("the last of them did not arrive")


def wait_for_ports(network: str, ports: int) -> None:
    """A bridge takes nothing from a card that has just come."""
    ends = time.monotonic() + 60
    command = ["bridge", "-n", network, "link", "show"]
    while subprocess.run(command, capture_output=True, text=True).stdout.count("state forwarding") < ports:
        assert time.monotonic() < ends, "the bridge does not forward"
        time.sleep(0.05)


_CONNECT = 'import socket; socket.create_connection(("{host}", {port}), 5).close()'


def _tables(address: str) -> str:
    return "ip6tables" if ":" in address else "iptables"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
