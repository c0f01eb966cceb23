"""Serial consoles that are open in this process: for whom, how many, and until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock

from crofter.context import Runtime
from crofter.drivers.hypervisor import DomainRef, Refused, SerialPort, Unreachable
from crofter.errors import Conflict, Problem, TooMany, Unavailable
from crofter.resources.instances import hypervisor_client
from crofter.resources.instances.serial import rules
from crofter.resources.instances.serial.rules import Grant
from crofter.resources.instances.store import Instance

PER_ACCOUNT, AT_ONCE = 10, 100
"""Consoles that one account, and all together, may have open in one process."""
OFF = "The instance is off."
AWAY = "The host of the instance does not answer. Please try again later."
CUT = "The connection was ended, perhaps by another one to the same instance."
CROWDED = f"Too many serial consoles are open: at most {PER_ACCOUNT} of an account."


class Consoles:
    """Opens consoles for tokens. Used in threads, like the objects that it returns."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._open: Counter[int] = Counter()
        self._lock = Lock()

    def admit(self, presented: str) -> Admission:
        """Check a token; raises a Problem."""
        grant = rules.read(self._runtime, presented)
        with self._runtime.database.read() as db:
            actor, instance = rules.admit(self._runtime, db, grant)
        return Admission(self, self._runtime, grant, instance, actor.account_id)

    def begin(self, account_id: int) -> None:
        with self._lock:
            if self._open[account_id] >= PER_ACCOUNT:
                raise TooMany(CROWDED)
            if self._open.total() >= AT_ONCE:
                raise Unavailable
            self._open[account_id] += 1

    def end(self, account_id: int) -> None:
        with self._lock:
            self._open[account_id] -= 1
            if not self._open[account_id]:
                del self._open[account_id]


class Admission:
    """A token that was valid when it was presented."""

    def __init__(self, consoles: Consoles, runtime: Runtime, grant: Grant, instance: Instance, account_id: int) -> None:
        self._consoles, self._runtime, self._grant = consoles, runtime, grant
        self._instance, self._account_id = instance, account_id

    def open(self, notify: Callable[[], None]) -> SerialSession:
        """Join the console; a Problem says why not. ``notify``: see the contract of drivers."""
        host = self._instance.host
        if host is None:
            raise Conflict(OFF)
        self._consoles.begin(self._account_id)
        ref = DomainRef(host, self._instance.id)
        try:
            port = hypervisor_client.hypervisor(self._runtime).open_serial_port(ref, notify)
        except BaseException as error:
            self._consoles.end(self._account_id)
            if isinstance(error, Unreachable):
                raise Unavailable(AWAY) from None
            if isinstance(error, Refused):
                raise Conflict(OFF) from None
            raise
        return SerialSession(self._consoles, self._runtime, self._grant, ref, port, self._account_id)


class SerialSession:
    """An open console."""

    def __init__(
        self, consoles: Consoles, runtime: Runtime, grant: Grant, ref: DomainRef, port: SerialPort, account_id: int
    ) -> None:
        self._consoles, self._runtime, self._grant = consoles, runtime, grant
        self._ref, self._port, self._account_id = ref, port, account_id
        self.read, self.write = port.read, port.write
        self.topic = f"events:{account_id}"

    def check(self) -> None:
        """Raise a Problem if the user may no longer use the console."""
        with self._runtime.database.read() as db:
            rules.admit(self._runtime, db, self._grant)

    def why_ended(self) -> Problem:
        try:
            power = hypervisor_client.hypervisor(self._runtime).observe(self._ref).power
        except Unreachable:
            power = "unknown"
        if power == "on":
            return Conflict(CUT)
        return Unavailable(AWAY) if power == "unknown" else Conflict(OFF)

    def close(self) -> None:
        try:
            self._port.close()
        finally:
            self._consoles.end(self._account_id)
