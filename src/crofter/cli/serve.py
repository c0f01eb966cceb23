"""``crofter serve``: from settings to a listening process, and back to a clean stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw
import msgspec
import uvicorn

from crofter import __version__
from crofter.assembly import Application, build, check_dialect
from crofter.bootstrap import FirstLogin, bootstrap, build_runtime
from crofter.catalogue import CatalogueError
from crofter.cli import announcement, first_login, logs, reloading, stopping
from crofter.cli.metrics_server import MetricsServer, cannot_listen
from crofter.cli.workers import Workers
from crofter.config import Settings
from crofter.db.schema import SchemaError
from crofter.dialect import DialectError
from crofter.drivers.hypervisor import DriverError
from crofter.edge.server import configured
from crofter.errors import Unavailable
from crofter.sandbox.seed import SeedError

try:
    from uvloop import new_event_loop
except ImportError:  # not CPython, or not a Unix: the standard loop serves too
    new_event_loop = asyncio.new_event_loop  # type: ignore[assignment]


DAMAGE = (apsw.CorruptError, apsw.NotADBError)
"""Errors of SQLite about damage in a part of the file that the opening did not read."""


class ApplicationServer(uvicorn.Server):
    """Server that announces its address, wakes waiting requests at a stop, and exits with 0."""

    def __init__(
        self,
        config: uvicorn.Config,
        application: Application,
        announce: Callable[[], None],
        read_settings: Callable[[], Settings],
    ) -> None:
        super().__init__(config)
        self._service = application
        self._announce = announce
        self._read_settings = read_settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._announce()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        if reloading.hold_back():
            loop.add_signal_handler(signal.SIGHUP, lambda: reloading.reload(self._read_settings, self.config.ssl))
        yield

    def _stop(self) -> None:
        if self.should_exit:
            self.force_exit = True  # second signal
        else:
            stopping.end_within(stopping.MOST_SECONDS)
        self.should_exit = True
        self._service.app.parts.hub.close()


class Start:
    """How this server was started: with which settings, where to read them again, and where it listens."""

    def __init__(self, settings: Settings, read_settings: Callable[[], Settings], *, print_json: bool) -> None:
        self.settings = settings
        self.read_settings = read_settings
        self.announcer = Announcer(print_json=print_json)
        self.first_login: FirstLogin | None = None
        self.kept: str | None = None
        """Where the first password is, if it is not to be printed."""

    def keep(self, login: FirstLogin | None) -> None:
        self.first_login = login or self.first_login
        self.kept = first_login.kept(self.settings, login) or self.kept


def serve(settings: Settings, read_settings: Callable[[], Settings] | None = None, *, print_json: bool = False) -> int:
    """Serve until a signal. ``read_settings`` returns the settings again at a reload."""
    reloading.hold_back()
    stopping.hear_signals({signal.SIGINT, signal.SIGTERM})
    start = Start(settings, read_settings or (lambda: settings), print_json=print_json)
    try:
        logs.begin(settings)
        check_dialect(settings)
        if settings.role == "worker":
            return _work(start)
        listening = _bind(settings)
        start.settings = msgspec.structs.replace(settings, port=listening.getsockname()[1])
        return _several(start, listening) if settings.workers > 1 else _one(start, listening)
    except (SeedError, DialectError) as error:
        print(error, file=sys.stderr)
        return 1
    except (SchemaError, CatalogueError, DriverError, Unavailable, OSError, *DAMAGE) as error:
        return _refused(error)


def stop_with_stdin() -> None:
    """Stop, as at a signal, when standard input closes because the parent process has ended."""

    def watch() -> None:
        # Signals go to the main thread, which knows what to do with them.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def migrate(settings: Settings) -> int:
    try:
        build_runtime(settings).database.close()
    except (SchemaError, Unavailable, OSError, *DAMAGE) as error:
        return _refused(error)
    print("the schema is up to date")
    return 0


def _refused(error: Exception) -> int:
    """Print the reason of a refused start in one line, with the database's message if there is no other."""
    cause = error.__cause__
    message = f"{error} ({cause})" if cause is not None and str(cause) not in str(error) else f"{error}"
    print(f"crofter: {' '.join(message.split())}", file=sys.stderr)
    return 1


def _bind(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        raise cannot_listen(error, settings.host, settings.port) from None
    listening.listen(1024)
    listening.set_inheritable(True)
    return listening


def _built(settings: Settings) -> Application:
    application = build(settings)
    gc.freeze()  # imported objects live as long as the process: collections can skip them
    gc.set_threshold(10_000)  # requests leave almost no reference cycles
    gc.enable()
    return application


class Announcer:
    """Says where the server is, once for all of its processes."""

    def __init__(self, *, print_json: bool) -> None:
        self._print_json = print_json
        self._pid = os.getpid()  # pid of the first process, which stops the others
        self.silent = False

    def announce(
        self, application: Application, listening: socket.socket, metrics: MetricsServer | None, kept: str | None
    ) -> None:
        if self.silent:
            return
        if self._print_json:
            print(announcement.for_programs(application, listening, self._pid), flush=True)
        else:
            print(announcement.for_people(application, listening, metrics.port if metrics else None), flush=True)
            if kept is not None:
                print(f"  {kept}", flush=True)


def _one(start: Start, listening: socket.socket, place: int = 0) -> int:
    settings = start.settings
    metrics = _metrics(settings, place)
    application = _built(settings)
    start.keep(application.first_login)
    application.first_login = None if start.kept else start.first_login
    config = configured(
        application.app,
        listening,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )

    def announce() -> None:
        start.announcer.announce(application, listening, metrics, start.kept)

    server = ApplicationServer(config, application, announce, start.read_settings)
    if metrics is not None:
        metrics.start(application)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(server.serve(sockets=[listening]))
    if metrics is not None:
        metrics.stop()
    application.runtime.database.close()
    return 0 if server.started else 1


def _metrics(settings: Settings, place: int = 0) -> MetricsServer | None:
    return None if settings.metrics_port is None else MetricsServer(settings, place)


def _work(start: Start) -> int:
    settings = start.settings
    handled_signals = {signal.SIGINT, signal.SIGTERM} | ({signal.SIGHUP} if reloading.hold_back() else set())
    # Held back before any thread starts, so that none of them dies of what this one waits for.
    signal.pthread_sigmask(signal.SIG_BLOCK, handled_signals)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # an ignored SIGHUP needs no handler
    metrics = _metrics(settings)
    application = _built(settings)
    for action in application.app.parts.on_start:
        action()
    if metrics is not None:
        metrics.start(application)
    where = f"; metrics at http://{settings.metrics_host}:{metrics.port}/metrics" if metrics else ""
    print(f"crofter {__version__} works on {announcement.store_of(settings)}{where}", flush=True)
    start.keep(application.first_login)
    if start.kept is not None:
        print(f"  {start.kept}", flush=True)
    while signal.sigwait(handled_signals) == signal.SIGHUP:
        reloading.reload(start.read_settings, None)
    stopping.end_within(stopping.MOST_SECONDS)
    for action in application.app.parts.on_stop:
        action()
    if metrics is not None:
        metrics.stop()
    application.runtime.database.close()
    return 0


def _several(start: Start, listening: socket.socket) -> int:
    # Before any child, so that only one of them finds an old schema.
    if start.settings.seed_file:
        application = build(start.settings)
        runtime = application.runtime
        start.keep(application.first_login)
        application.worker.heartbeat.sign_out()
    else:
        runtime = build_runtime(start.settings)
        start.keep(bootstrap(runtime))
    runtime.database.close()

    def child(*, first: bool, place: int) -> int:
        start.announcer.silent = not first
        return _one(start, listening, place)

    return Workers(start.settings.workers, child).run()
