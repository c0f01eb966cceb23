"""Detection of the requirements for real machines. Imports no optional packages."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path

MEDIA = Path(os.environ.get("CROFTER_TEST_MEDIA", "/var/tmp/crofter-media"))
"""Where the guest is that tools/real.sh has built."""
BRIDGING = ("ip", "nsenter", "unshare", "iptables", "ip6tables", "ebtables")
DEBIAN = Path("/usr/lib/python3/dist-packages")


@cache
def why_not() -> str | None:
    """Return the missing requirements, or None."""
    for tool in ("libvirtd", f"qemu-system-{os.uname().machine}", "qemu-img", "ssh", "ssh-keygen", "sshpass"):
        if shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin") is None:
            return f"there is no {tool} (tools/real.sh installs it, on Debian and as root)"
    fits = (DEBIAN / f"libvirtmod{sysconfig.get_config_var('EXT_SUFFIX')}").exists()
    if importlib.util.find_spec("libvirt") is None and not fits:
        return "libvirt's Python module is not installed for this Python"
    if not (MEDIA / "SHA256SUMS").exists():
        return f"there is no guest in {MEDIA} (tools/real.sh builds it)"
    return None


@cache
def why_no_bridge() -> str | None:
    """Return the missing requirements of a bridge, or None."""
    if os.getuid() != 0:
        return "a bridge needs root"
    for tool in BRIDGING:
        if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            return f"there is no {tool} (tools/real.sh installs it)"
    made = (
        "unshare",
        "--net",
        "sh",
        "-c",
        "ip link add br0 type bridge && ip link add name card0 type veth peer name card1",
    )
    if subprocess.run(made, capture_output=True).returncode != 0:
        return "this machine's kernel makes no bridges"
    return None


@cache
def why_no_vlans() -> str | None:
    """Return the missing requirements of VLANs on a bridge, or None."""
    output = subprocess.run(["/usr/sbin/libvirtd", "--version"], capture_output=True, text=True).stdout
    version = output.split()[-1] if output else "0"
    if int(version.partition(".")[0]) < 11:
        return f"libvirt {version} cannot tag the port of a bridge; 11.0 can"
    made = ("unshare", "--net", "ip", "link", "add", "br0", "type", "bridge", "vlan_filtering", "1")
    if subprocess.run(made, capture_output=True).returncode != 0:
        return "this machine's kernel has bridges that do not filter VLANs"
    return None


def short_folder() -> Path:
    """A new folder with a name of few characters: libvirt makes sockets deep below it, whose names are limited."""
    for number in range(1, 1000):
        folder = Path(f"/var/tmp/c{number}")
        try:
            folder.mkdir(mode=0o755)
        except FileExistsError:
            continue
        folder.chmod(0o755)
        return folder
    raise AssertionError("too many folders were left behind in /var/tmp")
