"""Settings: flags over CROFTER_* variables over a TOML file, read once into one frozen object."""

from __future__ import annotations

import difflib
import ipaddress
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from crofter import region_settings
from crofter.region_settings import HOST_SUFFIX, RegionSettings

RATE_LIMITS = {
    "general": "1600 per 2 minute",
    "stats": "100 per 1 minute",
    "tickets": "2 per 1 minute",
    "transfers": "2 per 1 minute",
    "login": "5 per 15 minute",
    "login_address": "20 per 15 minute",
    "login_name": "20 per 1 minute",
    "login_newcomers": "300 per 1 minute",
}
ALWAYS = ("login", "login_name", "login_newcomers")
"""Limits that hold in a sandbox too. Limits per address do not: there all clients share one address."""


Positive = Annotated[int, Meta(ge=1)]


class SettingsError(Exception):
    """The settings cannot be served. The text says what to change."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8420
    data: str = "./data"
    """Folder of the embedded database, or ``:memory:`` to keep nothing."""
    database: str | None = None
    """``postgresql://…`` instead of SQLite."""
    driver: str = "simulated"
    """``libvirt``: real machines, on the hosts that `crofter admin hosts add` has added."""
    regions: dict[str, RegionSettings] = {}
    """Regions that have another driver than the rest, or a prefix of their own; only in the file."""
    host_domain: str = HOST_SUFFIX
    """Domain of the names that addresses and load balancers have by default."""
    media: str | None = None
    """Folder of images, kernels and the helper system for real machines; ``media`` in the data folder, if not set."""
    allow_emulation: bool | None = None
    """Allow tenants' machines on a host without KVM, where they are not isolated. Default: allowed in a sandbox."""
    mode: Literal["sandbox", "production"] | None = None
    role: Literal["all", "api", "worker"] = "all"
    workers: Positive = 1
    """Number of API processes; more than one needs PostgreSQL."""
    metrics_port: Annotated[int, Meta(ge=0, le=65535)] | None = None
    """Port for metrics and health alone, of each process; with several of them the next ones too."""
    metrics_host: str = "127.0.0.1"
    threads: Positive = 8
    max_requests: Positive = 512
    secret_key: str | None = None
    former_secret_keys: str | None = None
    """Keys that still open what they sealed, separated by commas, until `crofter admin rotate-key` is done."""
    bootstrap_token: str | None = None
    base_url: str | None = None
    """Where people reach the server. Production needs it; a sandbox without it repeats what callers call it."""
    behind_proxy: bool = False
    sandbox_key: str | None = None
    """Key that callers of the sandbox API must send. Required for a sandbox beyond loopback."""
    sandbox_hosts: str | None = None
    """Names by which a sandbox beyond loopback is called, with or without a port, separated by commas."""
    tls_certificate: str | None = None
    tls_key: str | None = None
    maintenance: str | None = None
    catalogue: str | None = None
    """Folder with catalogue files that replace the built-in ones."""
    seed: int | None = None
    seed_file: str | None = None
    """Accounts and what they have, which a sandbox makes at its first start: YAML or JSON."""
    dialect: str | None = None
    """File with another word for the interface, and with answers as other versions of its family give them: TOML."""
    log: Literal["auto", "json", "pretty", "off"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_file: str | None = None
    """Where all that would go to standard error is appended; opened anew at SIGHUP."""
    rate_limits: dict[str, str] = {}
    password_memory: Positive | None = None
    """Mebibytes that hashing one password takes: 19, or 1 in a sandbox."""
    password_passes: Positive | None = None
    """How often it goes over them: 2, or 1 in a sandbox."""
    probe_networks: str = ""
    """Private networks in which managed services may be looked at, by region: ``us-east=192.168.128.0/17 …``."""
    probe_certificates: str | None = None
    """File with certificates of authorities that are trusted besides the system's, for looking at managed services."""
    mail: str = "outbox"
    """``smtp://user:password@host:587`` (STARTTLS), ``smtps://…``, or ``outbox``: kept and shown, never sent."""
    mail_from: str = "crofter <no-reply@localhost>"
    payment_gateway: Literal["none", "simulated"] | None = None
    """``none`` refuses cards and payments; ``simulated`` moves no money. Default: none in production."""
    seller: str = "crofter"
    """Sender of invoices: name, address, tax id; lines separated by semicolons."""
    dns_driver: Literal["simulated", "zonefiles"] = "simulated"
    """``zonefiles``: domains are written to files that a name server serves."""
    dns_folder: str | None = None
    """Folder of the zone files; it may hold no other files."""
    dns_server: Literal["bind", "nsd", "knot"] = "bind"
    """Name server whose configuration is written next to the zone files."""
    dns_reload: str = ""
    """The command that makes the name server read them again, several with `` ; `` between them. No shell runs it."""
    dns_names: str = "ns1.example.com ns2.example.com"
    """Names of the name servers, in the NS records of every domain; the first one in its SOA record."""

    @property
    def name_servers(self) -> tuple[str, ...]:
        return tuple(name.lower().removesuffix(".") for name in self.dns_names.split())

    @property
    def address(self) -> str:
        """Where people reach the server, without a slash at the end."""
        if self.base_url is not None:
            return self.base_url.rstrip("/")
        scheme = "https" if self.tls_certificate else "http"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def real_regions(self, slugs: Iterable[str]) -> frozenset[str]:
        """Return the regions among ``slugs`` that have real machines."""
        drivers = {slug: self.regions.get(slug, RegionSettings()).driver or self.driver for slug in slugs}
        return frozenset(slug for slug, driver in drivers.items() if driver == "libvirt")

    def ipv6_prefix(self, region: str) -> str | None:
        own = self.regions.get(region)
        return None if own is None else own.ipv6

    @property
    def media_folder(self) -> Path:
        return Path(self.media) if self.media else Path(self.data) / "media"

    @property
    def sandbox(self) -> bool:
        return self.mode == "sandbox"

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """Return the names in ``sandbox_hosts`` in lower case."""
        return frozenset(host.strip().lower() for host in (self.sandbox_hosts or "").split(",") if host.strip())

    @property
    def folder(self) -> Path | None:
        return None if self.data == ":memory:" else Path(self.data)


_HOST = re.compile(r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")
_PREFIX = "CROFTER_"
NO_SETTINGS = tuple(_PREFIX + name for name in ("CONFIG", "CA", "PROFILE", "TOKEN", "URL"))
"""Variables that name the file, and the cloud that the command line signs in to."""
_RATE = "rate_limit_"


class Gathered(msgspec.Struct, frozen=True):
    """Settings from all sources, before validation."""

    values: dict[str, Any]
    rates: dict[str, Any]
    origins: dict[str, str]
    """Where each of them came from: a flag, a variable or the file. The rates as ``rate_limit_NAME``."""
    unknown: list[str]
    """Variables that look like settings and are none."""


def load(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """The settings in force, or SettingsError."""
    gathered = gather(flags, environ)
    try:
        settings = msgspec.convert({**gathered.values, "rate_limits": gathered.rates}, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"settings: {error}") from error
    return _checked(_completed(settings))


def gather(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Gathered:
    """Each setting from the first place that says something about it."""
    gathered = Gathered({}, {}, {}, [])
    file = flags.get("config") or environ.get(_PREFIX + "CONFIG")
    if file:
        for name, value in _from_file(Path(file)).items():
            _put(gathered, name, value, str(file))
    for name, value in environ.items():
        key = name.removeprefix(_PREFIX).lower()
        if not name.startswith(_PREFIX) or name in NO_SETTINGS:
            continue
        if key.startswith(_RATE):
            _put(gathered, "rate_limits", {key.removeprefix(_RATE): value}, name)
        elif key in Settings.__struct_fields__:
            _put(gathered, key, value, name)
        else:
            gathered.unknown.append(name)
    for name, value in flags.items():
        if value is not None and name != "config":
            _put(gathered, name, value, f"--{name.replace('_', '-')}")
    return gathered


def _put(gathered: Gathered, name: str, value: Any, origin: str) -> None:
    if name == "rate_limits" and isinstance(value, Mapping):
        gathered.rates.update(value)
        gathered.origins.update(dict.fromkeys((_RATE + limit for limit in value), origin))
    else:
        gathered.values[name] = value
        gathered.origins[name] = origin


def complaints(environ: Mapping[str, str]) -> list[str]:
    """A line for each variable that looks like a setting and is none, with the setting that may have been meant."""
    names = [_PREFIX + name.upper() for name in Settings.__struct_fields__ if name not in ("rate_limits", "regions")]
    names += [_PREFIX + (_RATE + limit).upper() for limit in RATE_LIMITS]
    lines = []
    for name in gather({}, {key: value for key, value in environ.items() if key != _PREFIX + "CONFIG"}).unknown:
        near = difflib.get_close_matches(name, names, 1, 0.0)
        lines.append(f"{name} is no setting, and nothing reads it; the nearest is {near[0]}")
    return sorted(lines)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads(path.read_text())
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error
    for name in settings:
        if name not in Settings.__struct_fields__:
            raise SettingsError(f"{path}: there is no setting called {name}")
    return settings


def _completed(settings: Settings) -> Settings:
    """Fill in what follows from the rest."""
    mode = settings.mode or ("sandbox" if is_loopback(settings.host) else "production")
    default = {name: limit for name, limit in RATE_LIMITS.items() if mode != "sandbox" or name in ALWAYS}
    rates = {**default, **settings.rate_limits}
    gateway = settings.payment_gateway or ("simulated" if mode == "sandbox" else "none")
    return msgspec.structs.replace(settings, mode=mode, rate_limits=rates, payment_gateway=gateway)


def _checked(settings: Settings) -> Settings:
    for check in (
        _check_rates,
        _check_store,
        _check_outside,
        _check_files,
        _check_secrets,
        _check_exposure,
        _check_address,
    ):
        check(settings)
    return settings


def _check_rates(settings: Settings) -> None:
    unknown = set(settings.rate_limits) - set(RATE_LIMITS)
    if unknown:
        raise SettingsError(f"no rate limit is called {', '.join(sorted(unknown))}; there are {', '.join(RATE_LIMITS)}")
    for name, limit in settings.rate_limits.items():
        if limit != RATE_LIMITS[name]:
            _check_rate(name, limit)


def _check_store(settings: Settings) -> None:
    if settings.database is None:
        if settings.workers > 1 or settings.role != "all":
            raise SettingsError("SQLite is for one process: --workers and --role need --database postgresql://…")
    elif not settings.database.startswith(("postgresql://", "postgres://")):
        raise SettingsError("a database address starts with postgresql://, and this one does not")
    elif find_spec("psycopg") is None:
        raise SettingsError("PostgreSQL needs an extra that is not installed: pip install 'crofter[postgres]'")


def _check_outside(settings: Settings) -> None:
    if settings.seed_file and not settings.sandbox:
        raise SettingsError("a seed is for sandbox mode: it opens accounts that nobody has asked for")
    if settings.mail != "outbox" and not settings.mail.startswith(("smtp://", "smtps://")):
        raise SettingsError("mail is outbox, smtp://… or smtps://…")
    if settings.mail != "outbox" and not _is_address(settings.mail, ("smtp", "smtps")):
        raise SettingsError("mail is an address like smtp://user:password@mail.example:587, and this one is none")
    if not re.search(r"[^\s<>@]+@[^\s<>@]+", settings.mail_from):
        raise SettingsError(
            f"mail_from is a sender like 'Cloud <cloud@cloud.example>', and {settings.mail_from!r} is none"
        )
    for word in settings.probe_networks.split():
        try:
            ipaddress.ip_network(word.partition("=")[2])
        except ValueError:
            raise SettingsError(f"probe_networks is a list of region=network, and {word} is none") from None
    if settings.probe_certificates and not Path(settings.probe_certificates).is_file():
        raise SettingsError(f"probe_certificates is a file, and there is no {settings.probe_certificates}")
    _check_dns(settings)
    if wrong := region_settings.complaint(settings.host_domain, settings.regions):
        raise SettingsError(wrong)
    if settings.driver not in ("simulated", "libvirt"):
        raise SettingsError(f"there is no driver {settings.driver!r}; there are: simulated, libvirt")
    real = settings.driver == "libvirt" or any(region.driver == "libvirt" for region in settings.regions.values())
    if real and settings.folder is None:
        raise SettingsError("real machines outlive the server: --driver libvirt needs a data folder, not :memory:")


def _check_dns(settings: Settings) -> None:
    if not settings.name_servers or not all(_HOST.fullmatch(name) for name in settings.name_servers):
        raise SettingsError(f"dns_names is a list of host names, and {settings.dns_names!r} is none")
    if settings.dns_driver == "zonefiles" and not settings.dns_folder:
        raise SettingsError("dns_driver zonefiles needs dns_folder: where the files of the domains are to be")
    if re.search(r"[\"'\\\s{};]", settings.dns_folder or ""):
        raise SettingsError("dns_folder stands in the configuration of a name server: no spaces, quotes or braces")
    try:
        shlex.split(settings.dns_reload)
    except ValueError as error:
        raise SettingsError(f"dns_reload cannot be read: {error}") from None


def _check_files(settings: Settings) -> None:
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise SettingsError("TLS needs both tls_certificate and tls_key")
    for name in ("tls_certificate", "tls_key"):
        file = getattr(settings, name)
        if file is not None and not Path(file).is_file():
            raise SettingsError(f"{name} is a file, and there is no {file}")
    if settings.catalogue is not None and not Path(settings.catalogue).is_dir():
        raise SettingsError(f"catalogue is a folder, and there is no {settings.catalogue}")


def _check_secrets(settings: Settings) -> None:
    if not settings.sandbox and not settings.secret_key:
        raise SettingsError("production mode needs CROFTER_SECRET_KEY (64 hexadecimal characters)")
    for key in (settings.secret_key or "", *(settings.former_secret_keys or "").split(",")):
        if 0 < len(key.strip()) < 32:
            raise SettingsError("a secret key has 64 hexadecimal characters, or 32 of any other sort and more")


def _check_exposure(settings: Settings) -> None:
    if is_loopback(settings.host):
        return
    if settings.sandbox:
        if not (settings.sandbox_key and settings.allowed_hosts):
            raise SettingsError(
                "a sandbox beyond loopback needs CROFTER_SANDBOX_KEY, which callers of /_sandbox show, and "
                "CROFTER_SANDBOX_HOSTS, the names by which they call it; or use --mode production"
            )
        return
    if not (settings.behind_proxy or settings.tls_certificate):
        raise SettingsError("a public address needs TLS (tls_certificate, tls_key) or behind_proxy = true")


def _check_address(settings: Settings) -> None:
    if settings.base_url is None:
        # otherwise the Host header of a client would appear in links, OAuth metadata and issuers
        if not settings.sandbox:
            raise SettingsError("production mode needs base_url: the address that people use, https://cloud.example")
        return
    parts = urlsplit(settings.base_url) if _is_address(settings.base_url, ("http", "https")) else None
    if parts is None or parts.query or parts.fragment or parts.username is not None:
        raise SettingsError(f"base_url is an address like https://cloud.example, and {settings.base_url!r} is none")


def _is_address(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - a port that is none is noticed when it is asked for
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and not re.search(r"\s", text)


def _check_rate(name: str, limit: str) -> None:
    from limits import parse  # noqa: PLC0415 - only who changes a limit waits for it

    try:
        parse(limit)
    except ValueError:
        raise SettingsError(f"the rate limit {name} is written like {RATE_LIMITS[name]!r}, not {limit!r}") from None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
