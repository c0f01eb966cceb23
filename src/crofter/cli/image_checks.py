"""Checks of an image file before any program opens it: format and dangerous features."""

from __future__ import annotations

import os
import stat
import struct
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

MB = 1 << 20
LARGEST = 200 * 1024
"""MB that an image may need."""
SECTOR = 512
QCOW2 = b"QFI\xfb"
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
HEADER = struct.Struct(">4sIQIIQIIQQIIQ")
FEATURES = struct.Struct(">Q")
DIRTY, CORRUPT, DATA_FILE = 1, 2, 4
OFFSET = 0x00FF_FFFF_FFFF_FE00
"""The bits of a table's entry that say where in the file something lies."""
COMPRESSED_CLUSTER = 1 << 62


class Kind(NamedTuple):
    format: Literal["qcow2", "raw"]
    size: int
    """Required disk size in MB."""


def look_at(path: Path) -> Kind:
    """Return the kind of the image file. Raise ValueError with the problem otherwise."""
    with _opened(path) as file:
        length = os.fstat(file.fileno()).st_size
        head = file.read(4096)
        if head.startswith(QCOW2):
            return Kind("qcow2", _megabytes(_qcow2(file, head, length)))
        for magic, name in COMPRESSED.items():
            if head.startswith(magic):
                raise ValueError(f"the file is compressed ({name}): unpack it first")
        _raw(head, length)
        return Kind("raw", _megabytes(length))


def _opened(path: Path) -> BinaryIO:
    """The file itself: a link might lead to another one by the time that it is read."""
    if path.is_symlink():
        raise ValueError(f"{path} is a symbolic link: name the file itself")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{path} is not a file")
    return os.fdopen(descriptor, "rb")


def _megabytes(size: int) -> int:
    needed = -(-size // MB)
    if needed > LARGEST:
        raise ValueError(f"the image needs {needed} MB, which is more than {LARGEST}")
    return needed


def _qcow2(file: BinaryIO, head: bytes, length: int) -> int:
    """Bytes of the disk inside."""
    if len(head) < HEADER.size + 32:
        raise ValueError("the image is truncated: its header is not whole")
    _, version, backing, backing_length, bits, size, encryption, entries, table, counts, clusters, _, _ = (
        HEADER.unpack_from(head)
    )
    if version not in (2, 3) or not 9 <= bits <= 21 or size == 0:
        raise ValueError("the file is not an image: its header makes no sense")
    if backing or backing_length:
        raise ValueError("the image is based on another file")
    if encryption:
        raise ValueError("the image is encrypted")
    features = FEATURES.unpack_from(head, HEADER.size)[0] if version == 3 else 0
    if features & DATA_FILE:
        raise ValueError("the image keeps its bytes in another file")
    if features & (DIRTY | CORRUPT):
        raise ValueError("the image is damaged, or was not closed when it was written")
    _megabytes(size)
    if entries > -(-size // (1 << (2 * bits - 3))) + 1:
        raise ValueError("the file is not an image: its tables are larger than the disk needs")
    if max(table + 8 * entries, counts + (clusters << bits)) > length:
        raise ValueError("the image is truncated: its tables are not whole")
    for end in _ends(file, table, entries, bits, length):
        if end > length:
            raise ValueError("the image is truncated: a part of it lies behind the end of the file")
    return int(size)


def _ends(file: BinaryIO, table: int, entries: int, bits: int, length: int) -> Iterator[int]:
    """Where each table of the second level ends, and where the last cluster begins that each names."""
    for entry in _numbers(file, table, entries):
        at = entry & OFFSET
        if at:
            yield at + (1 << bits)
            if at + (1 << bits) <= length:
                named = _numbers(file, at, 1 << (bits - 3))
                yield max((offset & OFFSET for offset in named if not offset & COMPRESSED_CLUSTER), default=0) + 1


def _numbers(file: BinaryIO, at: int, count: int) -> array[int]:
    file.seek(at)
    numbers = array("Q", file.read(8 * count))
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


def _raw(head: bytes, length: int) -> None:
    """A disk with a partition table, or a file system: anything else may be any file of this machine."""
    if length % SECTOR or length < len(head):
        raise ValueError("the file is not an image, or it is truncated: it does not end with a sector")
    end = _end_by_partitions(head) if head[510:512] == b"\x55\xaa" else _end_by_file_system(head)
    if end is None:
        raise ValueError("the file is not an image: neither qcow2, nor a disk with partitions or an ext file system")
    if end > length:
        raise ValueError(f"the image is truncated: it has {length} bytes of {end}")


def _end_by_partitions(head: bytes) -> int | None:
    if head[512:520] == b"EFI PART":
        return (int.from_bytes(head[544:552], "little") + 1) * SECTOR  # where the copy of the table lies
    parts = [head[place : place + 16] for place in range(446, 510, 16)]
    starts = [int.from_bytes(part[8:12], "little") + int.from_bytes(part[12:16], "little") for part in parts if part[4]]
    return max(starts) * SECTOR if starts else None


def _end_by_file_system(head: bytes) -> int | None:
    block = head[1024:2048]
    if block[56:58] != b"\x53\xef":
        return None
    return int.from_bytes(block[4:8], "little") << (10 + int.from_bytes(block[24:28], "little") % 8)
