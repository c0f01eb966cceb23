"""Builds the world from the settings: database, clock, keys, application."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
from msgspec import Struct

from crofter import catalogue, corridor
from crofter.clock import Clock, Setting
from crofter.config import RATE_LIMITS, Settings
from crofter.context import World
from crofter.db import meta, open_database
from crofter.db.schema import prepare
from crofter.dice import Dice
from crofter.edge.app import App, ASGIApp, Parts
from crofter.edge.hub import Hub
from crofter.edge.limits import RateLimits
from crofter.edge.observe import Observer
from crofter.edge.perform import Access, Performer
from crofter.edge.router import Router
from crofter.keyring import Keyring, from_text, read_master
from crofter.kinds import Kinds
from crofter.passwords import readable
from crofter.resources.regions import store as regions
from crofter.resources.users import access
from crofter.resources.users.rules import open_account

FIRST_USER = "admin"


class FirstLogin(Struct, frozen=True):
    """What is printed once, at the first start on an empty database."""

    username: str
    password: str
    token: str


class House(Struct):
    """Everything that one process of crofter consists of."""

    world: World
    app: App
    first_login: FirstLogin | None


def build_world(settings: Settings) -> World:
    dice = Dice(settings.seed)
    database = open_database(settings.database, settings.folder, pool=settings.threads + 8)
    prepare(database)
    return World(
        settings=settings,
        database=database,
        clock=Clock(),
        dice=dice,
        keyring=Keyring(_master(settings, dice), dice),
        kinds=Kinds(corridor.KINDS, access.permits),
    )


def _master(settings: Settings, dice: Dice) -> bytes:
    if settings.secret_key is not None:
        return from_text(settings.secret_key)
    if settings.folder is None:
        return dice.bytes(32)
    return read_master(settings.folder / "secret.key", Dice())


def found(world: World) -> FirstLogin | None:
    """Load the catalogue, set the clock, and on an empty database make the first account."""
    with world.database.write() as db:
        world.clock.setting = msgspec.convert(meta.get(db, "clock", {}), Setting)
        regions.load(db, _regions(world.settings.catalogue))
        if meta.get(db, "founded"):
            return None
        password = readable(world.dice)
        opened = open_account(
            world,
            db,
            username=FIRST_USER,
            email="admin@example.com",
            token=world.settings.bootstrap_token,
            password=password,
        )
        meta.put(db, "founded", True)
        return FirstLogin(opened.username, password, opened.token)


def _regions(folder: str | None) -> list[regions.Region]:
    return [
        regions.Region(
            slug=one["id"],
            country=one["country"],
            capabilities=one["capabilities"],
            resolvers_ipv4=one["resolvers"]["ipv4"],
            resolvers_ipv6=one["resolvers"]["ipv6"],
            status="ok",
        )
        for one in catalogue.read("regions.toml", folder)["regions"]
    ]


def build(settings: Settings) -> House:
    """A house, ready to be served."""
    world = build_world(settings)
    first_login = found(world)
    hub = Hub(world.database.signals, ("events",))
    if world.database.reads_block:
        hub.poll = 1.0  # a hint from another process may get lost
    observer = Observer(world.clock, lines=_log(settings), pretty=_pretty(settings))
    limits = RateLimits(world.clock, settings.rate_limits, RATE_LIMITS["general"])
    performer = Performer(world, Access(access.authenticate, access.permits, access.permits_globally))
    parts = Parts(
        router=Router(corridor.ENDPOINTS),
        performer=performer,
        limits=limits,
        hub=hub,
        observer=observer,
        max_requests=settings.max_requests,
        threads=settings.threads,
        maintenance=settings.maintenance,
    )
    app = App(parts)
    house = House(world, app, first_login)
    parts.doors = _doors(house)
    return house


def _doors(house: House) -> dict[str, ASGIApp]:
    return {}


def _log(settings: Settings) -> Any:
    return None if settings.log == "off" else sys.stderr


def _pretty(settings: Settings) -> bool:
    return settings.log == "pretty" or (settings.log == "auto" and sys.stderr.isatty())
