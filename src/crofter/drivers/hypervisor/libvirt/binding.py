"""Finds libvirt's Python module, starts its event loop, and sorts its errors.

It is the extra ``crofter[libvirt]``, which needs libvirt's headers to be built. Where Debian's own package is
installed and fits this Python, that one serves: a host or a laptop then needs no compiler.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

from crofter.drivers.hypervisor.errors import NotInstalled

DEBIAN = Path("/usr/lib/python3/dist-packages")
MISSING = (
    "the libvirt driver needs libvirt's Python module: apt install python3-libvirt, if crofter runs on Debian's own"
    " Python, or apt install libvirt-dev pkg-config gcc and pip install 'crofter[libvirt]'"
)


def _import() -> Any:
    try:
        return importlib.import_module("libvirt")
    except ImportError:
        pass
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ""
    if not (DEBIAN / f"libvirtmod{suffix}").exists():
        raise NotInstalled(MISSING)
    # Only these two names are taken from there: other packages of Debian would hide what is installed here.
    for name, file in (("libvirtmod", f"libvirtmod{suffix}"), ("libvirt", "libvirt.py")):
        spec = importlib.util.spec_from_file_location(name, DEBIAN / file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules["libvirt"]


def _load() -> Any:
    module = _import()
    module.registerErrorHandler(lambda *_: None, None)
    module.virEventRegisterDefaultImpl()
    return module


def _run_events() -> None:
    while True:
        try:
            virt.virEventRunDefaultImpl()
        except virt.libvirtError:
            continue


virt = _load()
LibvirtError: type[Exception] = virt.libvirtError
# Keep-alive messages are sent and heard by this loop; without it, a host that falls silent is waited for without end.
threading.Thread(target=_run_events, name="libvirt events", daemon=True).start()


def code(error: Any) -> int:
    number: int = error.get_error_code()
    return number


def is_broken_connection(error: Any) -> bool:
    """True if a call failed because its host is gone, not because of its arguments."""
    if error.get_error_domain() in (virt.VIR_FROM_RPC, virt.VIR_FROM_REMOTE):
        return True
    if code(error) in (virt.VIR_ERR_NO_CONNECT, virt.VIR_ERR_RPC, virt.VIR_ERR_INVALID_CONN):
        return True
    words = str(error).lower()
    return any(sign in words for sign in ("end of file", "connection closed", "cannot recv", "cannot write"))


def is_passing(error: Any) -> bool:
    """True if the same call may succeed a moment later.

    After an upload libvirt reads the volume again in a thread, and while it builds a volume it refuses lookups of
    others. A new volume may have been created by a process that was suspended and lost its job; the next try drops the
    volume. A daemon that has just started may still be scanning its machines.
    """
    passing = (virt.VIR_ERR_NO_STORAGE_VOL, virt.VIR_ERR_INVALID_STORAGE_VOL, virt.VIR_ERR_STORAGE_VOL_EXIST)
    busy = ("asynchronous jobs running", "cannot acquire state change lock")
    return code(error) in passing or any(sign in str(error) for sign in busy)
