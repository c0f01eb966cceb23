"""Loads the driver's binding, with libvirt's own module or with one that has its names and does nothing."""

from __future__ import annotations

import importlib
import sys
import threading
import types
from typing import Any

from crofter.drivers.hypervisor.errors import DriverError

BINDING = "crofter.drivers.hypervisor.libvirt.binding"


class FakeLibvirtError(Exception):
    """The name that the driver catches."""


class FakeModule(types.ModuleType):
    """Each constant gets a bit of its own, so that it serves as a code and as a flag."""

    libvirtError = FakeLibvirtError  # noqa: N815 - libvirt's name

    def __init__(self) -> None:
        super().__init__("libvirt")
        self._bits: dict[str, int] = {}

    def __getattr__(self, name: str) -> int:
        if not name.startswith("VIR_"):
            raise AttributeError(name)
        return self._bits.setdefault(name, 1 << len(self._bits))

    def registerErrorHandler(self, *_: Any) -> None:  # noqa: N802
        pass

    def virEventRegisterDefaultImpl(self) -> None:  # noqa: N802
        pass

    def virEventRunDefaultImpl(self) -> None:  # noqa: N802
        threading.Event().wait()

    def open(self, uri: str) -> Any:
        raise FakeLibvirtError(uri)


def binding() -> Any:
    """Return the driver's binding to the fake. Tests without libvirt do not see the module."""
    try:
        return importlib.import_module(BINDING)
    except DriverError:
        sys.modules["libvirt"] = FakeModule()
        try:
            return importlib.import_module(BINDING)
        finally:
            del sys.modules["libvirt"]


_binding = binding()
virt: Any = _binding.virt
LibvirtError: Any = _binding.LibvirtError


class Fault(LibvirtError):  # type: ignore[misc]
    """libvirt's error with a code of our choice."""

    def __init__(self, name: str, words: str = "", origin: str = "NONE") -> None:
        Exception.__init__(self, words or name)
        self._code, self._origin = getattr(virt, f"VIR_ERR_{name}"), getattr(virt, f"VIR_FROM_{origin}")

    def get_error_code(self) -> int:
        return int(self._code)

    def get_error_domain(self) -> int:
        return int(self._origin)
