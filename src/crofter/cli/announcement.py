"""Announcement of a server that listens: text for a person, or one line of JSON for a program."""

from __future__ import annotations

import socket

import msgspec
from msgspec import Struct

from crofter import __version__
from crofter.assembly import Application
from crofter.bootstrap import FirstLogin
from crofter.config import Settings


class Announced(Struct, frozen=True):
    """The line of ``--print-json``. What was not made at this start is null."""

    url: str
    username: str | None
    password: str | None
    token: str | None
    pid: int
    mode: str


def store_of(settings: Settings) -> str:
    if settings.database is not None:
        return "PostgreSQL"
    return "SQLite, nothing is kept" if settings.folder is None else f"SQLite in {settings.data}"


def for_programs(application: Application, listening: socket.socket, pid: int) -> str:
    settings, login = application.runtime.settings, application.first_login
    announced = Announced(
        url=_address(settings, listening),
        username=login.username if login else None,
        password=login.password if login else None,
        token=login.token if login else None,
        pid=pid,
        mode=settings.mode or "",
    )
    return msgspec.json.encode(announced).decode()


def for_people(application: Application, listening: socket.socket, metrics_port: int | None = None) -> str:
    """Return the address, the first login and the next steps as text."""
    settings = application.runtime.settings
    address = reached_at(_address(settings, listening))
    lines = [
        f"crofter {__version__} serves on {address} ({settings.mode}, {store_of(settings)})",
        f"  docs      {address}/docs",
        f"  console   {address}/console/",
    ]
    if metrics_port is not None:
        lines.append(f"  metrics   http://{settings.metrics_host}:{metrics_port}/metrics")
    login = application.first_login
    if login is not None:
        lines += _login_lines(login, address)
    elif settings.sandbox:
        key = "" if settings.sandbox_key is None else " -H 'X-Sandbox-Key: …'"
        lines.append(
            f"another token:  curl -d '{{\"username\": \"admin\"}}' -H 'Content-Type: application/json'{key} "
            f"{address}/_sandbox/tokens"
        )
    return "\n".join(lines)


def reached_at(address: str) -> str:
    """Return an address that a person on this machine can open, where the server listens on every address."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _login_lines(login: FirstLogin, address: str) -> list[str]:
    return [
        f"  user      {login.username}",
        f"  password  {login.password}",
        f"  token     {login.token}",
        f'try:  curl -H "Authorization: Bearer {login.token}" {address}/v4/account/events',
    ]


def _address(settings: Settings, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    scheme = "https" if settings.tls_certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
