"""Real name servers: a file for each zone, a piece of configuration for each, and a command that makes them look.

BIND, NSD and Knot can each include all pieces of a folder with one line of their own configuration. So a new zone costs
two small files, however many there are already.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

from crofter.drivers.dns.contract import NotPublished, Zone

RELOAD_SECONDS = 30.0
MOST_WORDS = 500
"""Characters of what a command says that are repeated."""
ZONE, PIECE = ".zone", ".conf"
_SERIAL = re.compile(r"# serial (\d+)")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _bind(zone: Zone, file: Path) -> Iterator[str]:
    yield f'zone "{zone.name}" {{'
    yield f"  type {'slave' if zone.masters else 'master'};"
    if zone.masters:
        yield f"  masters {{ {' '.join(f'{master};' for master in zone.masters)} }};"
    else:
        yield f'  file "{file}";'
        yield "  check-integrity no;"
    yield "  check-names ignore;"  # the interface allows names that no host could have
    yield f"  allow-transfer {{ {' '.join(f'{address};' for address in zone.transfers) or 'none;'} }};"
    yield "};"


def _nsd(zone: Zone, file: Path) -> Iterator[str]:
    yield "zone:"
    yield f'  name: "{zone.name}"'
    if not zone.masters:
        yield f'  zonefile: "{file}"'
    for master in zone.masters:
        yield f"  request-xfr: {master} NOKEY"
        yield f"  allow-notify: {master} NOKEY"
    for address in zone.transfers:
        yield f"  provide-xfr: {address} NOKEY"


def _knot(zone: Zone, file: Path) -> Iterator[str]:
    """Knot names addresses apart from the zones that they are for, and before them."""
    if zone.masters:
        yield "remote:"
        yield f'  - id: "masters.{zone.name}"'
        yield f"    address: [{', '.join(zone.masters)}]"
    if zone.transfers:
        yield "acl:"
        yield f'  - id: "transfers.{zone.name}"'
        yield f"    address: [{', '.join(zone.transfers)}]"
        yield "    action: transfer"
    yield "zone:"
    yield f'  - domain: "{zone.name}"'
    if zone.masters:
        yield f'    master: "masters.{zone.name}"'
    else:
        yield f'    file: "{file}"'
    if zone.transfers:
        yield f'    acl: "transfers.{zone.name}"'


FORMATS: dict[str, Callable[[Zone, Path], Iterator[str]]] = {"bind": _bind, "nsd": _nsd, "knot": _knot}


class ZoneFiles:
    """``folder`` belongs to this driver alone. ``reload`` is a command, or several with a ``;`` between them."""

    def __init__(self, folder: Path, server: str, reload: str) -> None:
        self._folder = folder.resolve()
        self._configuration = FORMATS[server]
        self._commands = commands(reload)
        self._reloading = threading.Lock()
        self._counting = threading.Lock()
        self._changes = 0
        self._reloaded = 0
        """The changes that were made before the last reload began."""

    # ---- the contract -----------------------------------------------------------------------------------------------

    def publish(self, zone: Zone) -> None:
        with _complaining(zone.name):
            file, piece = self._paths(zone.name)
            known = _serial(piece)
            if known is not None and known > zone.serial:
                return
            if known != zone.serial:
                self._folder.mkdir(parents=True, exist_ok=True)
                if zone.masters:
                    file.unlink(missing_ok=True)
                else:
                    _write(file, zone.lines)
                # Written after the zone and with its serial: a reader of this file can rely on the zone.
                _write(piece, [f"# serial {zone.serial}", *self._configuration(zone, file)])
            self._reload()  # also if all files were current: their writer may have died before the reload

    def withdraw(self, name: str) -> None:
        with _complaining(name):
            file, piece = self._paths(name)
            piece.unlink(missing_ok=True)
            file.unlink(missing_ok=True)
            if self._folder.is_dir():
                _sync(self._folder)
            self._reload()

    def published(self, name: str) -> Zone | None:
        file, piece = self._paths(name)
        serial = _serial(piece)
        if serial is None:
            return None
        lines = tuple(file.read_text().splitlines()) if file.is_file() else ()
        return Zone(name, serial, lines)

    def names(self, most: int = 1000) -> list[str]:
        """The first zones that are served, in the order of their names."""
        names = sorted(unquote(path.name.removesuffix(PIECE)) for path in self._folder.glob(f"*{PIECE}"))
        return names[:most]

    def _paths(self, name: str) -> tuple[Path, Path]:
        plain = quote(name, safe="")  # a zone may be called *.example.org
        return self._folder / f"{plain}{ZONE}", self._folder / f"{plain}{PIECE}"

    # ---- reloading --------------------------------------------------------------------------------------------------

    def _reload(self) -> None:
        """Make the name server look. A reload that began after our change is as good as one of our own."""
        with self._counting:
            self._changes += 1
            mine = self._changes
        with self._reloading:
            if self._reloaded >= mine:
                return
            with self._counting:
                made = self._changes
            for words in self._commands:
                _run(words)
            self._reloaded = made


def commands(reload: str) -> list[list[str]]:
    """The words of each command; raises ValueError where quotes are left open."""
    split: list[list[str]] = [[]]
    for word in shlex.split(reload):
        if word == ";":
            split.append([])
        else:
            split[-1].append(word)
    return [words for words in split if words]


def _run(words: list[str]) -> None:
    """Run a command without shell, inherited variables, open files or terminal."""
    try:
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": _PATH},
            cwd="/",
            start_new_session=True,
            timeout=RELOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotPublished(f"{words[0]} was not done after {RELOAD_SECONDS:g} s") from None
    if ended.returncode != 0:
        output = " ".join(ended.stdout.decode(errors="replace").split())[:MOST_WORDS]
        raise NotPublished(f"{words[0]} ended with {ended.returncode}: {output}")


# ---- files ----------------------------------------------------------------------------------------------------------


@contextmanager
def _complaining(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotPublished(f"{name}: {error}") from error


def _serial(piece: Path) -> int | None:
    try:
        with piece.open() as lines:
            match = _SERIAL.match(lines.readline())
    except FileNotFoundError:
        return None
    return int(match[1]) if match else None


def _write(path: Path, lines: Iterable[str]) -> None:
    """A whole file or none: under another name first, on the disk, and then in its place."""
    new = path.with_name(f".{path.name}.new")
    with new.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
