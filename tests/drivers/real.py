"""Whether this machine can run real machines for tests. Imports nothing that may not be installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
from functools import cache
from pathlib import Path

MEDIA = Path(os.environ.get("CROFTER_TEST_MEDIA", "/var/tmp/crofter-media"))
"""Where the guest is that tools/real.sh has built."""
DEBIAN = Path("/usr/lib/python3/dist-packages")


@cache
def why_not() -> str | None:
    """What is missing, or None."""
    for tool in ("libvirtd", f"qemu-system-{os.uname().machine}", "qemu-img", "ssh", "ssh-keygen", "sshpass"):
        if shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin") is None:
            return f"there is no {tool} (tools/real.sh installs it, on Debian and as root)"
    fits = (DEBIAN / f"libvirtmod{sysconfig.get_config_var('EXT_SUFFIX')}").exists()
    if importlib.util.find_spec("libvirt") is None and not fits:
        return "libvirt's Python module is not installed for this Python"
    if not (MEDIA / "SHA256SUMS").exists():
        return f"there is no guest in {MEDIA} (tools/real.sh builds it)"
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
