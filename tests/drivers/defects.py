"""Drivers with one defect each, to prove that the contract's checks can fail."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from crofter.drivers.hypervisor import (
    Change,
    DiskRef,
    DiskSpec,
    DomainRef,
    DomainSpec,
    Empty,
    FromBackup,
    FromDisk,
    FromImage,
    FromVolume,
    ImageRef,
    ImageSource,
    Inventory,
    ObservedDomain,
    Order,
    Progress,
    SerialPort,
    Source,
    Usage,
    VolumeRef,
    VolumeSource,
)
from crofter.drivers.hypervisor.ledger.entries import D, Disk, Domain, Entry, Image, Volume
from crofter.drivers.hypervisor.ledger.ledger import Ledger
from crofter.drivers.hypervisor.ledger.performing import Task, perform
from crofter.drivers.hypervisor.ledger.plans import Plan, single_effect
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from crofter.drivers.hypervisor.simulated.guest import SimulatedSerialPort

Driver = type[SimulatedHypervisor]
_fresh = itertools.count()


class _Restarts(Ledger):
    def take(self, document: type[D], known: Entry[D], order: Order, *, anew: bool) -> Entry[D]:
        return super().take(document, known, order, anew=True)


class _Unfenced(Ledger):
    def admit(self, document: type[D], known: Entry[D] | None, order: Order) -> None:
        """Admit every order."""


class _KnowsNoFollowers(Ledger):
    def admit(self, document: type[D], known: Entry[D] | None, order: Order) -> None:
        if known is not None and known.operation == order.operation:
            super().admit(document, known, order)


class _SeesNoUse(Ledger):
    def user(self, disk: Entry[Disk]) -> Entry[Domain] | None:
        return None


class _SeesNoVolumeInUse(Ledger):
    def volume_user(self, volume: Entry[Volume]) -> Entry[Domain] | None:
        return None


class _ForgetsTheDead(Ledger):
    def find(self, document: type[D], number: int) -> Entry[D] | None:
        entry = super().find(document, number)
        return None if entry is None or entry.doc is None else entry


class _HoldsNothing(Ledger):
    def lock_hosts(self, hosts: Iterable[int]) -> None:
        """Leaves time for another one to look before either writes."""

    def find(self, document: type[D], number: int) -> Entry[D] | None:
        entry = super().find(document, number)
        time.sleep(0.05)
        return entry


def _number(driver: SimulatedHypervisor) -> int:
    """Return a number of the driver; ``id()`` is reused after a driver is deleted."""
    return int(vars(driver).setdefault("number", next(_fresh)))


def _with_orders(name: str, reading: Callable[[SimulatedHypervisor, Order], Order]) -> Driver:
    """A driver that takes each order for another one. The order is every verb's last argument by position."""

    def misread(verb: str) -> Callable[..., Progress]:
        def call(self: SimulatedHypervisor, *arguments: Any, **options: Any) -> Progress:
            *others, order = arguments
            done: Progress = getattr(SimulatedHypervisor, verb)(self, *others, reading(self, order), **options)
            return done

        return call

    verbs = [verb for verb in vars(SimulatedHypervisor) if verb.startswith("ensure_")]
    return type(name, (SimulatedHypervisor,), {verb: misread(verb) for verb in verbs} | {"ledger_class": _Restarts})


def _with_ledger(name: str, ledger: type[Ledger]) -> Driver:
    return type(name, (SimulatedHypervisor,), {"ledger_class": ledger})


class UnknownIsOff(SimulatedHypervisor):
    def observe(self, ref: Any) -> Any:
        seen = super().observe(ref)
        return replace(seen, power="off") if isinstance(seen, ObservedDomain) and seen.power == "unknown" else seen


class TellsNoReasons(SimulatedHypervisor):
    def observe(self, ref: Any) -> Any:
        seen = super().observe(ref)
        return replace(seen, reason="ours") if isinstance(seen, ObservedDomain) and seen.reason else seen


class TellsNoChanges(SimulatedHypervisor):
    def changes(self, after: int, limit: int = 100) -> tuple[Change, ...]:
        return ()


class CopiesNothing(SimulatedHypervisor):
    def ensure_disk(self, ref: DiskRef, spec: DiskSpec, source: Source, order: Order) -> Progress:
        if isinstance(source, FromDisk | FromBackup):
            source = Empty()
        return super().ensure_disk(ref, spec, source, order)


class DeploysTheCatalogue(SimulatedHypervisor):
    def ensure_disk(self, ref: DiskRef, spec: DiskSpec, source: Source, order: Order) -> Progress:
        if isinstance(source, FromImage):
            source = replace(source, kept=None)
        return super().ensure_disk(ref, spec, source, order)


class KeepsNoBytes(SimulatedHypervisor):
    def ensure_image(self, ref: ImageRef, source: ImageSource, order: Order) -> Progress:
        def plan(_ledger: Ledger, entry: Entry[Image], _ends: int) -> Plan:
            return single_effect(Image, replace(entry, doc=Image(1, 1, "")), Image(1, 1, "", ready=True))

        return perform(self._transactions, Task("image", Image, ref, order, plan, creates=True))


class ListsNoImages(SimulatedHypervisor):
    def list(self, host: int | None = None) -> Inventory:
        return replace(super().list(host), images=())


class ShrinksAnything(SimulatedHypervisor):
    def ensure_size(self, ref: DiskRef, size: int, order: Order) -> Progress:
        def plan(_ledger: Ledger, entry: Entry[Disk], _ends: int) -> Plan:
            assert entry.doc is not None
            return single_effect(Disk, entry, replace(entry.doc, size=size))

        return perform(self._transactions, Task("size", Disk, ref, order, plan))


class CopiesNoVolume(SimulatedHypervisor):
    def ensure_volume(self, ref: VolumeRef, size: int, source: VolumeSource, order: Order) -> Progress:
        return super().ensure_volume(ref, size, Empty() if isinstance(source, FromVolume) else source, order)


class ShrinksVolumes(SimulatedHypervisor):
    def ensure_grown(self, ref: VolumeRef, size: int, order: Order) -> Progress:
        def plan(_ledger: Ledger, entry: Entry[Volume], _ends: int) -> Plan:
            assert entry.doc is not None
            return single_effect(Volume, entry, replace(entry.doc, size=size))

        return perform(self._transactions, Task("grown", Volume, self._stored(ref), order, plan))


class DetachesNothing(SimulatedHypervisor):
    def ensure_detached(self, ref: DomainRef, volume: VolumeRef, order: Order) -> Progress:
        return Progress()


class KeepsPlugsOfTheDead(SimulatedHypervisor):
    def observe(self, ref: Any) -> Any:
        seen = super().observe(ref)
        if isinstance(seen, ObservedDomain) and seen.power == "off" and seen.spec is not None:
            return replace(seen, volumes=(1, *seen.spec.volumes))
        return seen


class ListsNoVolumes(SimulatedHypervisor):
    def list(self, host: int | None = None) -> Inventory:
        return replace(super().list(host), volumes=())


class LeavesDisksBehind(SimulatedHypervisor):
    def ensure_moved(
        self, ref: DomainRef, to: int, disks: tuple[DiskRef, ...], order: Order, *, live: bool = False
    ) -> Progress:
        return super().ensure_moved(ref, to, (), order, live=live)


class MovesOnlyWhatIsOff(SimulatedHypervisor):
    def ensure_moved(
        self, ref: DomainRef, to: int, disks: tuple[DiskRef, ...], order: Order, *, live: bool = False
    ) -> Progress:
        self.ensure_off(ref, replace(order, step=f"{order.step} off"))
        return super().ensure_moved(ref, to, disks, order, live=live)


class AppliesAtOnce(SimulatedHypervisor):
    def observe(self, ref: Any) -> Any:
        seen = super().observe(ref)
        return replace(seen, active=seen.spec) if isinstance(seen, ObservedDomain) and seen.active else seen


class ListsTheAttachedOnly(SimulatedHypervisor):
    def list(self, host: int | None = None) -> Inventory:
        seen = super().list(host)
        specs = [self.observe(ref).spec or DomainSpec(1, 1) for ref in seen.domains]
        attached = {number for spec in specs for number in spec.disks}
        return replace(seen, disks=tuple(ref for ref in seen.disks if ref.id in attached))


class HidesItsBlindSpots(SimulatedHypervisor):
    def list(self, host: int | None = None) -> Inventory:
        return replace(super().list(host), unreachable=())


class WaitsForEver(SimulatedHypervisor):
    def history(self, *where: Any, timeout: float = 0) -> tuple[Usage, ...]:
        return super().history(*where)


class _JoinsWhatIsOff(SimulatedHypervisor):
    def open_serial_port(self, ref: DomainRef, notify: Callable[[], None]) -> SerialPort:
        return SimulatedSerialPort(ref.name, 0, lambda: 0, lambda: True, notify)


class _StaysJoined(SimulatedHypervisor):
    def open_serial_port(self, ref: DomainRef, notify: Callable[[], None]) -> SerialPort:
        port = super().open_serial_port(ref, notify)
        port._is_on = lambda: True  # type: ignore[attr-defined]
        return port


class _KeepsAll(SimulatedHypervisor):
    def open_serial_port(self, ref: DomainRef, notify: Callable[[], None]) -> SerialPort:
        port = super().open_serial_port(ref, notify)
        port.write = lambda content: len(content)  # type: ignore[method-assign]
        return port


DEFECTS: dict[str, tuple[Driver, str]] = {
    name: (driver, caught)
    for name, driver, caught in (
        ("has a console for a machine that is off", _JoinsWhatIsOff, "a_machine_that_is_off_has_no_console"),
        ("gives out consoles of a silent host", _JoinsWhatIsOff, "a_host_that_does_not_answer_gives_no_console"),
        ("stays joined to a machine that is off", _StaysJoined, "a_console_ends_when_its_machine_goes_off"),
        ("takes whatever is typed", _KeepsAll, "what_nobody_reads_is_bounded"),
        ("loses what is typed", _KeepsAll, "the_console_of_a_machine_shows_what_is_typed"),
        (
            "ignores tokens",
            _with_orders("IgnoresTokens", lambda _, order: replace(order, step=f"{order.step}{next(_fresh)}")),
            "each_verb_repeated_when_done_changes_nothing: seed",
        ),
        (
            "begins again what is half done",
            _with_orders("BeginsAgain", lambda _, order: replace(order, step=f"{order.step}{next(_fresh)}")),
            "each_verb_repeated_half_way_goes_on_where_it_was: size",
        ),
        (
            "boots again what it has booted",
            _with_orders("BootsAgain", lambda _, order: replace(order, step=f"{order.step}{next(_fresh)}")),
            "a_boot_that_was_done_does_not_boot_a_guest_that_went_off_since",
        ),
        (
            "keeps its tables in memory",
            _with_orders("InMemory", lambda driver, order: replace(order, step=f"{order.step}{_number(driver)}")),
            "each_verb_is_finished_by_a_driver_that_did_not_begin_it: moved",
        ),
        (
            "compares the fences of all operations",
            _with_orders("OneForAll", lambda _, order: replace(order, operation=1, step=f"{order.operation}")),
            "the_fences_of_two_operations_do_not_compare",
        ),
        ("ignores fences", _with_ledger("IgnoresFences", _Unfenced), "each_verb_refuses_an_older_fence: running"),
        (
            "ignores fences of new steps",
            _with_ledger("IgnoresFences", _Unfenced),
            "each_verb_refuses_an_older_fence_in_a_new_step: size",
        ),
        (
            "lets operations come back",
            _with_ledger("KnowsNoFollowers", _KnowsNoFollowers),
            "each_verb_refuses_an_operation_that_was_followed: off",
        ),
        (
            "lets a late boot through",
            _with_ledger("KnowsNoFollowers", _KnowsNoFollowers),
            "a_late_boot_does_not_switch_on_what_was_shut_down_since",
        ),
        (
            "brings the dead back",
            _with_ledger("ForgetsTheDead", _ForgetsTheDead),
            "a_late_creation_brings_nothing_back",
        ),
        (
            "resizes disks in use",
            _with_ledger("SeesNoUse", _SeesNoUse),
            "a_disk_in_use_is_not_resized_and_keeps_its_size",
        ),
        (
            "writes to disks in use",
            _with_ledger("SeesNoUse", _SeesNoUse),
            "a_disk_in_use_is_neither_written_nor_deleted",
        ),
        ("shrinks below the files", ShrinksAnything, "a_disk_cannot_shrink_below_what_its_files_need"),
        ("takes unknown for off", UnknownIsOff, "a_host_that_does_not_answer_makes_its_machines_unknown"),
        ("tells no reasons", TellsNoReasons, "a_guest_that_shuts_itself_down_is_told_from_one_that_dies"),
        ("tells no changes", TellsNoChanges, "machines_go_off_and_come_on_with_their_host"),
        ("clones nothing", CopiesNothing, "a_clone_has_the_same_bytes_and_a_life_of_its_own"),
        ("restores nothing", CopiesNothing, "a_backup_of_a_running_machine_is_restored_byte_for_byte"),
        ("deploys another image", DeploysTheCatalogue, "an_image_keeps_what_its_disk_was"),
        ("deploys what is not there", DeploysTheCatalogue, "an_image_that_is_not_there_makes_nothing"),
        ("makes images of nothing", KeepsNoBytes, "an_image_is_made_from_a_file_that_may_go_afterwards"),
        ("lists no images", ListsNoImages, "images_are_listed_where_they_are"),
        ("leaves disks behind", LeavesDisksBehind, "a_machine_moves_with_all_its_disks"),
        ("leaves disks of running machines behind", LeavesDisksBehind, "a_running_machine_moves_live_and_runs_on"),
        ("moves only what is off", MovesOnlyWhatIsOff, "a_running_machine_moves_live_and_runs_on"),
        (
            "gives a volume to two machines",
            _with_ledger("SeesNoVolumeInUse", _SeesNoVolumeInUse),
            "a_volume_is_plugged_into_one_machine_only",
        ),
        (
            "boots with a volume of another machine",
            _with_ledger("SeesNoVolumeInUse", _SeesNoVolumeInUse),
            "a_machine_does_not_boot_with_a_volume_that_another_one_has",
        ),
        (
            "deletes volumes in use",
            _with_ledger("SeesNoVolumeInUse", _SeesNoVolumeInUse),
            "a_volume_in_use_is_not_deleted",
        ),
        ("shrinks volumes", ShrinksVolumes, "a_volume_grows_in_use_and_never_shrinks"),
        ("clones no volume", CopiesNoVolume, "a_copied_volume_is_as_large_as_the_first_at_least"),
        ("detaches nothing", DetachesNothing, "a_detached_volume_can_go_elsewhere"),
        ("leaves volumes in machines that are off", KeepsPlugsOfTheDead, "a_machine_that_goes_off_lets_its_volumes_go"),
        ("lists no volumes", ListsNoVolumes, "a_list_finds_volumes_that_no_machine_has"),
        ("changes what runs", AppliesAtOnce, "a_new_definition_counts_from_the_next_boot"),
        ("waits however long it takes", WaitsForEver, "a_history_that_may_take_no_time_is_unreachable"),
        ("lists no orphans", ListsTheAttachedOnly, "a_list_finds_orphans"),
        ("hides its blind spots", HidesItsBlindSpots, "a_list_tells_which_hosts_it_could_not_see"),
    )
}
"""Defects, each with the check that must detect it."""

RACING = _with_ledger("HoldsNothing", _HoldsNothing)
"""Looks and then writes, and leaves others time in between. SQLite's one writer hides it."""
