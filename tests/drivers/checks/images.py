"""Images of accounts: made from disks and from files, copied into disks, and gone for good."""

from __future__ import annotations

import gzip
import hashlib
import tempfile
from pathlib import Path

import pytest

from crofter.drivers.hypervisor import (
    Absent,
    DiskRef,
    DiskSpec,
    FromDisk,
    FromImage,
    FromUpload,
    ImageRef,
    Refused,
    Seed,
    Unreachable,
)
from tests.drivers.harness import DriverCase


def an_image_keeps_what_its_disk_was(case: DriverCase) -> None:
    machine = case.machine()
    before = case.harness.content(machine.root)
    case.boot(machine.domain)
    image = case.image(machine.root)
    assert case.driver.observe(image).size == 4000
    case.shut_down(machine.domain)
    order = case.order()
    case.done(lambda: case.driver.ensure_seed(machine.root, Seed(password="a-long-pass-phrase"), order))
    case.remove(machine.domain)
    case.remove(machine.root)
    near, far = _deployed(case, image, image.host), _deployed(case, image, case.host(case.other_region))
    assert case.harness.content(near) == before == case.harness.content(far)


def an_image_is_not_put_on_a_disk_that_is_too_small(case: DriverCase) -> None:
    image = case.image(case.image_disk(case.host()))
    ref = DiskRef(image.host, case.number())
    with pytest.raises(Refused):
        case.driver.ensure_disk(ref, DiskSpec(3999), _source(image), case.order())
    assert case.driver.observe(ref).presence == "absent"


def an_image_that_is_not_there_makes_nothing(case: DriverCase) -> None:
    ref, image = DiskRef(case.host(), case.number()), ImageRef(case.host(), case.number())
    with pytest.raises(Refused):
        case.driver.ensure_disk(ref, DiskSpec(4000), _source(image), case.order())
    with pytest.raises(Refused):
        case.driver.ensure_image(image, FromDisk(ref), case.order())
    assert case.driver.observe(image).presence == "absent"


def an_image_is_made_from_a_file_that_may_go_afterwards(case: DriverCase) -> None:
    content = b"system" * 1000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "image.gz"
        file.write_bytes(gzip.compress(content))
        source = FromUpload(str(file), 1, hashlib.sha256(content).hexdigest())
        image, order = ImageRef(case.host(), case.number()), case.order(action="image_upload")
        case.done(lambda: case.driver.ensure_image(image, source, order))
        other = _from_file(case, folder, b"another system")
    assert case.driver.ensure_image(image, source, order).done, "what was done is not looked for again"
    assert case.driver.observe(image).presence == "ready"
    first, second = _deployed(case, image, image.host), _deployed(case, other, other.host)
    assert case.harness.content(first) != case.harness.content(second)


def a_file_that_is_not_there_makes_no_image(case: DriverCase) -> None:
    image = ImageRef(case.host(), case.number())
    with pytest.raises(Refused):
        case.driver.ensure_image(image, FromUpload("/nowhere/image.gz", 1, "00"), case.order())
    assert case.driver.observe(image).presence == "absent"


def an_image_that_was_deleted_stays_so(case: DriverCase) -> None:
    disk = case.image_disk(case.host())
    image, making = ImageRef(disk.host, case.number()), case.order(action="disk_imagize")
    case.driver.ensure_image(image, FromDisk(disk), making)
    case.remove(image)
    with pytest.raises(Absent):
        case.driver.ensure_image(image, FromDisk(disk), case.order())
    with pytest.raises(Refused):
        case.driver.ensure_image(image, FromDisk(disk), making)
    case.harness.wait(600)
    assert case.driver.observe(image).presence == "absent"
    assert case.driver.list().images == ()


def images_are_listed_where_they_are(case: DriverCase) -> None:
    image = case.image(case.image_disk(case.host()), case.host(case.other_region))
    half = ImageRef(case.host(), case.number())
    case.driver.ensure_image(half, FromDisk(case.image_disk(case.host())), case.order())
    listed = case.harness.start().list()
    assert listed.images == tuple(sorted((image, half), key=lambda ref: ref.id))
    assert image in case.driver.list(image.host).images
    case.harness.unplug(image.host)
    assert image not in case.driver.list().images
    assert case.driver.observe(image).presence == "unknown"
    with pytest.raises(Unreachable):
        case.driver.ensure_disk(DiskRef(half.host, case.number()), DiskSpec(4000), _source(image), case.order())


def _source(image: ImageRef) -> FromImage:
    return FromImage(f"private/{image.id}", 4000, image)


def _deployed(case: DriverCase, image: ImageRef, host: int) -> DiskRef:
    ref, order = DiskRef(host, case.number()), case.order(action="disk_create")
    case.done(lambda: case.driver.ensure_disk(ref, DiskSpec(4000), _source(image), order))
    return ref


def _from_file(case: DriverCase, folder: str, content: bytes) -> ImageRef:
    file = Path(folder) / f"{case.number()}.gz"
    file.write_bytes(gzip.compress(content))
    source = FromUpload(str(file), 1, hashlib.sha256(content).hexdigest())
    image, order = ImageRef(case.host(), case.number()), case.order(action="image_upload")
    case.done(lambda: case.driver.ensure_image(image, source, order))
    return image
