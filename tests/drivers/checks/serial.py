"""The serial console of a machine: bytes both ways, for as long as the machine is on."""

from __future__ import annotations

import threading

import pytest

from crofter.drivers.hypervisor import Absent, DomainRef, Refused, SerialPort, Unreachable
from tests.drivers.harness import PATIENCE, DriverCase

LONGEST_PAUSE = 2.0


class Joined:
    """A console with a connected user."""

    def __init__(self, case: DriverCase, domain: DomainRef) -> None:
        self._case = case
        self._notified = threading.Event()
        self.port: SerialPort = case.driver.open_serial_port(domain, self._notified.set)

    def read(self) -> bytes | None:
        """The next that there is, or None at the end; an assertion, if neither comes."""
        waited = 0.0
        while (content := self.port.read()) == b"":
            assert waited < PATIENCE, "the machine says nothing"
            if not self._notified.wait(0.05):
                self._case.harness.wait(LONGEST_PAUSE)
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


def the_console_of_a_machine_shows_what_is_typed(case: DriverCase) -> None:
    joined = Joined(case, case.machine(on=True).domain)
    joined.shows(b"login: ")
    assert joined.port.write(b"hello") == 5
    joined.shows(b"hello")
    joined.port.close()


def a_console_that_was_left_is_joined_again(case: DriverCase) -> None:
    domain = case.machine(on=True).domain
    first = Joined(case, domain)
    first.shows(b"login: ")
    first.port.close()
    first.port.close()
    assert first.port.read() is None
    assert first.port.write(b"x") == 0
    second = Joined(case, domain)
    assert second.port.write(b"\r") == 1
    second.shows(b"login: ")
    second.port.close()


def a_console_ends_when_its_machine_goes_off(case: DriverCase) -> None:
    machine = case.machine(on=True)
    joined = Joined(case, machine.domain)
    joined.shows(b"login: ")
    case.shut_down(machine.domain)
    joined.ends()
    case.boot(machine.domain)
    assert joined.port.read() is None, "the machine that runs now is another boot"
    joined.port.close()


def a_machine_that_is_off_has_no_console(case: DriverCase) -> None:
    machine = case.machine()
    with pytest.raises(Refused) as refused:
        case.driver.open_serial_port(machine.domain, lambda: None)
    assert not isinstance(refused.value, Absent)
    with pytest.raises(Absent):
        case.driver.open_serial_port(DomainRef(machine.domain.host, case.number()), lambda: None)


def a_host_that_does_not_answer_gives_no_console(case: DriverCase) -> None:
    machine = case.machine(on=True)
    case.harness.unplug(machine.domain.host)
    with pytest.raises(Unreachable):
        case.driver.open_serial_port(machine.domain, lambda: None)
    case.harness.plug(machine.domain.host)


def what_nobody_reads_is_bounded(case: DriverCase) -> None:
    if not case.harness.is_exact:
        return  # a real guest drops what comes too fast, so that more is taken
    joined = Joined(case, case.machine(on=True).domain)
    joined.shows(b"login: ")
    taken = sum(joined.port.write(b"x\r" * 512) for _ in range(1024))
    assert taken < 1024 * 1024, "all of a megabyte was taken though nobody reads the answers"
    joined.shows(b"x")
    joined.port.close()
