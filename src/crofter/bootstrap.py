"""What every process needs, and the first start on an empty database."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct
from sqlalchemy import select

from crofter import audit, catalogue, mail, registry, rotation
from crofter.clock import Clock
from crofter.config import Settings
from crofter.context import Context, Runtime
from crofter.db import Lock, Session, meta, open_database, query
from crofter.db.schema import prepare
from crofter.drivers.dns import NameServer, SimulatedNameServer, ZoneFiles
from crofter.drivers.payments import SimulatedGateway
from crofter.drivers.probes import ProbeClient
from crofter.engine import schedules, timekeeping
from crofter.keyring import Keyring, from_text, read_masters
from crofter.kinds import Kinds
from crofter.passwords import Passwords, readable
from crofter.resources.billing import cards
from crofter.resources.instances.capture.rules import MOUNT as UPLOADS
from crofter.resources.users import access
from crofter.resources.users import store as users
from crofter.resources.users.rules import open_account
from crofter.rng import Rng
from crofter.sandbox import seeding
from crofter.uploads import UploadFolder

FIRST_USER = "admin"
FIRST_USER_KEY, STARTS = "first_user", "starts"
MASTERS = "secret.key"
"""The file of master keys in the data folder, where none is given in the settings."""


class FirstLogin(Struct, frozen=True):
    """What is printed once, at the first start on an empty database."""

    username: str
    password: str
    token: str


def build_runtime(settings: Settings, *, beside: bool = False) -> Runtime:
    """What every process needs. ``beside``: for a command while another process serves the same SQLite."""
    rng = Rng(settings.seed)
    database = open_database(settings.database, settings.folder, pool=settings.threads + 8, beside=beside)
    prepare(database)
    current, *former = _masters(settings, rng)
    keyring = Keyring(current, rng, tuple(former))
    with database.write() as db:
        db.lock(Lock.SYSTEM)
        rotation.adopt_hash_keys(keyring, db)
    runtime = Runtime(settings, database, Clock(), rng, keyring, Kinds(registry.KINDS, access.permits))
    runtime.payments = SimulatedGateway(database)
    runtime.mailer = mail.driver(runtime)
    runtime.name_server = name_server(runtime)
    runtime.passwords = Passwords(
        cheap=settings.sandbox, memory=settings.password_memory, passes=settings.password_passes
    )
    runtime.traffic = registry.TRAFFIC
    runtime.uploads = UploadFolder(settings.folder / UPLOADS if settings.folder else None)
    runtime.probes = ProbeClient(*_probe_certificates(settings))
    return runtime


def name_server(runtime: Runtime) -> NameServer:
    """The one that the settings name."""
    settings = runtime.settings
    if settings.dns_driver == "simulated" or settings.dns_folder is None:
        return SimulatedNameServer(runtime.database)
    return ZoneFiles(Path(settings.dns_folder), settings.dns_server, settings.dns_reload)


def _probe_certificates(settings: Settings) -> list[str]:
    return [str(Path(settings.probe_certificates).resolve())] if settings.probe_certificates else []


def _masters(settings: Settings, rng: Rng) -> list[bytes]:
    """The current master key, and former ones that still open what they sealed."""
    former = [from_text(key) for key in (settings.former_secret_keys or "").split(",") if key.strip()]
    if settings.secret_key is not None:
        return [from_text(settings.secret_key), *former]
    if settings.folder is None:
        return [rng.bytes(32)]
    return read_masters(settings.folder / MASTERS, Rng()) + former


class FirstUser(Struct, frozen=True):
    """What makes the first user the same again after a reset: hashes, never the secrets themselves."""

    digest: str
    shown: str
    password: str


def bootstrap(runtime: Runtime, restored: FirstUser | None = None, *, to_be_seeded: bool = False) -> FirstLogin | None:
    """Load the catalogue, set the clock, plan the scheduled work, and on an empty database make the first account.

    ``restored``: the first user of before a reset, whose password and token stay good. ``to_be_seeded``: the first
    start is over only when a seed was played too.
    """
    with runtime.database.write() as db:
        db.lock(Lock.SYSTEM)
        rotation.adopt_hash_keys(runtime.keyring, db)  # again, since a reset takes them out of the database
        timekeeping.begin(runtime, db)
        catalogue.load(db, registry.CATALOGUE_TABLES, runtime.settings.catalogue)
        schedules.ensure(Context(runtime, db), registry.SCHEDULES)
        starts = int(meta.get(db, STARTS, 0)) + 1
        meta.put(db, STARTS, starts)
        runtime.rng.start(starts)
        if meta.get(db, FIRST_USER_KEY) is not None:
            return None
        audit.begin(runtime.keyring, db)
        login = FirstLogin(FIRST_USER, readable(runtime.rng), runtime.settings.bootstrap_token or "")
        opened = open_account(
            runtime,
            db,
            username=FIRST_USER,
            email="admin@example.com",
            token=runtime.settings.bootstrap_token,
            password=login.password,
        )
        if runtime.settings.sandbox:
            cards.give(runtime, db, opened.euuid, "valid")  # a month may pass in a sandbox, and its bill be paid
        _keep_first_user(db, restored)
        if to_be_seeded:
            seeding.announce(db)
        return FirstLogin(opened.username, login.password, opened.token)


def _keep_first_user(db: Session, restored: FirstUser | None) -> None:
    """Keep what makes the first user, or give it back what it had before a reset."""
    if restored is not None:
        db.update(users.token, {"id": 1}, digest=bytes.fromhex(restored.digest), shown=restored.shown)
        db.update(users.user, {"id": 1}, password=restored.password)
    else:
        restored = db.one(_FIRST_USER)
    meta.put(db, FIRST_USER_KEY, msgspec.to_builtins(restored))


def _first_user(digest: bytes, shown: str, password: str) -> FirstUser:
    return FirstUser(bytes(digest).hex(), shown, password)


_FIRST_USER = query(
    select(users.token.c.digest, users.token.c.shown, users.user.c.password)
    .join(users.user, users.user.c.id == users.token.c.user_id)
    .where(users.token.c.id == 1),
    _first_user,
)
