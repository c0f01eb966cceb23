"""Work for a driver in a process of its own, which tests may kill. Imports little, so that it starts quickly."""

from __future__ import annotations

from pathlib import Path

from crofter.clock import Clock
from crofter.db import Database, metadata, open_database
from crofter.db.deferred import evaluate
from crofter.drivers.hypervisor import DiskRef, DiskSpec, DomainRef, DomainSpec, Empty, Order, Seed
from crofter.drivers.hypervisor.ledger import tables
from crofter.drivers.hypervisor.libvirt import tables as libvirt_tables
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor

REGIONS = ("us-east",)
STEPS = ("disk", "size", "seed", "domain", "gone")


def create_store(database: Database) -> None:
    """Only the driver's own tables: it needs nothing else of the server."""
    from crofter.db.schema_changes import engine_for  # slow import, not needed by workers

    engine = engine_for(database)
    made = [tables.thing, tables.work, tables.read_count, tables.change, tables.setting]
    made += [libvirt_tables.host, libvirt_tables.job, libvirt_tables.sample, libvirt_tables.vlan_tag]
    metadata.create_all(engine, tables=evaluate(made))
    engine.dispose()


def open_driver(address: str) -> tuple[Database, SimulatedHypervisor]:
    url, folder = (address, None) if address.startswith("postgresql") else (None, Path(address))
    database = open_database(url, folder)
    return database, SimulatedHypervisor(database, Clock(), REGIONS, hosts_per_region=2)


def life(driver: SimulatedHypervisor, number: int, fence: int) -> None:
    """Send the same orders in every process: later processes find the work of the first."""
    host = driver.place(REGIONS[0], number, DomainSpec(1, 1024))
    orders = {step: Order(number, step, fence, "test") for step in STEPS}
    disk, spare, domain = DiskRef(host, 2 * number), DiskRef(host, 2 * number + 1), DomainRef(host, number)
    assert driver.ensure_disk(disk, DiskSpec(100), Empty(), orders["disk"]).done
    assert driver.ensure_disk(spare, DiskSpec(100), Empty(), orders["disk"]).done
    assert driver.ensure_size(disk, 200, orders["size"]).done
    assert driver.ensure_seed(disk, Seed(password="a-long-pass-phrase"), orders["seed"]).done
    assert driver.ensure_domain(domain, DomainSpec(1, 1024), orders["domain"]).done
    assert driver.ensure_gone(spare, orders["gone"]).done


def work(address: str, fence: int) -> None:
    _, driver = open_driver(address)
    for number in range(1, 100_000):
        life(driver, number, fence)
        print(number, flush=True)
