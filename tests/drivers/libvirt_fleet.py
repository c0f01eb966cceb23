"""Hosts for tests: libvirt daemons of a user without privileges, each in a folder and on a socket of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

from crofter.db import Database
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, virt
from crofter.drivers.hypervisor.libvirt.media import ImageFile
from tests.drivers.host_rows import add_host

NOBODY = 65534
SETTINGS = """host_uuid = "{number:08d}-aaaa-4aaa-8aaa-111111111111"
auth_unix_rw = "none"
log_outputs = "3:file:{home}/log"
max_clients = 500
max_anonymous_clients = 500
max_client_requests = 50
"""


def open_to_nobody() -> bool:
    return os.getuid() == 0


class Daemons:
    """Some hosts in each of some regions. The folder's name must be short: sockets are in it."""

    def __init__(self, folder: Path, regions: tuple[str, ...], each: int, *, certificates: Path | None = None) -> None:
        """``certificates``: a folder that QEMU may encrypt with what it says to another one."""
        self.folder = folder
        self._certificates = certificates
        self.regions = {code_of(region) * BLOCK + n: region for region in regions for n in range(1, each + 1)}
        self._homes = {number: folder / str(place) for place, number in enumerate(self.regions)}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for number in self.regions:
            self._prepare(number)
            self.plug(number, wait=False)
        for number in self.regions:
            self._await(number)

    def uri(self, number: int) -> str:
        return f"qemu+unix:///session?socket={self._homes[number]}/run/libvirt/libvirt-sock"

    def pool(self, number: int) -> Path:
        return self._homes[number] / "pool"

    def certificates(self, number: int) -> Path:
        return self._homes[number] / "certificates"

    def volumes(self, region: str) -> Path:
        return self.folder / f"volumes-{region}"

    def _prepare(self, number: int) -> None:
        home = self._homes[number]
        for name in ("run", "config/libvirt", "cache", "data", "pool"):
            (home / name).mkdir(parents=True, exist_ok=True)
        self.volumes(self.regions[number]).mkdir(exist_ok=True)
        place = list(self.regions).index(number) + 1
        (home / "config/libvirt/libvirtd.conf").write_text(SETTINGS.format(number=place, home=home))
        settings = 'stdio_handler = "file"\n'
        if self._certificates is not None:
            shutil.copytree(self._certificates, self.certificates(number))
            settings += f'migrate_tls_x509_cert_dir = "{self.certificates(number)}"\n'
        (home / "config/libvirt/qemu.conf").write_text(settings)
        (home / "run").chmod(0o700)
        if open_to_nobody():
            for path in (self.folder, self.volumes(self.regions[number]), home, *home.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    def write_down(self, database: Database) -> None:
        """Into the table of hosts, as an operator would add them."""
        with database.write() as db:
            for number, region in self.regions.items():
                add_host(
                    db,
                    number,
                    region,
                    uri=self.uri(number),
                    pool=str(self.pool(number)),
                    volumes=str(self.volumes(region)),
                    architecture=os.uname().machine,
                    emulation=True,
                )

    def plug(self, number: int, *, wait: bool = True) -> None:
        running = self._processes.get(number)
        if running is not None and running.poll() is None:
            return
        self._processes[number] = self._start(number)
        if wait:
            self._await(number)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        home = self._homes[number]
        folders = {f"XDG_{name.upper()}_HOME": f"{home}/{name}" for name in ("config", "cache", "data")}
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home), "XDG_RUNTIME_DIR": f"{home}/run"}
        return subprocess.Popen(
            ["/usr/sbin/libvirtd", "--config", f"{home}/config/libvirt/libvirtd.conf"],
            env=environment | folders,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            user=NOBODY if open_to_nobody() else None,
            group=NOBODY if open_to_nobody() else None,
            extra_groups=[] if open_to_nobody() else None,
        )

    def _await(self, number: int) -> None:
        ends = time.monotonic() + 120
        while True:
            try:
                virt.open(self.uri(number)).close()
                return
            except LibvirtError:
                assert self._processes[number].poll() is None, f"libvirtd of host {number} has ended"
                assert time.monotonic() < ends, f"libvirtd of host {number} does not start"
                time.sleep(0.05)

    def unplug(self, number: int) -> None:
        """Kill the daemon with SIGKILL; its machines continue."""
        running = self._processes[number]
        if running.poll() is None:
            running.kill()
            running.wait()

    def process_of(self, number: int, domain: str) -> int:
        return int((self._homes[number] / f"run/libvirt/qemu/run/{domain}.pid").read_text())

    def host_of(self, ending: str) -> int:
        """The host that has the machine whose name ends so."""
        for number in self.regions:
            connection = virt.open(self.uri(number))
            domains = [domain.name() for domain in connection.listAllDomains()]
            connection.close()
            if any(name.endswith(ending) for name in domains):
                return number
        raise AssertionError(f"no host has the machine {ending}")

    def went_off_itself(self, ending: str) -> bool:
        """True if the guest of the machine shut down by itself and did not lose its power."""
        connection = virt.open(self.uri(self.host_of(ending)))
        states = [domain.state() for domain in connection.listAllDomains() if domain.name().endswith(ending)]
        connection.close()
        return states == [[virt.VIR_DOMAIN_SHUTOFF, virt.VIR_DOMAIN_SHUTOFF_SHUTDOWN]]

    def left(self) -> list[str]:
        """Machines and volumes that are still there, but for the operator's files."""
        names = [str(path.name) for folder in (self.folder,) for path in folder.glob("*/pool/*/*")]
        names += [str(path.name) for path in self.folder.glob("volumes-*/*/*")]
        for number in self.regions:
            connection = virt.open(self.uri(number))
            names += [domain.name() for domain in connection.listAllDomains()]
            connection.close()
        return [name for name in names if not name.startswith("file-")]

    def clear(self) -> None:
        """No machines, and no volumes but the operator's files."""
        for number in self.regions:
            self.plug(number)
            connection = virt.open(self.uri(number))
            for domain in connection.listAllDomains():
                try:
                    if domain.isActive():
                        domain.destroy()
                    domain.undefineFlags(virt.VIR_DOMAIN_UNDEFINE_NVRAM)
                except LibvirtError:
                    pass
            connection.close()
        files = [*self.folder.glob("*/pool/*/*"), *self.folder.glob("volumes-*/*/*")]
        for path in files:
            if not path.name.startswith("file-"):
                path.unlink(missing_ok=True)

    def stop(self) -> None:
        try:
            self.clear()
        finally:
            for running in self._processes.values():
                running.terminate()
                try:
                    running.wait(10)
                except subprocess.TimeoutExpired:
                    running.kill()
            shutil.rmtree(self.folder, ignore_errors=True)


def import_tiny(media: Path, image: str = "debian12") -> None:
    """The tiny guest under the name of an image of the catalogue."""
    source, target = media / "tiny.qcow2", media / "images" / f"{image}.qcow2"
    if not target.exists():
        shutil.copy(source, target)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    known = ImageFile(os.uname().machine, 256, "kernel", digest, 60)
    (media / "images" / f"{image}.json").write_bytes(msgspec.json.encode(known))


def fingerprint(path: Path) -> str:
    """Return a fingerprint of the data that a guest reads; unwritten blocks equal zeros."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "raw")
        command = ["qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", "-S", "4k", str(path), str(raw)]
        subprocess.run(command, check=True, capture_output=True)
        return _written(raw)


def _written(raw: Path) -> str:
    digest, size, place = hashlib.sha256(), raw.stat().st_size, 0
    with raw.open("rb") as file:
        while place < size:
            try:
                place = os.lseek(file.fileno(), place, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(file.fileno(), place, os.SEEK_HOLE)
            place -= place % 4096
            file.seek(place)
            while place < end:
                block = file.read(4096)
                if block.strip(b"\0"):
                    digest.update(place.to_bytes(8, "big") + block)
                place += len(block)
    return digest.hexdigest()
