"""Playing a seed at the first start: its accounts are opened, and all that they have is made by the public API."""

from __future__ import annotations

import msgspec

from crofter.context import Runtime
from crofter.db import Session, meta
from crofter.drivers.hypervisor.ledger.conditions import DEFAULTS
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor, Transition
from crofter.edge import bodies
from crofter.edge.arguments import Request
from crofter.edge.endpoint import Endpoint
from crofter.edge.perform import Performer
from crofter.errors import Problem
from crofter.registry import ENDPOINTS
from crofter.sandbox.control import SandboxControl
from crofter.sandbox.seed import SeedBody, SeedError
from crofter.sandbox.shapes import NewAccount
from crofter.sandbox.snapshots import SEEDED

UNFINISHED = "seeding"
"""The row of ``meta`` that is there until a seed was played to its end."""


def creations() -> dict[str, Endpoint]:
    """Return the creating endpoints without path parameters, by the name of their collection."""
    endpoints: dict[str, Endpoint] = {}
    for endpoint in ENDPOINTS:
        if endpoint.method == "POST" and endpoint.name.startswith("create_") and "{" not in endpoint.path:
            endpoints.setdefault(endpoint.path.rpartition("/")[2], endpoint)
    return endpoints


def announce(db: Session) -> None:
    """A seed is about to be played. Written with the first user, so that a start that is cut short is known as such."""
    meta.put(db, UNFINISHED, True)


def was_cut_short(runtime: Runtime) -> bool:
    with runtime.database.read() as db:
        return meta.get(db, UNFINISHED) is not None


def play(control: SandboxControl, performer: Performer, file: str) -> None:
    """Make all of it, or raise SeedError. Work takes no time meanwhile, and none is left when this is over."""
    from crofter.sandbox.seed_file import read  # noqa: PLC0415 - it brings a reader of YAML along, for this alone

    runtime = control.runtime
    known = creations()
    accounts = read(file, set(known))
    driver = runtime.hypervisor
    if isinstance(driver, SimulatedHypervisor):
        driver.set_transitions({"*": Transition(seconds=0)})
    for account in accounts:
        try:
            opened = control.open_account(bodies.decode(msgspec.json.encode(account.fields), NewAccount))
        except Problem as problem:
            raise SeedError(file, account.line, _described(problem)) from problem
        for planned in account.bodies:
            _create(performer, known[planned.resource], opened.token, planned, file)
            control.time_travel.settle()
    if isinstance(driver, SimulatedHypervisor):
        driver.set_transitions(DEFAULTS)
    with runtime.database.write() as db:
        db.delete(meta.meta, name=UNFINISHED)
    control.snapshots.take(SEEDED)


def _create(performer: Performer, endpoint: Endpoint, token: str, planned: SeedBody, file: str) -> None:
    path = f"/v4{'beta' if endpoint.beta else ''}/{endpoint.path}".encode()
    sent = {b"authorization": f"Bearer {token}".encode(), b"content-type": b"application/json"}
    body = msgspec.json.encode(planned.body)
    request = Request("POST", path, b"", sent, body, "127.0.0.1", f"seed-{planned.line}")
    answer = performer.perform(endpoint, {}, request)
    if answer.two_phase is not None or answer.read_after is not None:
        answer = performer.finish(endpoint, request, answer)
    if answer.status >= 400:
        reason = "; ".join(_words(error) for error in msgspec.json.decode(answer.body)["errors"])
        raise SeedError(file, planned.line, f"{planned.resource}: {reason}")


def _described(problem: Problem) -> str:
    return "; ".join(f"{field}: {reason}" if field else reason for reason, field in problem.reasons)


def _words(error: dict[str, str]) -> str:
    return f"{error['field']}: {error['reason']}" if error.get("field") else error["reason"]
