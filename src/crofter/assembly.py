"""Builds the application from the settings: database, clock, keys, drivers, HTTP, worker."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from crofter import __version__, operations, registry, retention, rotation
from crofter.bootstrap import (
    FIRST_USER_KEY,
    FirstLogin,
    FirstUser,
    bootstrap,
    build_runtime,
    hypervisor,
    keep_region_drivers,
    patiently,
)
from crofter.catalogue.loading import is_offered
from crofter.config import RATE_LIMITS, Settings
from crofter.context import Runtime
from crofter.db import meta
from crofter.db.schema import empty
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from crofter.drivers.hypervisor.simulated.hypervisor import TRANSITIONS
from crofter.edge import console, mounts
from crofter.edge.app import App, ASGIApp, Parts
from crofter.edge.hub import Hub
from crofter.edge.limits import RateLimits
from crofter.edge.observe import Observer
from crofter.edge.perform import Access, Performer
from crofter.edge.redact import words_of
from crofter.edge.router import Router
from crofter.edge.sockets import Parts as SocketParts
from crofter.edge.sockets import SocketMount
from crofter.edge.streamed import Parts as StreamParts
from crofter.edge.streamed import StreamedUploads
from crofter.engine.time_travel import TimeTravel
from crofter.engine.worker import POOL_SIZES, Worker
from crofter.readiness import Readiness
from crofter.resources.billing import meters
from crofter.resources.instances.capture import receiving
from crofter.resources.instances.capture.rules import MOUNT as UPLOADS
from crofter.resources.instances.periodic_work import PeriodicWorkThread
from crofter.resources.instances.serial.rules import MOUNT as SERIAL
from crofter.resources.instances.serial.sessions import Consoles
from crofter.resources.managed.services import rounds as managed_rounds
from crofter.resources.nodebalancers import rules as balancing
from crofter.resources.users import access
from crofter.sandbox import seeding
from crofter.sandbox.app import SandboxApp
from crofter.sandbox.control import SandboxControl
from crofter.sandbox.faults import Faults
from crofter.sandbox.reads import Reads
from crofter.sandbox.snapshots import SEEDED, SandboxSnapshots

if TYPE_CHECKING:
    from crofter.db import Database

HTML = "text/html; charset=utf-8"


FILTERS_READY_AFTER = 3.0
"""Seconds after a start."""


class Application(Struct):
    """The parts of one crofter process."""

    runtime: Runtime
    app: App
    worker: Worker
    time_travel: TimeTravel
    first_login: FirstLogin | None
    readiness: Readiness


def build(settings: Settings) -> Application:
    """A server, ready to be served."""
    runtime = build_runtime(settings)
    runtime.make_all()
    first_login = _first_start(runtime)
    keep_region_drivers(runtime)
    runtime.hypervisor = hypervisor(runtime)
    worker = Worker(runtime, operations.OPERATIONS, {} if settings.role == "api" else POOL_SIZES)
    time_travel = TimeTravel(worker)
    periodic_work = PeriodicWorkThread(runtime)
    worker.stands_with_clock = not runtime.hypervisor.real_time
    hub = Hub(runtime.database.signals, ("events",))
    if runtime.database.reads_block:
        hub.poll = 1.0  # a hint from another process may get lost
    words = words_of(("v4/v4beta", UPLOADS, SERIAL, *(endpoint.path for endpoint in registry.ENDPOINTS)))
    observer = Observer(runtime.clock, lines=_log(settings), pretty=_pretty(settings), words=words)
    router = Router(registry.ENDPOINTS)
    faults = Faults(runtime, registry.FAULTS, router.serves)
    simulated = isinstance(runtime.hypervisor, SimulatedHypervisor) and settings.sandbox
    parts = Parts(
        router=router,
        performer=Performer(
            runtime,
            Access(access.authenticate, access.authenticating, access.permits, access.permits_globally),
            lambda ctx: meters.rate_change(ctx.db, ctx.account_id),
        ),
        limits=RateLimits(runtime.clock, settings.rate_limits, RATE_LIMITS["general"], runtime.database),
        hub=hub,
        observer=observer,
        fault=faults.strike,
        reads=Reads(runtime, time_travel, cast("SimulatedHypervisor", runtime.hypervisor)) if simulated else None,
        on_start=(runtime.database.signals.start, lambda: _sweep_uploads(runtime), worker.start),
        on_stop=(lambda: worker.stop(grace=4), time_travel.close, lambda: retention.last_checkpoint(runtime)),
        max_requests=settings.max_requests,
        threads=settings.threads,
        maintenance=settings.maintenance,
    )
    if runtime.hypervisor.real_time:
        parts.on_start += (lambda: balancing.stop_billing_unserved(runtime),)
    if runtime.hypervisor.real_time and settings.role != "api":
        parts.on_start += (periodic_work.start,)
        parts.on_stop = (periodic_work.stop, *parts.on_stop, runtime.hypervisor.close)
    if settings.role != "worker":
        parts.on_start += (lambda: _get_ready_for_filters(runtime.database.dialect),)
    if runtime.database.reads_block:
        _keep_catalogue(parts, runtime)
    application = Application(runtime, _app(parts), worker, time_travel, first_login, Readiness(runtime, worker))
    control = _control(application, faults) if settings.sandbox else None
    parts.mounts = application.app.mounted(_mounts(application, control))
    parts.streamed, parts.sockets = frozenset((UPLOADS,)), frozenset((SERIAL,))
    if control is not None and first_login is not None:
        _seed(application, control)
    return application


def check_dialect(settings: Settings) -> None:
    """Raises DialectError, if the settings name a file that cannot be served."""
    if settings.dialect is not None:
        from crofter.dialect.file import load  # noqa: PLC0415 - nobody else needs it

        load(settings.dialect, registry.ENDPOINTS)


def _app(parts: Parts) -> App:
    """The application. Only who serves a dialect loads what changes requests and answers."""
    file = parts.performer.runtime.settings.dialect
    if file is None:
        return App(parts)
    from crofter.dialect.app import DialectApp  # noqa: PLC0415
    from crofter.dialect.file import load  # noqa: PLC0415

    taggable = {f"{kind.url.removesuffix('{id}')}" for kind in registry.KINDS if kind.taggable}
    views = [
        endpoint.answers
        for endpoint in registry.ENDPOINTS
        if endpoint.method == "GET" and f"/v4/{endpoint.path}".rpartition("/")[0] + "/" in taggable
    ]
    dialect = load(file, registry.ENDPOINTS)
    if dialect.words is not None:
        parts.performer.runtime.default_label = dialect.words.word
    return DialectApp(parts, dialect, registry.ENDPOINTS, views)


def _first_start(runtime: Runtime) -> FirstLogin | None:
    to_be_seeded = runtime.settings.seed_file is not None
    if seeding.was_cut_short(runtime):
        empty(runtime.database)
    return patiently(lambda: bootstrap(runtime, to_be_seeded=to_be_seeded))


def _control(application: Application, faults: Faults) -> SandboxControl:
    runtime, time_travel = application.runtime, application.time_travel
    snapshots = SandboxSnapshots(
        runtime,
        time_travel,
        faults,
        forget=lambda: forget(application, faults),
        sign_in=application.worker.heartbeat.sign_in,
    )
    return SandboxControl(runtime, time_travel, faults, snapshots, lambda: reset(application, faults, snapshots))


def _seed(application: Application, control: SandboxControl) -> None:
    """Play the seed, or leave nothing, so that the next start is a first one again."""
    if control.snapshots.has(SEEDED):  # left over from a deleted database
        control.snapshots.delete(SEEDED)
    file = application.runtime.settings.seed_file
    if file is None:
        return
    try:
        seeding.play(control, application.app.parts.performer, file)
    except BaseException:
        empty(application.runtime.database)
        application.runtime.database.close()
        raise


def _get_ready_for_filters(dialect: str) -> None:
    """Load SQLAlchemy, which compiles filters, soon after a start without it and before a request needs it."""

    def load() -> None:
        from crofter.db import compiling  # noqa: PLC0415

        compiling.get_ready(dialect)

    timer = threading.Timer(FILTERS_READY_AFTER, load)
    timer.daemon = True
    timer.start()


def _keep_catalogue(parts: Parts, runtime: Runtime) -> None:
    """Keep a copy of the public catalogue in memory, readable while the database does not answer."""
    from crofter.db.memory_copy import MemoryCopy  # noqa: PLC0415 - it needs SQLite, which is not used otherwise

    tables = [offered.table for offered in registry.CATALOGUE_TABLES]
    kept = MemoryCopy(*((table, is_offered(table)) for table in tables))
    reading = copy(runtime)
    reading.database = cast("Database", kept)
    nobody = Access(lambda *_: None, lambda *_: lambda: None, access.permits, access.permits_globally)
    parts.last_known = Performer(reading, nobody)
    parts.on_start += (lambda: kept.keep_fresh(runtime.database),)
    parts.on_stop += (kept.stop,)


def _mounts(application: Application, control: SandboxControl | None) -> dict[str, ASGIApp]:
    runtime = application.runtime
    opened: dict[str, ASGIApp] = {
        "health": mounts.health(application.readiness),
        "version": mounts.version(),
        "metrics": mounts.metrics(lambda: numbers(application)),
        "openapi.json": mounts.page_at(
            partial(_described_at, runtime.settings, mounts.once(lambda: application.app.described(_rendered())))
        ),
        "docs": mounts.page_at(
            partial(
                _docs_at,
                runtime.settings,
                mounts.once(partial(_docs, application.app, sandbox=runtime.settings.sandbox)),
            )
        ),
    }
    opened |= console.mounts_of(console.Console(runtime.settings))
    request_prefix = runtime.rng.hex(8)
    opened[UPLOADS] = _uploads(application, request_prefix)
    opened[SERIAL] = _serial_consoles(application, request_prefix)
    opened |= dict.fromkeys(("login", "oauth", ".well-known"), _login(application))
    if control is not None:
        opened["_sandbox"] = SandboxApp(control)
    return opened


def numbers(application: Application) -> bytes:
    """Return the metrics of this process in the Prometheus text format."""
    from crofter import telemetry  # noqa: PLC0415 - it brings an HTTP server of its own along

    application.runtime.database.answers_callers()
    return telemetry.render(
        application.app.parts.observer.counts, application.runtime, application.worker, application.readiness.parts
    )


def _uploads(application: Application, request_prefix: str) -> ASGIApp:
    """Return the ASGI app that receives image files. No endpoint: a file is not JSON and never whole in memory."""
    runtime, parts = application.runtime, application.app.parts
    stream = StreamParts(
        receiving.Receiver(runtime).open,
        parts.limits,
        parts.observer,
        maintenance=parts.maintenance,
        prepare_thread=runtime.database.answers_callers,
    )
    return StreamedUploads(stream, request_prefix)


def _serial_consoles(application: Application, request_prefix: str) -> ASGIApp:
    """Return the ASGI app that connects serial consoles. It is no endpoint: its stream is endless and bidirectional."""
    runtime, parts = application.runtime, application.app.parts
    joined = SocketParts(
        Consoles(runtime).admit,
        parts.limits,
        parts.observer,
        parts.hub,
        parts.maintenance,
        runtime.database.answers_callers,
    )
    return SocketMount(joined, request_prefix)


def _sweep_uploads(runtime: Runtime) -> None:
    """Remove the partial uploads of killed processes."""
    receiving.sweep(runtime)


def _login(application: Application) -> ASGIApp:
    """Return the login service, loaded at the first sign-in: API clients never need it."""

    @mounts.once
    def service() -> ASGIApp:
        from crofter.login.app import LoginApp  # noqa: PLC0415

        parts = application.app.parts
        return LoginApp(application.runtime, parts.limits, parts.observer)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (await asyncio.get_running_loop().run_in_executor(None, service))(scope, receive, send)

    return app


# The interface description is built on the first request: most processes never need it.


@mounts.once
def _rendered() -> str:
    from crofter.edge import openapi  # noqa: PLC0415

    return openapi.render(registry.ENDPOINTS)


def _described_at(settings: Settings, description: Callable[[], str], origin: str) -> tuple[Any, ...]:
    """The description, for clients that reach the server as this one does."""
    from crofter.edge import openapi  # noqa: PLC0415

    address = _address_at(settings, origin)
    return 200, description().replace(f'"{openapi.ADDRESS}/', f'"{address}/').encode(), "application/json"


def _address_at(settings: Settings, origin: str) -> str:
    """Return the address by which the caller reaches the server."""
    return settings.address if settings.base_url or not origin else origin


def _docs(app: App, *, sandbox: bool) -> bytes:
    from crofter.edge import docspage, openapi  # noqa: PLC0415

    page = docspage.page(openapi.document(registry.ENDPOINTS, __version__), trying=sandbox)
    return app.in_words(page.decode()).encode()


def _docs_at(settings: Settings, page: Callable[[], bytes], origin: str) -> tuple[Any, ...]:
    """The docs page, with the address by which the caller reaches the server in its examples."""
    from crofter.edge import docspage  # noqa: PLC0415

    body = docspage.at(page(), _address_at(settings, origin))
    return 200, body, HTML, (b"content-security-policy", docspage.CSP.encode())


def reset(application: Application, faults: Faults, snapshots: SandboxSnapshots) -> None:
    """Back to the state of a first start, seeded if it was; the process, its address and its first user stay."""
    runtime = application.runtime
    if snapshots.has(SEEDED):
        snapshots.restore(SEEDED)
        return
    with application.time_travel.standstill():
        with runtime.database.read() as db:
            before = msgspec.convert(meta.get(db, FIRST_USER_KEY), FirstUser)
        empty(runtime.database)
        receiving.sweep(runtime)
        forget(application, faults)
        runtime.rng.restart()
        bootstrap(runtime, before)
        application.worker.heartbeat.sign_in()  # the list of workers was emptied, too


def forget(application: Application, faults: Faults) -> None:
    """Drop what this process keeps in memory of rows that are there no more."""
    faults.forget()
    managed_rounds.forget(application.runtime)
    application.app.parts.limits.clear()
    with application.runtime.database.write() as db:
        rotation.adopt_hash_keys(application.runtime.keyring, db)
        db.signal(TRANSITIONS)


def _log(settings: Settings) -> Any:
    return None if settings.log == "off" else sys.stderr


def _pretty(settings: Settings) -> bool:
    return settings.log == "pretty" or (settings.log == "auto" and sys.stderr.isatty())
