"""Guest on the serial console of a simulated machine: a login, and a shell with a few commands."""

from __future__ import annotations

import threading
from collections.abc import Callable

from crofter import clock
from crofter.drivers.hypervisor.contract import SERIAL_BUFFER, SERIAL_PIECE

KERNEL = "6.1.0-simulated"
LONGEST_LINE = 1024
BELL, ESCAPE, INTERRUPT, END, ERASE_LINE = 0x07, 0x1B, 0x03, 0x04, 0x15
ENTER, ERASE = (0x0A, 0x0D), (0x08, 0x7F)
RESERVED_FOR_ANSWER = 4 * LONGEST_LINE
"""Bytes that one more character may add to what waits to be read: the answer to the line that it ends."""
COMMANDS = ("clear", "date", "echo", "exit", "help", "hostname", "uname", "uptime", "whoami")


class SimulatedSerialPort:
    """A session on the console. Its state ends with the session; input never changes the machine."""

    def __init__(
        self, host_name: str, booted: int, now: Callable[[], int], is_on: Callable[[], bool], notify: Callable[[], None]
    ) -> None:
        """``is_on``: whether the machine is still on, and has been since it was joined."""
        self._guest = Guest(host_name, booted, now)
        self._is_on = is_on
        self._notify = notify
        self._lock = threading.Lock()
        self._unread = bytearray(self._guest.greeting())
        self._closed = self._held_back = False
        notify()

    def read(self) -> bytes | None:
        still_on = not self._closed and self._is_on()
        with self._lock:
            piece = bytes(self._unread[:SERIAL_PIECE])
            del self._unread[:SERIAL_PIECE]
            has_space, self._held_back = self._held_back, False
        if has_space:
            self._notify()
        return piece if piece or still_on else None

    def write(self, content: bytes) -> int:
        taken = 0
        with self._lock:
            for character in b"" if self._closed else content:
                if len(self._unread) > SERIAL_BUFFER - RESERVED_FOR_ANSWER:
                    self._held_back = True
                    break
                self._unread += self._guest.typed(character)
                taken += 1
        if taken:
            self._notify()
        return taken

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._unread.clear()


class Guest:
    """A terminal with line editing, and the reader of the lines."""

    def __init__(self, host_name: str, booted: int, now: Callable[[], int]) -> None:
        self._host_name = host_name
        self._booted = booted
        self._now = now
        self._line = bytearray()
        self._escaped = False
        self._user: str | None = None
        self._asks_password = False

    def greeting(self) -> bytes:
        return f"\r\nSimulated system on {self._host_name}\r\n\r\n{self._host_name} login: ".encode()

    def typed(self, character: int) -> bytes:
        """Process one byte of input and return the terminal's output."""
        if self._escaped:  # the keys of arrows and functions: their sequences end with a letter or a tilde
            self._escaped = not (chr(character).isalpha() or character == 0x7E)
            return b""
        if character == ESCAPE:
            self._escaped = True
        elif character in ENTER:
            line = self._line.decode("utf-8", "replace").strip()
            self._line.clear()
            return b"\r\n" + self._entered(line).encode()
        elif character in ERASE:
            return self._erase()
        elif character == ERASE_LINE:
            return b"".join(self._erase() for _ in range(len(self._line)))
        elif character == INTERRUPT:
            return self._interrupt()
        elif character == END:
            return b"" if self._line or self._user is None else b"\r\n" + self._entered("exit").encode()
        elif character >= 0x20:
            return self._take(character)
        return b""

    def _interrupt(self) -> bytes:
        self._line.clear()
        if self._asks_password:
            self._user, self._asks_password = None, False
        return b"^C\r\n" + self._prompt().encode()

    def _take(self, character: int) -> bytes:
        if len(self._line) >= LONGEST_LINE:
            return bytes((BELL,))
        self._line.append(character)
        return b"" if self._asks_password else bytes((character,))

    def _erase(self) -> bytes:
        if not self._line:
            return b""
        # A character may consist of several bytes.
        while len(self._line) > 1 and self._line[-1] & 0xC0 == 0x80:
            self._line.pop()
        self._line.pop()
        return b"" if self._asks_password else b"\b \b"

    def _prompt(self) -> str:
        if self._asks_password:
            return "Password: "
        if self._user is None:
            return f"{self._host_name} login: "
        return f"{self._user}@{self._host_name}:~{'#' if self._user == 'root' else '$'} "

    def _entered(self, line: str) -> str:
        if self._user is None:
            if line:
                self._user, self._asks_password = line[:32], True
            return self._prompt()
        if self._asks_password:
            self._asks_password = False
            return f"\r\nThis system is simulated, and takes any password. Try: help\r\n{self._prompt()}"
        answer = self._answer(line)
        shown = f"{answer}\r\n" if answer else ""
        return shown + (self.greeting().decode() if self._user is None else self._prompt())

    def _answer(self, line: str) -> str:
        command, _, rest = line.partition(" ")
        if command in ("exit", "logout"):
            self._user = None
            return "logout"
        if command == "echo":
            return rest.strip()
        if command == "uname":
            full = f"Linux {self._host_name} {KERNEL} #1 SMP x86_64 GNU/Linux"
            return {"": "Linux", "-a": full, "-n": self._host_name, "-r": KERNEL}.get(rest.strip(), "Linux")
        fixed = {
            "": "",
            "clear": "\x1b[H\x1b[2J",
            "help": " ".join(COMMANDS),
            "hostname": self._host_name,
            "whoami": self._user or "",
        }
        if command in fixed:
            return fixed[command]
        if command == "date":
            return clock.text(self._now())
        if command == "uptime":
            return uptime(self._booted, self._now())
        return f"-sh: {command[:64]}: command not found"


def uptime(booted: int, now: int) -> str:
    days, rest = divmod(max(0, now - booted), clock.DAY)
    hours, minutes = rest // clock.HOUR, rest % clock.HOUR // clock.MINUTE
    since = f"{hours}:{minutes:02}" if hours else f"{minutes} min"
    whole = f"{days} day{'s' if days != 1 else ''}, " if days else ""
    return f" {clock.text(now)[11:19]} up {whole}{since},  1 user,  load average: 0.00, 0.00, 0.00"
