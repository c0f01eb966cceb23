"""Scripts for the helper system. User input is encoded data in them, never code."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable

from msgspec import Struct

from crofter.drivers.hypervisor.libvirt.password_hash import crypted
from crofter.drivers.hypervisor.specs import Seed

CHECK = 'e2fsck -fp "$D_sda" || [ $? -lt 4 ]'
"""Replays the journal after a power cut, and repairs errors that need no decision."""
BEGINS = "the file system is about to grow"


class GuestFile(Struct, frozen=True):
    path: str
    text: str
    folder: str
    """Folder of the software that reads the file. Without the folder the file is not written."""
    mode: str = "644"


def resize_script(megabytes: int, *, grows: bool) -> str:
    """Return the script that resizes the file system and prints the minimum that its files need.

    A partitioned disk grows only as a disk, and its system takes the space itself; it never shrinks. A file system is
    checked before growing, and then the script prints a marker: see ``left_alone``.
    """
    measure = 'resize2fs -P "$D_sda"\ndumpe2fs -h "$D_sda" | grep \'^Block size\'\n'
    if grows:
        return f'if is_flat "$D_sda"; then\n{CHECK}\necho {BEGINS}\ngrow_flat checked\n{measure}fi\n'
    return f'{CHECK}\nresize2fs "$D_sda" {megabytes}M\n{measure}'


def left_alone(answer: str) -> bool:
    """True if a failed script left the size of the file system unchanged. Missing output proves nothing."""
    return answer.startswith("rc=") and BEGINS not in answer


def make_script(filesystem: str) -> str:
    if filesystem == "swap":
        return 'mkswap "$D_sda"\n'
    return f'mke2fs -q -F -t {filesystem} "$D_sda"\n'


def seed_script(seed: Seed) -> str:
    """Write password, keys, name and script onto the root file system, wherever on the disk that is."""
    lines = ['if is_flat "$D_sda"; then grow_flat; fi', "open_root"]
    if seed.password is not None:
        lines.append(f"set_password {_encoded(crypted(seed.password))}")
        lines.append(_put("/etc/ssh/sshd_config.d/10-crofter.conf", "PermitRootLogin yes\n", "644", folder="/etc/ssh"))
    if seed.keys:
        lines.append(_put("/root/.ssh/authorized_keys", "".join(f"{key}\n" for key in seed.keys), "600", append=True))
        lines.append('chmod 700 "$R/root/.ssh"')
    if seed.hostname is not None:
        lines.append(_put("/etc/hostname", f"{seed.hostname}\n", "644"))
    if seed.script is not None:
        lines.append(_put("/etc/firstboot.sh", seed.script, "755"))
    lines.append(_cloud_init(seed))
    lines.append("close_root")
    return "\n".join(lines) + "\n"


def network_script(files: Iterable[GuestFile], resolvers: Iterable[str]) -> str:
    """Return the script that writes network settings to a disk with a root file system."""
    lines = ["open_root", *(_put(file.path, file.text, file.mode, folder=file.folder) for file in files)]
    if names := "".join(f"nameserver {resolver}\n" for resolver in resolvers):
        # A link leads to what some service keeps up to date itself.
        lines.append(f'[ -L "$R/etc/resolv.conf" ] || {_put("/etc/resolv.conf", names, "644")}')
    return "\n".join((*lines, "close_root", ""))


def _cloud_init(seed: Seed) -> str:
    """For images with cloud-init: where it looks for its instructions without any network."""
    name = seed.hostname or "localhost"
    # A new identity makes it run again; the same one would leave a restored disk with what it had.
    meta = f"instance-id: {secrets.token_hex(8)}\nlocal-hostname: {name}\n"
    user = "#cloud-config\ndisable_root: false\nssh_pwauth: true\n"
    if seed.script is not None:
        user += "runcmd:\n  - [sh, -c, 'test -x /etc/firstboot.sh && /etc/firstboot.sh; rm -f /etc/firstboot.sh']\n"
    folder = "/var/lib/cloud/seed/nocloud"
    return "\n".join(
        _put(f"{folder}/{file}", text, "600", folder="/etc/cloud")
        for file, text in (("meta-data", meta), ("user-data", user))
    )


def _put(path: str, text: str, mode: str, *, append: bool = False, folder: str | None = None) -> str:
    """Write a file; only where ``folder`` is there, if it is given."""
    verb = "append" if append else "put"
    line = f"{verb} {path} {mode} {_encoded(text)}"
    return line if folder is None else f'[ ! -d "$R{folder}" ] || {line}'


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
