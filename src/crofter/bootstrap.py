"""Construction of the runtime that every process needs, and the first start on an empty database."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from crofter import rotation
from crofter.clock import Clock
from crofter.config import Settings
from crofter.context import Context, Runtime
from crofter.db import Database, Lock, Query, Session, meta, open_database
from crofter.db.database import LockTaken, TransactionConflict
from crofter.db.schema import is_ready, make
from crofter.keyring import Keyring, from_text, read_masters
from crofter.rng import Rng

if TYPE_CHECKING:
    from crofter.drivers.hypervisor import Hypervisor

# A command looks at a table or two, and to import every resource of the server would take it half a second. So what
# only a server or some command needs is imported where it is made.

FIRST_USER = "admin"
FIRST_REGION = "us-east"
"""Where the machine itself is a host, if there is such a region."""
FIRST_USER_KEY, STARTS = "first_user", "starts"
MASTERS = "secret.key"
"""The file of master keys in the data folder, where none is given in the settings."""


START_SECONDS = 120.0
"""Seconds that a process waits for other processes that start at the same time."""
PAUSE_SECONDS = 0.1

T = TypeVar("T")


class FirstLogin(Struct, frozen=True):
    """The login printed once, at the first start on an empty database."""

    username: str
    password: str
    token: str


def build_runtime(settings: Settings, *, beside: bool = False) -> Runtime:
    """Build the runtime of a process. Set ``beside`` in a command next to a server on the same SQLite file."""
    rng = Rng(settings.seed)
    database = open_database(settings.database, settings.folder, pool=settings.threads + 8, beside=beside)
    prepare(database)
    keyring = make_keyring(settings, rng)
    patiently(lambda: _adopt_hash_keys(keyring, database))
    runtime = Runtime(settings, database, Clock(guarded=not settings.sandbox), rng, keyring)
    runtime.later(
        kinds=_kinds,
        payments=_payments,
        mailer=_mailer,
        name_server=_name_server,
        passwords=_passwords,
        traffic=_traffic,
        uploads=_uploads,
        probes=_probes,
    )
    return runtime


def _adopt_hash_keys(keyring: Keyring, database: Database) -> None:
    with database.write() as db:
        db.lock(Lock.SYSTEM)
        rotation.adopt_hash_keys(keyring, db)


def prepare(database: Database) -> str:
    """Bring the schema to this release's revision; says what was done: ``made``, ``moved`` or ``ready``."""
    if is_ready(database):
        return "ready"
    import crofter.registry  # noqa: F401, PLC0415 - which tables there are

    if make(database):
        return "made"
    from crofter.db import schema_changes  # noqa: PLC0415 - loads SQLAlchemy

    return schema_changes.prepare(database)


def patiently(start: Callable[[], T]) -> T:
    """Run a start step that only one process may run at a time. Retry while another starting process holds the lock."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return start()
        except (LockTaken, TransactionConflict):
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE_SECONDS)


def _kinds(_runtime: Runtime) -> Any:
    from crofter import registry  # noqa: PLC0415
    from crofter.kinds import Kinds  # noqa: PLC0415
    from crofter.resources.users import access  # noqa: PLC0415

    return Kinds(registry.KINDS, access.permits)


def _payments(runtime: Runtime) -> Any:
    """Return the gateway that the settings name."""
    from crofter.drivers.payments import NoGateway, SimulatedGateway  # noqa: PLC0415

    return SimulatedGateway(runtime.database) if runtime.settings.payment_gateway == "simulated" else NoGateway()


def _mailer(runtime: Runtime) -> Any:
    from crofter import mail  # noqa: PLC0415

    return mail.driver(runtime)


def _name_server(runtime: Runtime) -> Any:
    """Return the name server that the settings select."""
    from crofter.drivers.dns import SimulatedNameServer, ZoneFiles  # noqa: PLC0415

    settings = runtime.settings
    if settings.dns_driver == "simulated" or settings.dns_folder is None:
        return SimulatedNameServer(runtime.database)
    return ZoneFiles(Path(settings.dns_folder), settings.dns_server, settings.dns_reload)


def _passwords(runtime: Runtime) -> Any:
    from crofter.passwords import Passwords  # noqa: PLC0415

    settings = runtime.settings
    return Passwords(cheap=settings.sandbox, memory=settings.password_memory, passes=settings.password_passes)


def _traffic(_runtime: Runtime) -> Any:
    """Return the traffic source that instances provide to billing."""
    from crofter.resources.instances.usage.traffic import measure  # noqa: PLC0415

    return measure


def _uploads(runtime: Runtime) -> Any:
    from crofter.resources.instances.capture.rules import MOUNT  # noqa: PLC0415
    from crofter.uploads import UploadFolder  # noqa: PLC0415

    folder = runtime.settings.folder
    return UploadFolder(folder / MOUNT if folder else None)


def _probes(runtime: Runtime) -> Any:
    from crofter.drivers.probes import ProbeClient  # noqa: PLC0415

    return ProbeClient(*_probe_certificates(runtime.settings))


def hypervisor(runtime: Runtime) -> Hypervisor:
    """The fleet of hosts that this server has; after the catalogue is loaded, which names the regions."""
    from crofter.drivers.hypervisor.simulated import SimulatedHypervisor  # noqa: PLC0415
    from crofter.resources.regions import store as regions  # noqa: PLC0415

    with runtime.database.read() as db:
        slugs = regions.slugs(db)
    real = runtime.settings.real_regions(slugs)
    simulated = SimulatedHypervisor(runtime.database, runtime.clock, [slug for slug in slugs if slug not in real])
    if not real:
        return simulated
    driver = _libvirt(runtime, FIRST_REGION if FIRST_REGION in real else min(real))
    if len(real) == len(slugs):
        return driver
    from crofter.drivers.hypervisor.regional import RegionalHypervisor  # noqa: PLC0415

    return RegionalHypervisor(simulated, driver, real)


def keep_region_drivers(runtime: Runtime) -> None:
    """DriverError if the settings give a region another driver while there is anything in it."""
    from crofter.drivers.hypervisor.ledger import region_drivers  # noqa: PLC0415
    from crofter.drivers.hypervisor.libvirt import fleet  # noqa: PLC0415
    from crofter.resources.regions import store as regions  # noqa: PLC0415

    with runtime.database.read() as db:
        slugs = regions.slugs(db)
        with_hosts = {entry.region for entry in fleet.load(db).entries.values()}
    real = runtime.settings.real_regions(slugs)
    drivers = {slug: "libvirt" if slug in real else "simulated" for slug in slugs}
    region_drivers.keep(runtime.database, drivers, with_hosts)


def _libvirt(runtime: Runtime, region: str) -> Hypervisor:
    """Real machines. Where no host was added, the machine itself is one, in this region."""
    from crofter.drivers.hypervisor.libvirt import first_host  # noqa: PLC0415
    from crofter.drivers.hypervisor.libvirt.hypervisor import LibvirtHypervisor  # noqa: PLC0415

    settings = runtime.settings
    driver = LibvirtHypervisor(runtime.database, runtime.clock, settings.media_folder)
    driver.must_have_media()
    if settings.sandbox and settings.folder is not None:
        allowed = settings.allow_emulation is not False
        first_host.add(runtime.database, region, settings.folder, emulation=allowed)
    return driver


def _probe_certificates(settings: Settings) -> list[str]:
    return [str(Path(settings.probe_certificates).resolve())] if settings.probe_certificates else []


def make_keyring(settings: Settings, rng: Rng) -> Keyring:
    """Make the keyring of the master keys in the settings or in the data folder."""
    current, *former = _masters(settings, rng)
    return Keyring(current, rng, tuple(former))


def _masters(settings: Settings, rng: Rng) -> list[bytes]:
    """The current master key, and former ones that still open what they sealed."""
    former = [from_text(key) for key in (settings.former_secret_keys or "").split(",") if key.strip()]
    if settings.secret_key is not None:
        return [from_text(settings.secret_key), *former]
    if settings.folder is None:
        return [rng.bytes(32)]
    return read_masters(settings.folder / MASTERS, Rng()) + former


class FirstUser(Struct, frozen=True):
    """The password hash and token hashes that restore the first user after a reset."""

    digest: str
    shown: str
    password: str


def bootstrap(runtime: Runtime, restored: FirstUser | None = None, *, to_be_seeded: bool = False) -> FirstLogin | None:
    """Load the catalogue, set the clock, plan the scheduled work, and on an empty database make the first account.

    ``restored``: the first user of before a reset, whose password and token stay good. ``to_be_seeded``: the first
    start is over only when a seed was played too.
    """
    from crofter import audit, catalogue, operations, registry  # noqa: PLC0415
    from crofter.engine import schedules, timekeeping  # noqa: PLC0415
    from crofter.passwords import readable  # noqa: PLC0415
    from crofter.resources.billing import cards  # noqa: PLC0415
    from crofter.resources.users.rules import open_account  # noqa: PLC0415
    from crofter.sandbox import seeding  # noqa: PLC0415

    with runtime.database.write() as db:
        db.lock(Lock.SYSTEM)
        rotation.adopt_hash_keys(runtime.keyring, db)  # again, since a reset takes them out of the database
        timekeeping.begin(runtime, db)
        catalogue.load(db, registry.CATALOGUE_TABLES, runtime.settings.catalogue)
        schedules.ensure(Context(runtime, db), operations.SCHEDULES)
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
    from crofter.resources.users import store as users  # noqa: PLC0415

    if restored is not None:
        db.update(users.token, {"id": 1}, digest=bytes.fromhex(restored.digest), shown=restored.shown)
        db.update(users.user, {"id": 1}, password=restored.password)
    else:
        restored = db.one(stored_first_user())
    meta.put(db, FIRST_USER_KEY, msgspec.to_builtins(restored))


@cache
def stored_first_user() -> Query[FirstUser]:
    from crofter.db import query  # noqa: PLC0415
    from crofter.db.sql import select  # noqa: PLC0415
    from crofter.resources.users.store import token, user  # noqa: PLC0415

    columns = (token.c.digest, token.c.shown, user.c.password)
    return query(select(*columns).join(user, user.c.id == token.c.user_id).where(token.c.id == 1), _first_user)


def _first_user(digest: bytes, shown: str, password: str) -> FirstUser:
    return FirstUser(bytes(digest).hex(), shown, password)
