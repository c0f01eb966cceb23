"""The serial console of a machine: bytes both ways, for as long as the machine is on."""

from __future__ import annotations

import threading

import pytest

from crofter.drivers.hypervisor import Absent, DomainRef, Refused, SerialPort, Unreachable
from tests.drivers.bench import PATIENCE, Yard

LONGEST_PAUSE = 2.0


class Joined:
    """A console with somebody in front of it."""

    def __init__(self, yard: Yard, domain: DomainRef) -> None:
        self._yard = yard
        self._notified = threading.Event()
        self.port: SerialPort = yard.driver.open_serial_port(domain, self._notified.set)

    def read(self) -> bytes | None:
        """The next that there is, or None at the end; an assertion, if neither comes."""
        waited = 0.0
        while (content := self.port.read()) == b"":
            assert waited < PATIENCE, "the machine says nothing"
            if not self._notified.wait(0.05):
                self._yard.bench.wait(LONGEST_PAUSE)
                waited += LONGEST_PAUSE
            self._notified.clear()
        return content

    def shows(self, text: bytes) -> None:
        shown = b""
        while text not in shown:
            content = self.read()
            assert content is not None, f"it ended after {shown!r}"
            shown += content

    def ends(self) -> None:
        while self.read() is not None:
            pass


def the_console_of_a_machine_shows_what_is_typed(yard: Yard) -> None:
    joined = Joined(yard, yard.machine(on=True).domain)
    joined.shows(b"login: ")
    assert joined.port.write(b"hello") == 5
    joined.shows(b"hello")
    joined.port.close()


def a_console_that_was_left_is_joined_again(yard: Yard) -> None:
    domain = yard.machine(on=True).domain
    first = Joined(yard, domain)
    first.shows(b"login: ")
    first.port.close()
    first.port.close()
    assert first.port.read() is None
    assert first.port.write(b"x") == 0
    second = Joined(yard, domain)
    assert second.port.write(b"\r") == 1
    second.shows(b"login: ")
    second.port.close()


def a_console_ends_when_its_machine_goes_off(yard: Yard) -> None:
    machine = yard.machine(on=True)
    joined = Joined(yard, machine.domain)
    joined.shows(b"login: ")
    yard.shut_down(machine.domain)
    joined.ends()
    yard.boot(machine.domain)
    assert joined.port.read() is None, "the machine that runs now is another boot"
    joined.port.close()


def a_machine_that_is_off_has_no_console(yard: Yard) -> None:
    machine = yard.machine()
    with pytest.raises(Refused) as refused:
        yard.driver.open_serial_port(machine.domain, lambda: None)
    assert not isinstance(refused.value, Absent)
    with pytest.raises(Absent):
        yard.driver.open_serial_port(DomainRef(machine.domain.host, yard.number()), lambda: None)


def a_host_that_does_not_answer_gives_no_console(yard: Yard) -> None:
    machine = yard.machine(on=True)
    yard.bench.unplug(machine.domain.host)
    with pytest.raises(Unreachable):
        yard.driver.open_serial_port(machine.domain, lambda: None)
    yard.bench.plug(machine.domain.host)


def what_nobody_reads_is_bounded(yard: Yard) -> None:
    if not yard.bench.is_exact:
        return  # a real guest drops what comes too fast, so that more is taken
    joined = Joined(yard, yard.machine(on=True).domain)
    joined.shows(b"login: ")
    taken = sum(joined.port.write(b"x\r" * 512) for _ in range(1024))
    assert taken < 1024 * 1024, "all of a megabyte was taken though nobody reads the answers"
    joined.shows(b"x")
    joined.port.close()
