"""Faults of instances, hosts and regions."""

from __future__ import annotations

from typing import Any

from crofter.context import Context, Runtime
from crofter.drivers.hypervisor import DriverError
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from crofter.errors import Invalid
from crofter.faults import FaultKind
from crofter.resources.instances import hypervisor_client, store, watchdog
from crofter.resources.instances.store import Instance
from crofter.resources.regions.store import region
from crofter.shapes import Body, Id


class OfInstance(Body):
    compute_id: Id


class OfRegion(Body):
    region: str


def _simulated(runtime: Runtime) -> SimulatedHypervisor:
    driver = hypervisor_client.hypervisor(runtime)
    if not isinstance(driver, SimulatedHypervisor):
        raise Invalid("Only the simulated hypervisor can be made to fail", field="kind")
    return driver


def instance_of(runtime: Runtime, compute_id: int) -> Instance:
    """Return the instance of a fault, of any account."""
    with runtime.database.read() as db:
        row = store.find_unscoped(Context(runtime, db), compute_id)
    if row is None:
        raise Invalid("compute_id is not valid", field="compute_id")
    return row


def _power_off(runtime: Runtime, body: OfInstance) -> None:
    instance_of(runtime, body.compute_id)
    try:
        _simulated(runtime).faults.power_off(body.compute_id)
    except DriverError as error:
        raise Invalid(error.reason, field="compute_id") from error
    watchdog.attend(runtime)


def _host(begins: bool) -> Any:
    def change(runtime: Runtime, body: OfInstance) -> None:
        instance = instance_of(runtime, body.compute_id)
        if instance.host is None:
            raise Invalid("The Compute is not on a host yet", field="compute_id")
        _simulated(runtime).faults.maintenance(instance.host, begins=begins)
        watchdog.attend(runtime)
        watchdog.look_at_host(runtime, instance.host)

    return change


def _clear_hosts(runtime: Runtime) -> None:
    driver = _simulated(runtime)
    hosts = sorted(driver.faults.conditions().maintenance)
    driver.faults.clear()
    watchdog.attend(runtime)
    for host in hosts:
        watchdog.look_at_host(runtime, host)


def _region(begins: bool) -> Any:
    def change(runtime: Runtime, body: OfRegion) -> None:
        try:
            _simulated(runtime).faults.outage(body.region, begins=begins)
        except DriverError as error:
            raise Invalid("region is not valid", field="region") from error
        with runtime.database.write() as db:
            db.update(region, {"slug": body.region}, status="outage" if begins else "ok")

    return change


def _clear_regions(runtime: Runtime) -> None:
    driver = _simulated(runtime)
    for slug in sorted(driver.faults.conditions().outages):
        driver.faults.outage(slug, begins=False)
    with runtime.database.write() as db:
        db.update(region, {"status": "outage"}, status="ok")


def _migration_pending(runtime: Runtime, body: OfInstance) -> None:
    instance = instance_of(runtime, body.compute_id)
    with runtime.database.write() as db:
        db.update(store.instance, {"id": instance.id}, migration_pending=True)


FAULTS = (
    FaultKind("power_off", OfInstance, _power_off),
    FaultKind("host_maintenance", OfInstance, _host(True), clear=_clear_hosts, same=("compute_id",)),
    FaultKind("host_back", OfInstance, _host(False), ends=("host_maintenance",)),
    FaultKind("region_outage", OfRegion, _region(True), clear=_clear_regions, same=("region",)),
    FaultKind("region_back", OfRegion, _region(False), ends=("region_outage",)),
    FaultKind("migration_pending", OfInstance, _migration_pending),
)
