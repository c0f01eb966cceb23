"""Context of a unit of work, with caller, time and transaction: the first argument of every rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from crofter import clock as service_clock
from crofter.scopes import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from crofter.clock import Clock
    from crofter.config import Settings
    from crofter.db import Database, Session
    from crofter.drivers.dns import NameServer
    from crofter.drivers.hypervisor import Hypervisor
    from crofter.drivers.mail import Mailer
    from crofter.drivers.payments import Gateway
    from crofter.drivers.probes import ProbeClient
    from crofter.engine.operation import Operations
    from crofter.keyring import Keyring
    from crofter.kinds import Kinds
    from crofter.passwords import Passwords
    from crofter.ports import TrafficSource
    from crofter.rng import Rng
    from crofter.uploads import UploadFolder


ALL_SCOPES = frozenset({EVERYTHING})
"""Scopes of a caller without a token: a person at the login service, or the system."""


class Actor(Struct, frozen=True, gc=False):
    """A user with the powers of the token that was shown."""

    account_id: int
    user_id: int
    username: str
    restricted: bool
    token_id: int
    scopes: frozenset[str]


class Runtime:
    """The parts of the server. Built once, in assembly; every context points at it.

    A part that is no argument is built on first access if ``later`` gave a function for it, or set by assembly. An
    access before that raises AttributeError.
    """

    __slots__ = (
        "_makers",
        "clock",
        "database",
        "default_label",
        "hypervisor",
        "keyring",
        "kinds",
        "mailer",
        "name_server",
        "operations",
        "passwords",
        "payments",
        "probes",
        "rng",
        "settings",
        "traffic",
        "uploads",
    )

    kinds: Kinds
    hypervisor: Hypervisor
    """The fleet of hosts; after the catalogue is loaded, which names the regions."""
    payments: Gateway
    mailer: Mailer
    name_server: NameServer
    passwords: Passwords
    """Queue of password hashing, shared by the process."""
    probes: ProbeClient
    traffic: TrafficSource
    """Source of the traffic of instances, for billing."""
    uploads: UploadFolder
    """Files that are being sent, and those that wait to be taken to a host."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clock: Clock,
        rng: Rng,
        keyring: Keyring,
        kinds: Kinds | None = None,
    ) -> None:
        self.settings = settings
        self.database = database
        self.clock = clock
        self.rng = rng
        self.keyring = keyring
        self.default_label = "compute"
        """Prefix of the default label of an instance; a dialect replaces it."""
        self.operations: Operations | None = None
        """The operations that this process knows; set by its worker."""
        self._makers: dict[str, Callable[[Runtime], Any]] = {}
        if kinds is not None:
            self.kinds = kinds

    def later(self, **makers: Callable[[Runtime], Any]) -> None:
        """How to make parts that a short command may never ask for."""
        self._makers.update(makers)

    def make_all(self) -> None:
        """For a server, before its threads ask for one part at the same time."""
        for name in self._makers:
            getattr(self, name)

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there yet: afterwards it is an attribute like any other.
        if name.startswith("_") or name not in self._makers:
            raise AttributeError(f"the server has no {name} yet")
        part = self._makers[name](self)
        setattr(self, name, part)
        return part


class Context:
    """A unit of work: an HTTP request, or a step of an operation."""

    __slots__ = ("_actor", "_origin", "address", "db", "now", "request_id", "runtime")

    def __init__(
        self,
        runtime: Runtime,
        db: Session,
        actor: Actor | None = None,
        *,
        address: str = "",
        request_id: str = "",
        origin: Callable[[], str] | None = None,
    ) -> None:
        self.runtime = runtime
        self.db = db
        self._actor = actor
        self.address = address
        self.request_id = request_id
        self._origin = origin
        self.now = runtime.clock.now()
        """Service time in milliseconds, the same through the whole unit of work."""

    @classmethod
    def of_system(cls, runtime: Runtime, db: Session, account_id: int) -> Context:
        """The system itself at work on an account, as user 0. Who changes something holds the account first."""
        return cls(runtime, db, Actor(account_id, 0, "", restricted=False, token_id=0, scopes=ALL_SCOPES))

    @property
    def actor(self) -> Actor:
        assert self._actor is not None, "public endpoints have no actor"
        return self._actor

    @property
    def caller(self) -> Actor | None:
        """The actor, or None on a public endpoint without a token."""
        return self._actor

    @property
    def account_id(self) -> int:
        return self.actor.account_id

    @property
    def moment(self) -> str:
        """``now`` as the interface writes it and the database keeps it."""
        return service_clock.text(self.now)

    @property
    def base_url(self) -> str:
        """Where the caller reaches the server, for addresses in answers; without a slash at the end."""
        settings = self.runtime.settings
        if settings.base_url is None and self._origin is not None and (origin := self._origin()):
            return origin
        return settings.address

    @property
    def rng(self) -> Rng:
        return self.runtime.rng
