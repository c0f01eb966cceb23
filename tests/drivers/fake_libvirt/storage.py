"""Pools, volumes and streams of the fake libvirt."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from msgspec import Struct

from tests.drivers.fake_libvirt.module import Fault, virt

if TYPE_CHECKING:
    from tests.drivers.fake_libvirt.host import FakeHost

CHUNK = 1 << 16


class File(Struct):
    """A stored file."""

    capacity: int
    content: bytes = b""
    filesystem: int = 0
    """Bytes used by the file system."""
    cut: bool = False
    """True if the file is smaller than its file system."""
    building: bool = False
    """True while libvirt copies into the file."""

    def copy(self) -> File:
        return File(self.capacity, self.content, self.filesystem)


Folder = dict[str, File]


class Pool:
    def __init__(self, host: FakeHost, name: str, path: str) -> None:
        self.host, self._name, self.path = host, name, path
        self._active = self._built = False

    @property
    def folder(self) -> Folder:
        return self.host.fleet.folders.setdefault(self.path, {})

    def isActive(self) -> bool:  # noqa: N802 - libvirt's names, here and below
        return self._active

    def create(self) -> None:
        self.host.reached("create pool", self._name)
        if self._active:
            raise Fault("OPERATION_INVALID", f"storage pool '{self._name}' is already active")
        if not self._built:
            raise Fault("INTERNAL_ERROR", f"cannot open directory '{self.path}'")
        self._active = True

    def build(self) -> None:
        if self._active:
            raise Fault("OPERATION_INVALID", f"storage pool '{self._name}' is already active")
        self._built = True

    def setAutostart(self, _on: int) -> None:  # noqa: N802
        pass

    def refresh(self) -> None:
        self.host.reached("refresh", self._name)

    def storageVolLookupByName(self, name: str) -> Volume:  # noqa: N802
        self.host.reached("storageVolLookupByName", name)
        if name not in self.folder:
            raise Fault("NO_STORAGE_VOL", name)
        return Volume(self, name)

    def listAllVolumes(self) -> list[Volume]:  # noqa: N802
        self.host.reached("listAllVolumes", self._name)
        return [Volume(self, name) for name in sorted(self.folder)]

    def createXML(self, described: str) -> Volume:  # noqa: N802
        name, capacity = _described(described)
        self.host.reached("createXML", name)
        self._must_be_new(name)
        self.folder[name] = File(capacity)
        return Volume(self, name)

    def createXMLFrom(self, described: str, source: Volume, _flags: int) -> Volume:  # noqa: N802
        name, capacity = _described(described)
        self.host.reached("createXMLFrom", name)
        self._must_be_new(name)
        made = self.folder[name] = source.file.copy()
        made.capacity = max(capacity, source.file.capacity)
        self.host.reached("after createXMLFrom", name)
        return Volume(self, name)

    def _must_be_new(self, name: str) -> None:
        if name in self.folder:
            raise Fault("STORAGE_VOL_EXIST", f"storage volume {name} exists already")


def _described(text: str) -> tuple[str, int]:
    element = ElementTree.fromstring(text)
    return element.findtext("name") or "", int(element.findtext("capacity") or 0)


class Volume:
    def __init__(self, pool: Pool, name: str) -> None:
        self._pool, self._host, self._name = pool, pool.host, name

    @property
    def file(self) -> File:
        if self._name not in self._pool.folder:
            raise Fault("NO_STORAGE_VOL", self._name)
        return self._pool.folder[self._name]

    def name(self) -> str:
        return self._name

    def delete(self) -> None:
        self._host.reached("delete", self._name)
        if self.file.building:
            raise Fault("OPERATION_INVALID", f"volume '{self._name}' is still being allocated.")
        del self._pool.folder[self._name]

    def info(self) -> tuple[int, int, int]:
        return 0, self.file.capacity, len(self.file.content)

    def infoFlags(self, _flags: int) -> tuple[int, int, int]:  # noqa: N802
        return self.info()

    def resize(self, capacity: int, flags: int = 0) -> None:
        self._host.reached("resize", self._name)
        if capacity < self.file.capacity and not flags & virt.VIR_STORAGE_VOL_RESIZE_SHRINK:
            raise Fault("INVALID_ARG", "a volume is only made smaller where that is said")
        self.file.capacity = capacity
        self.file.cut = self.file.cut or capacity < self.file.filesystem

    def upload(self, stream: Stream, _offset: int, _length: int) -> None:
        self._host.reached("upload", self._name)
        self.file.content = b""
        stream.file = self.file

    def download(self, stream: Stream, _offset: int, _length: int) -> None:
        self._host.reached("download", self._name)
        if self.file.building:
            raise Fault("OPERATION_INVALID", "the volume is still being allocated")
        stream.left = self.file.content


class Stream:
    def __init__(self, host: FakeHost) -> None:
        self._host = host
        self.file: File | None = None
        self.left = b""

    def sendAll(self, handler: Callable[[Stream, int, Any], bytes], opaque: Any) -> None:  # noqa: N802
        assert self.file is not None
        while chunk := handler(self, CHUNK, opaque):
            self._host.reached("send")
            self.file.content += chunk

    def recv(self, count: int) -> bytes:
        self._host.reached("recv")
        chunk, self.left = self.left[:count], self.left[count:]
        return chunk

    def finish(self) -> None:
        self._host.reached("finish")

    def abort(self) -> None:
        pass
