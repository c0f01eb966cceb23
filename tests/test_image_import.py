"""Hostile files passed as images: each is refused with a reason and without leftovers."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from crofter.cli import image_checks
from tests.cloud import Cloud
from tests.test_staff import AdminCommands

MB = 1 << 20
BITS = 16
CLUSTER = 1 << BITS
HEADER = ">4sIQIIQIIQQIIQQQQII"
FAKE = """#!/bin/sh
echo "$1" >> "{log}"
case "$1" in
info) echo '{{"virtual-size": 1048576}}' ;;
convert) for last; do :; done; echo half > "$last"; echo "no space" >&2; exit 1 ;;
esac
"""


def qcow2(
    *,
    backing: int = 0,
    size: int = MB,
    encryption: int = 0,
    features: int = 0,
    bits: int = BITS,
    entries: int = 1,
    cut: int = 0,
    version: int = 3,
) -> bytes:
    """An image as ``qemu-img create`` writes one, with one cluster of data at its end."""
    head = struct.pack(
        HEADER,
        *(b"QFI\xfb", version, backing, backing and 11, bits, size, encryption, entries, 3 * CLUSTER),
        *(CLUSTER, 1, 0, 0, features, 0, 0, 4, 104),
    )
    counts = struct.pack(">Q", 2 * CLUSTER)
    level1, level2 = struct.pack(">Q", 4 * CLUSTER | 1 << 63), struct.pack(">Q", 5 * CLUSTER | 1 << 63)
    parts = (head + b"/etc/shadow", counts, b"\x00\x01" * 6, level1, level2, b"data" * 100)
    whole = b"".join(part.ljust(CLUSTER, b"\0") for part in parts)
    return whole[: len(whole) - cut]


def disk(length: int = MB, *, sectors: int = MB // 512 - 1) -> bytes:
    """A raw disk with one partition, in the old form."""
    entry = struct.pack("<B3sB3sII", 0x80, b"", 0x83, b"", 1, sectors)
    return (b"\0" * 446 + entry.ljust(64, b"\0") + b"\x55\xaa").ljust(length, b"\0")


def gpt(length: int = MB, *, last: int = MB // 512 - 1) -> bytes:
    head = bytearray(disk(length))
    head[512:520], head[544:552] = b"EFI PART", struct.pack("<Q", last)
    return bytes(head)


def file_system(length: int = MB, *, blocks: int = 1024) -> bytes:
    block = bytearray(1024)
    block[4:8], block[56:58] = struct.pack("<I", blocks), b"\x53\xef"
    return (b"\0" * 1024 + bytes(block)).ljust(length, b"\0")


HOSTILE = {
    "based on another file": (qcow2(backing=104), "the image is based on another file"),
    "with its bytes elsewhere": (qcow2(features=4), "the image keeps its bytes in another file"),
    "encrypted": (qcow2(encryption=2), "the image is encrypted"),
    "absurdly large": (qcow2(size=1 << 60), "which is more than"),
    "of no size": (qcow2(size=0), "its header makes no sense"),
    "of an unknown version": (qcow2(version=9), "its header makes no sense"),
    "with absurd clusters": (qcow2(bits=63), "its header makes no sense"),
    "with absurd tables": (qcow2(entries=1 << 30), "its tables are larger than the disk needs"),
    "damaged": (qcow2(features=2), "the image is damaged"),
    "cut in its header": (qcow2()[:80], "its header is not whole"),
    "cut in its tables": (qcow2(cut=3 * CLUSTER), "its tables are not whole"),
    "cut in its second tables": (qcow2(cut=2 * CLUSTER), "lies behind the end of the file"),
    "cut in its data": (qcow2(cut=CLUSTER), "lies behind the end of the file"),
    "a text": (b"root:x:0:0:root:/root:/bin/sh\n", "the file is not an image"),
    "zeros": (b"\0" * MB, "the file is not an image"),
    "empty": (b"", "the file is not an image"),
    "compressed": (b"\x1f\x8b" + b"\0" * 4094, "compressed (gzip): unpack it first"),
    "a cut disk": (disk(MB // 2), "the image is truncated"),
    "a disk cut within a sector": (disk(MB - 100), "does not end with a sector"),
    "a cut disk of the new form": (gpt(MB // 2), "the image is truncated"),
    "a cut file system": (file_system(MB // 2), "the image is truncated"),
}


class Importing:
    """A folder with files, a catalogue, and a qemu-img that records its calls."""

    def __init__(self, folder: Path, admin: AdminCommands, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._admin = folder, admin
        self.asked = folder / "asked"
        program = folder / "bin" / "qemu-img"
        program.parent.mkdir()
        program.write_text(FAKE.format(log=self.asked))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        self._before = self.kept()

    def file(self, content: bytes) -> Path:
        path = self.folder / "sent"
        path.write_bytes(content)
        return path

    def refused(self, path: Path, digest: str | None = None) -> str:
        """Why a file was not taken in; that nothing was kept of it is looked at."""
        known = digest or hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()
        self._admin("images", "import", str(path), "--id", "compute/debian12", "--sum", known, code=1)
        stderr = self._admin.stderr
        assert self.kept() == self._before
        assert self._admin("images", "list") == []
        return stderr

    def kept(self) -> list[Path]:
        media = self.folder / "data" / "media"
        return sorted(path for path in media.rglob("*") if not path.is_dir()) if media.exists() else []


@pytest.fixture
def importing(
    cloud_in_folder: Cloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Importing:
    admin = AdminCommands(capsys, tmp_path / "data", cloud_in_folder.runtime.settings.database)
    return Importing(tmp_path, admin, monkeypatch)


@pytest.mark.both
def test_a_hostile_file_is_refused_before_any_program_looks_into_it(importing: Importing) -> None:
    for name, (content, reason) in HOSTILE.items():
        assert reason in importing.refused(importing.file(content)), name
    assert not importing.asked.exists()


def test_a_file_with_another_sum_is_refused(importing: Importing) -> None:
    other = hashlib.sha512(b"what was published").hexdigest()
    assert "another sum" in importing.refused(importing.file(disk()), other)
    assert "a sum is SHA-256 or SHA-512" in importing.refused(importing.file(disk()), "abc")
    assert not importing.asked.exists()


def test_what_is_no_plain_file_is_refused(importing: Importing, tmp_path: Path) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(importing.file(disk()))
    os.mkfifo(pipe)
    assert "is a symbolic link" in importing.refused(link)
    assert "is not a file" in importing.refused(pipe)
    assert "is not a file" in importing.refused(tmp_path)
    assert "cannot be read" in importing.refused(tmp_path / "missing")
    assert not importing.asked.exists()


def test_a_conversion_that_breaks_off_leaves_nothing(importing: Importing) -> None:
    assert "the image cannot be read: no space" in importing.refused(importing.file(disk()))
    assert importing.asked.read_text().split() == ["info", "convert"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (qcow2(), ("qcow2", 1)),
        (qcow2(version=2), ("qcow2", 1)),
        (qcow2(size=3 * MB + 1), ("qcow2", 4)),
        (disk(), ("raw", 1)),
        (gpt(), ("raw", 1)),
        (file_system(), ("raw", 1)),
    ],
)
def test_an_honest_image_is_known_for_what_it_is(tmp_path: Path, content: bytes, expected: tuple[str, int]) -> None:
    path = tmp_path / "image"
    path.write_bytes(content)
    assert image_checks.look_at(path) == expected


@pytest.mark.skipif(shutil.which("qemu-img") is None, reason="qemu-img is not installed")
def test_what_qemu_img_makes_is_known_too(tmp_path: Path) -> None:
    def make(*words: str) -> Path:
        path = tmp_path / "made"
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *words, str(path), "64M"], check=True)
        assert stat.S_ISREG(path.stat().st_mode)
        return path

    assert image_checks.look_at(make()) == ("qcow2", 64)
    assert image_checks.look_at(make("-o", "compat=0.10")) == ("qcow2", 64)
    refusals: dict[str, Callable[[], Path]] = {
        "based on another file": lambda: make("-F", "raw", "-b", "/etc/passwd"),
        "in another file": lambda: make("-o", f"data_file={tmp_path}/outside"),
    }
    for reason, made in refusals.items():
        with pytest.raises(ValueError, match=reason):
            image_checks.look_at(made())
