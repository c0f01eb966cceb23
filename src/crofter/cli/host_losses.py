"""Commands that declare a host dead, and that take a host out of the fleet."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from crofter.cli.hosts import driver_of, show
from crofter.cli.operators import Arguments, Rows
from crofter.context import Runtime
from crofter.drivers.hypervisor import DriverError
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of
from crofter.drivers.hypervisor.libvirt import fleet, removal
from crofter.resources.regions import store as regions

if TYPE_CHECKING:
    from crofter.drivers.hypervisor.libvirt.fleet import HostEntry

MOST_NAMES = 10


def fence(runtime: Runtime, arguments: Arguments) -> Rows:
    """Declare a host dead. Its instances show ``offline`` and cost nothing from then on."""
    if not arguments["is_off"]:
        raise ValueError("turn the machine off first, for good, and say so: --is-off. Else what ran there runs twice")
    try:
        driver_of(runtime).declare_lost(arguments["id"])
    except DriverError as error:
        raise ValueError(error.reason) from None
    _losing().switch_off_all(runtime, driver_of(runtime), arguments["id"])
    return show(runtime, arguments)


def remove(runtime: Runtime, arguments: Arguments) -> Rows:
    """Take a host out of the fleet: an empty one, or with ``--lost`` a dead one and all that was there."""
    number = arguments["id"]
    with runtime.database.read() as db:
        entry = fleet.load(db).entries.get(number)
    if arguments["lost"]:
        _must_be_real(runtime, number)
        _must_be_dead(entry, number, _named(runtime, number))
        _losing().forget_all(runtime, driver_of(runtime), number)
        with runtime.database.read() as db:
            left = sorted(_losing().named(db, number))
    elif entry is None:
        raise ValueError(f"there is no host {number}")
    else:
        left = _things(runtime, entry)
    if left:
        hint = "; --lost forgets them with the host" if entry is not None and entry.state == "lost" else ""
        raise ValueError(f"{len(left)} things are on the host: {', '.join(left[:MOST_NAMES])}{hint}")
    removal.remove(runtime.database, number)
    return show(runtime, arguments)


def _must_be_real(runtime: Runtime, number: int) -> None:
    """Refuse the number of a region's storage, and of a simulated host."""
    if number % BLOCK == 0:
        raise ValueError(f"{number} is the number of a region's storage, which is no host")
    with runtime.database.read() as db:
        slugs = regions.slugs(db)
    simulated = {code_of(slug) for slug in {*slugs} - runtime.settings.real_regions(slugs)}
    if number // BLOCK in simulated:
        raise ValueError(f"host {number} is simulated: it cannot be lost, nor taken out of the fleet")


def _must_be_dead(entry: HostEntry | None, number: int, named: list[str]) -> None:
    if entry is None and not named:
        raise ValueError(f"there is no host {number}")
    if entry is not None and entry.state != "lost":
        raise ValueError(f"host {number} was not declared dead: hosts fence {number} --is-off does that")


def _things(runtime: Runtime, entry: HostEntry) -> list[str]:
    """Names of all that is on the host, or that the database says is there."""
    listed = driver_of(runtime).list(entry.id)
    if listed.unreachable and entry.state != "lost":
        raise ValueError("the host does not answer, so nobody knows what is there; fence it first")
    here = [*listed.domains, *listed.disks, *listed.backups, *listed.images]
    return sorted({*(ref.name for ref in here), *_named(runtime, entry.id)})


def _named(runtime: Runtime, host: int) -> list[str]:
    with runtime.database.read() as db:
        return sorted({*removal.named(db, host), *_losing().named(db, host)})


def _losing() -> ModuleType:
    import crofter.operations  # noqa: F401, PLC0415 - makes billing notify other packages of what stops
    from crofter.resources.instances import losing  # noqa: PLC0415 - loads most of instances

    return losing


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {"hosts fence": fence, "hosts remove": remove}
