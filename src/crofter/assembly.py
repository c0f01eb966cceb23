"""Builds the world from the settings: database, clock, keys, application."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select

from crofter import __version__, catalogue, corridor, rotation
from crofter.clock import Clock, Setting
from crofter.config import RATE_LIMITS, Settings
from crofter.context import Context, World
from crofter.db import Session, meta, open_database, query
from crofter.db.schema import empty, prepare
from crofter.dice import Dice
from crofter.drivers.hypervisor import Hypervisor
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from crofter.drivers.payments import SimulatedGateway
from crofter.edge import doors
from crofter.edge.app import App, ASGIApp, Parts
from crofter.edge.hub import Hub
from crofter.edge.legible import words_of
from crofter.edge.limits import RateLimits
from crofter.edge.observe import Observer
from crofter.edge.perform import Access, Performer
from crofter.edge.router import Router
from crofter.engine import chores
from crofter.engine.conductor import Conductor
from crofter.engine.worker import LANES, Worker
from crofter.errors import Problem
from crofter.keyring import Keyring, from_text, read_masters
from crofter.kinds import Kinds
from crofter.passwords import readable
from crofter.resources.billing import cards, meters
from crofter.resources.managed.services import rounds as managed_rounds
from crofter.resources.regions import store as regions
from crofter.resources.users import access
from crofter.resources.users import store as users
from crofter.resources.users.rules import open_account
from crofter.sandbox.app import SandboxApp
from crofter.sandbox.desk import Desk
from crofter.sandbox.faults import Faults

FIRST_USER = "admin"
FOUNDING, STARTS = "founding", "starts"
MASTERS = "secret.key"
"""The file of master keys in the data folder, where none is given in the settings."""
NO_CONSOLE = (
    b"<!doctype html><html lang=en><title>crofter</title><h1>No console in this release</h1>"
    b'<p>Everything can be done through the interface: see <a href="/docs">its description</a>.</p></html>'
)
HTML = "text/html; charset=utf-8"
HOUSE = 0
"""Held like an account while the house itself is changed."""


class FirstLogin(Struct, frozen=True):
    """What is printed once, at the first start on an empty database."""

    username: str
    password: str
    token: str


class House(Struct):
    """Everything that one process of crofter consists of."""

    world: World
    app: App
    worker: Worker
    conductor: Conductor
    first_login: FirstLogin | None


def build_world(settings: Settings, *, beside: bool = False) -> World:
    """What every process needs. ``beside``: for a command while another process serves the same SQLite."""
    dice = Dice(settings.seed)
    database = open_database(settings.database, settings.folder, pool=settings.threads + 8, beside=beside)
    prepare(database)
    current, *former = _masters(settings, dice)
    keyring = Keyring(current, dice, tuple(former))
    with database.write() as db:
        db.hold(HOUSE)
        rotation.settle(keyring, db)
    return World(
        settings=settings,
        database=database,
        clock=Clock(),
        dice=dice,
        keyring=keyring,
        kinds=Kinds(corridor.KINDS, access.permits),
    )


def _masters(settings: Settings, dice: Dice) -> list[bytes]:
    """The current master key, and former ones that still open what they sealed."""
    former = [from_text(key) for key in (settings.former_secret_keys or "").split(",") if key.strip()]
    if settings.secret_key is not None:
        return [from_text(settings.secret_key), *former]
    if settings.folder is None:
        return [dice.bytes(32)]
    return read_masters(settings.folder / MASTERS, Dice()) + former


class Founding(Struct, frozen=True):
    """What makes the first user the same again after a reset: hashes, never the secrets themselves."""

    digest: str
    shown: str
    password: str


def found(world: World, again: Founding | None = None) -> FirstLogin | None:
    """Load the catalogue, set the clock, plan the chores, and on an empty database make the first account."""
    with world.database.write() as db:
        db.hold(HOUSE)
        rotation.settle(world.keyring, db)  # again: a reset takes them out of the database
        world.clock.setting = msgspec.convert(meta.get(db, "clock", {}), Setting)
        catalogue.load(db, corridor.SHELVES, world.settings.catalogue)
        chores.ensure(Context(world, db), corridor.CHORES)
        starts = int(meta.get(db, STARTS, 0)) + 1
        meta.put(db, STARTS, starts)
        world.dice.start(starts)
        if meta.get(db, FOUNDING) is not None:
            return None
        login = FirstLogin(FIRST_USER, readable(world.dice), world.settings.bootstrap_token or "")
        opened = open_account(
            world,
            db,
            username=FIRST_USER,
            email="admin@example.com",
            token=world.settings.bootstrap_token,
            password=login.password,
        )
        if world.settings.sandbox:
            cards.give(world, db, opened.euuid, "valid")  # a month may pass in a sandbox, and its bill be paid
        _remember(db, again)
        return FirstLogin(opened.username, login.password, opened.token)


def _remember(db: Session, again: Founding | None) -> None:
    """Keep what makes the first user, or give it back what it had before a reset."""
    if again is not None:
        db.update(users.token, {"id": 1}, digest=bytes.fromhex(again.digest), shown=again.shown)
        db.update(users.user, {"id": 1}, password=again.password)
    else:
        again = db.one(_FOUNDING)
    meta.put(db, FOUNDING, msgspec.to_builtins(again))


def _founding(digest: bytes, shown: str, password: str) -> Founding:
    return Founding(bytes(digest).hex(), shown, password)


_FOUNDING = query(
    select(users.token.c.digest, users.token.c.shown, users.user.c.password)
    .join(users.user, users.user.c.id == users.token.c.user_id)
    .where(users.token.c.id == 1),
    _founding,
)


def build(settings: Settings) -> House:
    """A house, ready to be served."""
    world = build_world(settings)
    first_login = found(world)
    world.services["hypervisor"] = hypervisor(world)
    world.services["payments"] = SimulatedGateway(world.database)
    worker = Worker(world, corridor.OPERATIONS, {} if settings.role == "api" else LANES)
    conductor = Conductor(worker)
    hub = Hub(world.database.signals, ("events",))
    if world.database.reads_block:
        hub.poll = 1.0  # a hint from another process may get lost
    words = words_of(("v4/v4beta", *(one.path for one in corridor.ENDPOINTS)))
    observer = Observer(world.clock, lines=_log(settings), pretty=_pretty(settings), words=words)
    faults = Faults(world, corridor.FAULTS)
    parts = Parts(
        router=Router(corridor.ENDPOINTS),
        performer=Performer(
            world,
            Access(access.authenticate, access.permits, access.permits_globally),
            lambda ctx: meters.rates(ctx.db, ctx.account_id),
        ),
        limits=RateLimits(world.clock, settings.rate_limits, RATE_LIMITS["general"]),
        hub=hub,
        observer=observer,
        fault=faults.strike,
        on_start=(world.database.signals.start, worker.start),
        on_stop=(lambda: worker.stop(grace=4),),
        max_requests=settings.max_requests,
        threads=settings.threads,
        maintenance=settings.maintenance,
    )
    house = House(world, App(parts), worker, conductor, first_login)
    parts.doors = _doors(house, faults)
    return house


def hypervisor(world: World) -> Hypervisor:
    """The fleet of hosts that this house has."""
    with world.database.read() as db:
        slugs = regions.slugs(db)
    return SimulatedHypervisor(world.database, world.clock, slugs)


def _doors(house: House, faults: Faults) -> dict[str, ASGIApp]:
    world = house.world
    opened: dict[str, ASGIApp] = {
        "health": doors.health(lambda: ready(house)),
        "version": doors.version(),
        "metrics": doors.metrics(lambda: _numbers(house)),
        "openapi.json": doors.page(lambda: (200, _description().encode(), "application/json")),
        "docs": doors.page(_docs),
        "console": doors.page(lambda: (200, NO_CONSOLE, HTML, doors.NOTHING_FROM_OUTSIDE)),
    }
    opened |= dict.fromkeys(("login", "oauth", ".well-known"), _login(house))
    if world.settings.sandbox:
        opened["_sandbox"] = SandboxApp(Desk(world, house.conductor, faults, lambda: reset(house, faults)))
    return opened


def _numbers(house: House) -> bytes:
    from crofter import telemetry  # noqa: PLC0415 - it brings an HTTP server of its own along

    return telemetry.render(house.app.parts.observer.counts, house.world, house.worker)


def _login(house: House) -> ASGIApp:
    """The login service, loaded when somebody first comes to sign in: machines never do."""

    @doors.once
    def service() -> ASGIApp:
        from crofter.login.app import LoginApp  # noqa: PLC0415

        parts = house.app.parts
        return LoginApp(house.world, parts.limits, parts.observer)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (await asyncio.get_running_loop().run_in_executor(None, service))(scope, receive, send)

    return app


# What describes the interface is made when somebody asks for it: most processes are never asked.


@doors.once
def _description() -> str:
    from crofter.edge import openapi  # noqa: PLC0415

    return openapi.render(corridor.ENDPOINTS)


@doors.once
def _docs() -> tuple[Any, ...]:
    from crofter.edge import docspage, openapi  # noqa: PLC0415

    page = docspage.page(openapi.document(corridor.ENDPOINTS, __version__))
    return 200, page, HTML, (b"content-security-policy", docspage.CSP.encode())


def ready(house: House) -> dict[str, bool]:
    """Whether each part of the house can serve."""
    try:
        with house.world.database.read() as db:
            meta.get(db, "clock")
        return {"database": True, "worker": house.worker.pulse.id > 0}
    except Problem:
        return {"database": False, "worker": house.worker.pulse.id > 0}


def reset(house: House, faults: Faults) -> None:
    """Back to the state of a first start; the process, its address and its first user stay."""
    world = house.world
    with house.conductor.standstill():
        with world.database.read() as db:
            before = msgspec.convert(meta.get(db, FOUNDING), Founding)
        empty(world.database)
        faults.forget()
        managed_rounds.forget(world)
        house.app.parts.limits.clear()
        world.dice.again()
        found(world, before)


def _log(settings: Settings) -> Any:
    return None if settings.log == "off" else sys.stderr


def _pretty(settings: Settings) -> bool:
    return settings.log == "pretty" or (settings.log == "auto" and sys.stderr.isatty())
