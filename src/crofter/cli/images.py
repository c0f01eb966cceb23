"""Images for real machines: taken in from a file of their publisher, after a look that trusts nothing in it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from crofter.cli.image_checks import LARGEST, MB, look_at
from crofter.cli.operators import Arguments, Rows
from crofter.context import Runtime
from crofter.db import query
from crofter.db.sql import bindparam, select
from crofter.drivers.hypervisor.libvirt.media import ImageFile
from crofter.resources.images.store import image as images

SECONDS, MEMORY = 900, 2 << 30
"""Limits of the inspection and conversion of an image: a crafted file must not fill or block the machine."""
_KNOWN = query(select(images.c.size).where(images.c.name == bindparam("name")))
_SUMS = {64: "sha256", 128: "sha512"}


def take_in(runtime: Runtime, arguments: Arguments) -> Rows:
    # From the root on: to qemu-img a name with a colon may be the address of something else than a file.
    slug, source = arguments["id"], Path(arguments["file"]).absolute()
    if not re.fullmatch(r"compute/[A-Za-z0-9][A-Za-z0-9._-]*", slug):
        raise ValueError("an id is like compute/debian12")
    with runtime.database.read() as db:
        offered = db.value(_KNOWN, name=slug)
    if offered is None:
        raise ValueError(f"there is no image {slug} in the catalogue; add it to images.toml first")
    kind = look_at(source)
    _check_sum(source, arguments["sum"])
    if shutil.which("qemu-img") is None:
        raise ValueError("there is no qemu-img (Debian: apt install qemu-utils)")
    return [_converted(runtime, arguments, slug, source, kind.format, int(offered))]


def _converted(
    runtime: Runtime, arguments: Arguments, slug: str, source: Path, format: str, offered: int
) -> dict[str, Any]:
    size = _examine(source, format)
    if size > offered:
        raise ValueError(f"the image needs {size} MB, and the catalogue says {offered}: change that first")
    folder = runtime.settings.media_folder / "images"
    folder.mkdir(parents=True, exist_ok=True)
    name = slug.partition("/")[2]
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work, "image.qcow2")
        _run("convert", "-q", "-f", format, "-O", "qcow2", "-o", "compat=1.1", str(source), str(made))
        architecture, boot = arguments["architecture"], _boot(made, size)
        known = ImageFile(architecture, size, boot, _digest(made, "sha256"), max(1, made.stat().st_size // MB))
        made.chmod(0o444)
        Path(work, "image.json").write_bytes(msgspec.json.encode(known))
        # Write the description last: its presence means that the image is complete.
        os.replace(made, folder / f"{name}.qcow2")
        os.replace(Path(work, "image.json"), folder / f"{name}.json")
    return {"id": slug, "architecture": architecture, "size": size, "boots": boot, "sha256": known.sha256}


def _check_sum(path: Path, expected: str) -> None:
    algorithm = _SUMS.get(len(expected))
    if algorithm is None:
        raise ValueError("a sum is SHA-256 or SHA-512, in hexadecimal, as the publisher tells it")
    if _digest(path, algorithm) != expected.lower():
        raise ValueError("the file is not the one that its publisher describes: another sum")


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _examine(path: Path, format: str) -> int:
    """MB that the image needs. Refuses what would have a host read other files, and what is damaged or too large."""
    # The format is said and never guessed: a file that looks like a third one could name any file of this machine.
    info = json.loads(_run("info", "--output=json", "-f", format, str(path)))
    details = (info.get("format-specific") or {}).get("data") or {}
    if info.get("backing-filename") or info.get("full-backing-filename"):
        raise ValueError("the image is based on another file")
    if details.get("data-file"):
        raise ValueError("the image keeps its bytes in another file")
    if info.get("encrypted") or details.get("encrypt"):
        raise ValueError("the image is encrypted")
    size = -(-int(info["virtual-size"]) // MB)
    if size > LARGEST:
        raise ValueError(f"the image needs {size} MB, which is more than {LARGEST}")
    if format == "qcow2":
        _run("check", "-q", "-f", format, str(path))
    return size


def _boot(path: Path, size: int) -> Any:
    """A disk with a partition table boots by itself; one that is a file system needs a kernel from outside."""
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        first = Path(work, "first")
        _run("dd", "-f", "qcow2", "-O", "raw", "bs=4096", "count=1", f"if={path}", f"of={first}")
        head = first.read_bytes()
    partitioned = head[510:512] == b"\x55\xaa" and (head[512:520] == b"EFI PART" or any(head[446:510]))
    return "firmware" if partitioned else "kernel"


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _run(*words: str) -> str:
    done = subprocess.run(["qemu-img", *words], capture_output=True, text=True, timeout=SECONDS, preexec_fn=_limits)
    if done.returncode != 0:
        raise ValueError(f"the image cannot be read: {done.stderr.strip()[:300]}")
    return done.stdout


def show(runtime: Runtime, arguments: Arguments) -> Rows:
    listed = []
    for path in sorted((runtime.settings.media_folder / "images").glob("*.json")):
        known = msgspec.json.decode(path.read_bytes(), type=ImageFile)
        listed.append({"id": f"compute/{path.stem}", **msgspec.structs.asdict(known)})
    return listed


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {"images import": take_in, "images list": show}
