"""Networks of public addresses that an operator gives to regions."""

from __future__ import annotations

from collections.abc import Callable

from crofter.cli.operators import Arguments, Rows
from crofter.context import Runtime
from crofter.db import Session
from crofter.resources.instances.ips import networks
from crofter.resources.instances.ips.networks import PublicNetwork
from crofter.resources.regions import store as regions


def add(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        if arguments["region"] not in regions.slugs(db):
            raise ValueError(f"there is no region {arguments['region']}")
        return [_row(db, _added(db, arguments))]


def _added(db: Session, arguments: Arguments) -> PublicNetwork:
    return networks.add(db, arguments["region"], arguments["name"], arguments["gateway"], arguments["range"])


def show(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        return [_row(db, row) for row in networks.all_of(db)]


def remove(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        return [{"removed": networks.remove(db, arguments["name"]).network}]


def _row(db: Session, row: PublicNetwork) -> dict[str, object]:
    amounts = {"addresses": networks.size(row), "free": networks.free(db, row)}
    place = {"gateway": row.gateway, "first": row.first, "last": row.last}
    return {"network": row.network, "region": row.region, **place, **amounts}


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "addresses add": add,
    "addresses list": show,
    "addresses remove": remove,
}
