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
from tests.drivers.bench import Yard


def an_image_keeps_what_its_disk_was(yard: Yard) -> None:
    machine = yard.machine()
    before = yard.bench.content(machine.root)
    yard.boot(machine.domain)
    image = yard.image(machine.root)
    assert yard.driver.observe(image).size == 4000
    yard.shut_down(machine.domain)
    order = yard.order()
    yard.done(lambda: yard.driver.ensure_seed(machine.root, Seed(password="a-long-pass-phrase"), order))
    yard.remove(machine.domain)
    yard.remove(machine.root)
    near, far = _deployed(yard, image, image.host), _deployed(yard, image, yard.host(yard.other_region))
    assert yard.bench.content(near) == before == yard.bench.content(far)


def an_image_is_not_put_on_a_disk_that_is_too_small(yard: Yard) -> None:
    image = yard.image(yard.image_disk(yard.host()))
    ref = DiskRef(image.host, yard.number())
    with pytest.raises(Refused):
        yard.driver.ensure_disk(ref, DiskSpec(3999), _source(image), yard.order())
    assert yard.driver.observe(ref).presence == "absent"


def an_image_that_is_not_there_makes_nothing(yard: Yard) -> None:
    ref, image = DiskRef(yard.host(), yard.number()), ImageRef(yard.host(), yard.number())
    with pytest.raises(Refused):
        yard.driver.ensure_disk(ref, DiskSpec(4000), _source(image), yard.order())
    with pytest.raises(Refused):
        yard.driver.ensure_image(image, FromDisk(ref), yard.order())
    assert yard.driver.observe(image).presence == "absent"


def an_image_is_made_from_a_file_that_may_go_afterwards(yard: Yard) -> None:
    content = b"system" * 1000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "image.gz"
        file.write_bytes(gzip.compress(content))
        source = FromUpload(str(file), 1, hashlib.sha256(content).hexdigest())
        image, order = ImageRef(yard.host(), yard.number()), yard.order(action="image_upload")
        yard.done(lambda: yard.driver.ensure_image(image, source, order))
        other = _from_file(yard, folder, b"another system")
    assert yard.driver.ensure_image(image, source, order).done, "what was done is not looked for again"
    assert yard.driver.observe(image).presence == "ready"
    first, second = _deployed(yard, image, image.host), _deployed(yard, other, other.host)
    assert yard.bench.content(first) != yard.bench.content(second)


def a_file_that_is_not_there_makes_no_image(yard: Yard) -> None:
    image = ImageRef(yard.host(), yard.number())
    with pytest.raises(Refused):
        yard.driver.ensure_image(image, FromUpload("/nowhere/image.gz", 1, "00"), yard.order())
    assert yard.driver.observe(image).presence == "absent"


def an_image_that_was_deleted_stays_so(yard: Yard) -> None:
    disk = yard.image_disk(yard.host())
    image, making = ImageRef(disk.host, yard.number()), yard.order(action="disk_imagize")
    yard.driver.ensure_image(image, FromDisk(disk), making)
    yard.remove(image)
    with pytest.raises(Absent):
        yard.driver.ensure_image(image, FromDisk(disk), yard.order())
    with pytest.raises(Refused):
        yard.driver.ensure_image(image, FromDisk(disk), making)
    yard.bench.wait(600)
    assert yard.driver.observe(image).presence == "absent"
    assert yard.driver.list().images == ()


def images_are_listed_where_they_are(yard: Yard) -> None:
    image = yard.image(yard.image_disk(yard.host()), yard.host(yard.other_region))
    half = ImageRef(yard.host(), yard.number())
    yard.driver.ensure_image(half, FromDisk(yard.image_disk(yard.host())), yard.order())
    listed = yard.bench.start().list()
    assert listed.images == tuple(sorted((image, half), key=lambda ref: ref.id))
    assert image in yard.driver.list(image.host).images
    yard.bench.unplug(image.host)
    assert image not in yard.driver.list().images
    assert yard.driver.observe(image).presence == "unknown"
    with pytest.raises(Unreachable):
        yard.driver.ensure_disk(DiskRef(half.host, yard.number()), DiskSpec(4000), _source(image), yard.order())


def _source(image: ImageRef) -> FromImage:
    return FromImage(f"private/{image.id}", 4000, image)


def _deployed(yard: Yard, image: ImageRef, host: int) -> DiskRef:
    ref, order = DiskRef(host, yard.number()), yard.order(action="disk_create")
    yard.done(lambda: yard.driver.ensure_disk(ref, DiskSpec(4000), _source(image), order))
    return ref


def _from_file(yard: Yard, folder: str, content: bytes) -> ImageRef:
    file = Path(folder) / f"{yard.number()}.gz"
    file.write_bytes(gzip.compress(content))
    source = FromUpload(str(file), 1, hashlib.sha256(content).hexdigest())
    image, order = ImageRef(yard.host(), yard.number()), yard.order(action="image_upload")
    yard.done(lambda: yard.driver.ensure_image(image, source, order))
    return image
