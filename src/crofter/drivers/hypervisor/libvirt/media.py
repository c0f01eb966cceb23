"""The operator's files: images, kernels and the helper system, in one folder of the control plane.

images/NAME.qcow2  images/NAME.json     compute/NAME of the catalogue, put there by `crofter admin images import`
kernels/NAME/vmlinuz  kernels/NAME/initrd.img     compute/NAME, or ``default`` for any kernel
helper/vmlinuz  helper/initrd.img     what writes into disks, and the rescue system
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from crofter.drivers.hypervisor.errors import Refused

MB = 1 << 20


class ImageFile(Struct, frozen=True):
    """Metadata of an imported image."""

    architecture: str
    size: int
    """Disk size in MB that the image needs."""
    boot: Literal["kernel", "firmware"]
    """``kernel``: one file system without a boot loader. ``firmware``: a whole disk that boots by itself."""
    sha256: str
    used: int
    """Size of the files in MB."""


class File(Struct, frozen=True):
    """A file that hosts need, by its content: a newer one has another name, and the old one is cleared away."""

    path: Path
    digest: str

    @property
    def name(self) -> str:
        return f"file-{self.digest[:16]}"


class Kernel(Struct, frozen=True):
    kernel: File
    initrd: File


class Media:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def image(self, image: str) -> ImageFile | None:
        """Return the metadata of a catalogue image; None if the operator has not imported it."""
        try:
            return msgspec.json.decode((self._image(image, "json")).read_bytes(), type=ImageFile)
        except FileNotFoundError:
            return None

    def image_file(self, image: str) -> File:
        known = self.image(image)
        if known is None:
            raise Refused(f"The image {image} is not on this cloud's hosts; its operator can import it.")
        return File(self._image(image, "qcow2"), known.sha256)

    def _image(self, image: str, suffix: str) -> Path:
        return self.folder / "images" / f"{image.partition('/')[2]}.{suffix}"

    def kernel(self, kernel: str) -> Kernel | None:
        for name in (kernel.partition("/")[2], "default"):
            folder = self.folder / "kernels" / name
            if (folder / "vmlinuz").exists():
                return Kernel(_file(folder / "vmlinuz"), _file(folder / "initrd.img"))
        return None

    @property
    def helper(self) -> Kernel:
        folder = self.folder / "helper"
        if not (folder / "vmlinuz").exists():
            raise Refused("There is no helper system; the operator of this cloud has to build it (docs/hosts.md).")
        return Kernel(_file(folder / "vmlinuz"), _file(folder / "initrd.img"))

    def boot_files(self) -> list[File]:
        """Everything that a machine may be started with besides its disks."""
        kernels = [folder.name for folder in (self.folder / "kernels").glob("*/")]
        pairs = [self.kernel(f"compute/{name}") for name in kernels]
        if (self.folder / "helper" / "vmlinuz").exists():
            pairs.append(self.helper)
        return [file for pair in pairs if pair is not None for file in (pair.kernel, pair.initrd)]

    def files(self) -> set[str]:
        """The names of all that hosts may keep."""
        images = [f"compute/{path.stem}" for path in (self.folder / "images").glob("*.json")]
        return {file.name for file in self.boot_files()} | {self.image_file(image).name for image in images}


def _file(path: Path) -> File:
    stat = path.stat()
    return File(path, _digest(path, stat.st_size, stat.st_mtime_ns))


@lru_cache(maxsize=64)
def _digest(path: Path, _size: int, _modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
