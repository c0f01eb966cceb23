"""Plans of the verbs on private images: their changes, or the reason of a refusal."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from crofter.drivers.hypervisor.errors import Refused
from crofter.drivers.hypervisor.ledger.entries import Disk, Entry, Image, digest
from crofter.drivers.hypervisor.ledger.ledger import Ledger
from crofter.drivers.hypervisor.ledger.plans import Effect, Plan, Planner, already, single_effect
from crofter.drivers.hypervisor.specs import FromDisk, FromUpload, ImageRef, ImageSource


def make(source: ImageSource) -> Planner[Image]:
    def plan(ledger: Ledger, entry: Entry[Image], _ends: int) -> Plan:
        if entry.doc is not None and entry.doc.ready:
            return already(Image, entry)
        new = _of_disk(ledger, source) if isinstance(source, FromDisk) else _of_file(source)
        effect = Effect(Image, replace(entry, doc=new), replace(new, ready=True))
        return Plan((effect,), amount=new.used)

    return plan


def _of_disk(ledger: Ledger, source: FromDisk) -> Image:
    disk = ledger.get(Disk, source.disk).doc
    if disk is None or not disk.ready:
        raise Refused(f"Disk {source.disk.id} is not ready.")
    return Image(disk.size, disk.used, disk.content, image=disk.image)


def _of_file(source: FromUpload) -> Image:
    if not Path(source.file).is_file():
        raise Refused("The file that was uploaded is not there.")
    return Image(source.size, source.size, digest("upload", source.digest))


def ready(ledger: Ledger, ref: ImageRef) -> Image:
    """The image, to make a disk from."""
    image = ledger.get(Image, ref).doc
    if image is None or not image.ready:
        raise Refused(f"Image {ref.id} is not ready.")
    return image


def remove(_ledger: Ledger, entry: Entry[Image], _ends: int) -> Plan:
    # Written down even if it was never there: a late creation must not bring it back.
    return already(Image, entry) if entry.doc is None else single_effect(Image, entry, None)
