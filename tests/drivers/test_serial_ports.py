"""Console output of a simulated system, and serial ports over libvirt streams."""

from __future__ import annotations

from typing import Any

import pytest

from crofter.clock import DAY, HOUR, MINUTE
from crofter.drivers.hypervisor.contract import SERIAL_BUFFER, SERIAL_PIECE
from crofter.drivers.hypervisor.libvirt.serial_port import WOULD_BLOCK, LibvirtSerialPort
from crofter.drivers.hypervisor.simulated.guest import Guest, SimulatedSerialPort, uptime
from tests.drivers.simulated_harness import NOON


def type_into(guest: Guest, typed: bytes) -> str:
    """Return the output of the guest."""
    return b"".join(guest.typed(character) for character in typed).decode()


def signed_in(name: str = "root") -> Guest:
    guest = Guest("i-7", NOON, lambda: NOON + 90 * MINUTE)
    type_into(guest, name.encode() + b"\rsecret\r")
    return guest


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (b"uname\r", "uname\r\nLinux\r\nroot@i-7:~# "),
        (b"uname -n\r", "uname -n\r\ni-7\r\nroot@i-7:~# "),
        (b"hostname\r", "hostname\r\ni-7\r\nroot@i-7:~# "),
        (b"date\r", "date\r\n2026-03-01T13:30:00\r\nroot@i-7:~# "),
        (b"uptime\r", "uptime\r\n 13:30:00 up 1:30,  1 user,  load average: 0.00, 0.00, 0.00\r\nroot@i-7:~# "),
        (b"unamx\x7fe\r", "unamx\b \be\r\nLinux\r\nroot@i-7:~# "),
        (b"\x1b[Awhoami\n", "whoami\r\nroot\r\nroot@i-7:~# "),
        ("echo ü\x7fa\r".encode(), "echo ü\b \ba\r\na\r\nroot@i-7:~# "),
        (b"rm -rf /\x15\r", "rm -rf /" + 8 * "\b \b" + "\r\nroot@i-7:~# "),
        (b"sleep 9\x03", "sleep 9^C\r\nroot@i-7:~# "),
        (b"reboot\r", "reboot\r\n-sh: reboot: command not found\r\nroot@i-7:~# "),
        (b"exit\r", "exit\r\nlogout\r\n\r\nSimulated system on i-7\r\n\r\ni-7 login: "),
        (b"\x04", "\r\nlogout\r\n\r\nSimulated system on i-7\r\n\r\ni-7 login: "),
    ],
)
def test_a_simulated_system_answers_as_a_shell_does(typed: bytes, answer: str) -> None:
    assert type_into(signed_in(), typed) == answer


def test_a_password_is_not_shown_and_a_line_has_an_end() -> None:
    guest = Guest("i-7", NOON, lambda: NOON)
    assert type_into(guest, b"\rbob\r") == "\r\ni-7 login: bob\r\nPassword: "
    assert type_into(guest, b"\x03") == "^C\r\ni-7 login: "
    type_into(guest, b"bob\r")
    assert "secret" not in type_into(guest, b"sexx\x7f\x7fcret\r")
    assert type_into(guest, b"\r") == "\r\nbob@i-7:~$ "
    assert type_into(guest, b"x" * 2000).count("\x07") == 2000 - 1024


def test_the_time_since_a_boot_is_said_as_people_do() -> None:
    uptimes = [uptime(0, time).split(",  ")[0] for time in (0, 59 * MINUTE, HOUR, DAY + 61 * MINUTE, 3 * DAY)]
    assert uptimes == [
        " 00:00:00 up 0 min",
        " 00:59:00 up 59 min",
        " 01:00:00 up 1:00",
        " 01:01:00 up 1 day, 1:01",
        " 00:00:00 up 3 days, 0 min",
    ]


def test_whoever_was_held_back_is_told_when_there_is_space() -> None:
    notifications: list[int] = []
    port = SimulatedSerialPort("i-7", NOON, lambda: NOON, lambda: True, lambda: notifications.append(1))
    while port.write(b"x\r"):
        pass
    notifications.clear()
    assert len(port.read() or b"") == SERIAL_PIECE
    assert notifications
    assert port.write(b"x\r") == 2


class Virt:
    """The words of libvirt's module."""

    VIR_STREAM_EVENT_READABLE, VIR_STREAM_EVENT_WRITABLE = 1, 2
    VIR_STREAM_EVENT_ERROR, VIR_STREAM_EVENT_HANGUP = 4, 8

    class libvirtError(Exception):  # noqa: N801 - as it is called there
        pass


class Stream:
    """A stream of libvirt: what the machine wrote, and how much the daemon takes at a time."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.taken = bytearray()
        self.space = 0
        self.broken = self.removed = self.aborted = self.over = False
        self.asked = 0
        self._callback: Any = None

    def eventAddCallback(self, asked: int, callback: Any, _opaque: Any) -> None:  # noqa: N802
        self.asked, self._callback = asked, callback

    def eventUpdateCallback(self, asked: int) -> None:  # noqa: N802
        self.asked = asked

    def eventRemoveCallback(self) -> None:  # noqa: N802
        self.removed = True

    def recv(self, count: int) -> Any:
        if self.broken:
            raise Virt.libvirtError
        if not self.written:
            return b"" if self.over else WOULD_BLOCK
        content = bytes(self.written[:count])
        del self.written[:count]
        return content

    def send(self, content: bytes) -> int:
        if self.broken:
            raise Virt.libvirtError
        count = min(len(content), self.space)
        self.space -= count
        self.taken += content[:count]
        return count or WOULD_BLOCK

    def abort(self) -> None:
        self.aborted = True
        raise Virt.libvirtError

    def turn(self, more: int = 0) -> bool:
        """Run a turn of libvirt's event loop. Return True if it had events."""
        now = more | (1 if self.written or self.over else 0) | (2 if self.space else 0)
        if self.removed or not now & self.asked:
            return False
        self._callback(self, now & self.asked, None)
        return True


def test_a_stream_is_read_up_to_a_bound_and_no_event_is_asked_for_in_vain() -> None:
    stream, notifications = Stream(), list[int]()
    port = LibvirtSerialPort(Virt, stream, lambda: notifications.append(1))
    assert not stream.turn()
    stream.written += b"x" * (SERIAL_BUFFER + 1000)
    turns = 0
    while stream.turn():
        turns += 1
    assert (turns, len(stream.written)) == (1, 1000), "it is told of once, and then no more until there is space"
    assert notifications == [1]
    received = b""
    while piece := port.read():
        assert len(piece) <= SERIAL_PIECE
        received += piece
        stream.turn()
    assert len(received) == SERIAL_BUFFER + 1000


def test_what_a_daemon_does_not_take_waits_up_to_a_bound() -> None:
    stream, notifications = Stream(), list[int]()
    port = LibvirtSerialPort(Virt, stream, lambda: notifications.append(1))
    stream.space = 10
    assert port.write(b"y" * 30) == 30
    assert (len(stream.taken), stream.turn()) == (10, False)
    assert port.write(b"y" * SERIAL_BUFFER) == SERIAL_BUFFER - 20
    assert port.write(b"y") == 0
    stream.space = 1 << 20
    assert stream.turn()
    assert len(stream.taken) == SERIAL_BUFFER + 10
    assert notifications == [1], "whoever waits for space is told"
    assert not stream.turn(), "nothing waits to be sent, so nothing is asked for"


def test_a_stream_ends_with_the_machine_after_its_last_words() -> None:
    stream = Stream()
    port = LibvirtSerialPort(Virt, stream, lambda: None)
    stream.written += b"Power down."
    stream.turn(Virt.VIR_STREAM_EVENT_HANGUP)
    assert (port.read(), port.read(), port.write(b"x")) == (b"Power down.", None, 0)
    assert stream.removed
    port.close()
    port.close()
    assert stream.aborted


@pytest.mark.parametrize("how", ["over", "broken"])
def test_a_stream_that_is_over_or_broken_ends(how: str) -> None:
    stream = Stream()
    port = LibvirtSerialPort(Virt, stream, lambda: None)
    setattr(stream, how, True)
    stream.turn(Virt.VIR_STREAM_EVENT_READABLE)
    assert port.read() is None


def test_a_stream_that_breaks_while_something_is_typed_ends() -> None:
    stream = Stream()
    port = LibvirtSerialPort(Virt, stream, lambda: None)
    stream.broken = True
    port.write(b"x")
    assert port.read() is None
