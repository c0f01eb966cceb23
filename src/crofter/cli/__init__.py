"""The command line: ``crofter serve | work | migrate | admin | config | login | openapi``, and the client's."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from typing import Any

from crofter import SPEC_VERSION, __version__
from crofter.cli import admin
from crofter.client import main as client
from crofter.client.exits import guarded

SERVER = (
    ("serve", "serve the interface"),
    ("work", "run operations only, on the same PostgreSQL database"),
    ("migrate", "bring the database to this release's schema"),
    ("admin", "accounts, users, tokens and keys, on the database itself"),
    ("config", "show the settings in force"),
    ("health", "say whether the server on this machine is ready"),
    ("openapi", "print the OpenAPI description of the interface"),
)
SIGNING = (("login", "sign in with a browser"), ("logout", "sign out again"))
FLAGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--host", {"help": "address to listen on (127.0.0.1)"}),
    ("--port", {"type": int, "help": "port to listen on (8420); 0 takes a free one"}),
    ("--data", {"help": "folder of the embedded database (./data); :memory: keeps nothing"}),
    ("--database", {"help": "postgresql://… instead of the embedded database"}),
    ("--driver", {"help": "hypervisor driver: simulated, or libvirt for real machines (simulated)"}),
    ("--mode", {"choices": ("sandbox", "production"), "help": "sandbox is the default on a loopback address"}),
    ("--role", {"choices": ("all", "api", "worker"), "help": "what this process does (all)"}),
    ("--workers", {"type": int, "help": "API processes; more than one needs PostgreSQL"}),
    ("--metrics-port", {"type": int, "help": "port for metrics and health alone, also of a worker"}),
    ("--config", {"help": "TOML file with settings"}),
    ("--log", {"choices": ("auto", "json", "pretty", "off"), "help": "form of the log on standard error"}),
)

SETTINGS = tuple(flag.removeprefix("--").replace("-", "_") for flag, _ in FLAGS)


def parser() -> argparse.ArgumentParser:
    built = argparse.ArgumentParser(prog="crofter", description="A cloud of your own: accounts, bills and machines.")
    built.add_argument("--version", action="version", version=f"crofter {__version__} (interface {SPEC_VERSION})")
    commands = built.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, words in SERVER[:3]:
        command = commands.add_parser(name, help=words, description=words)
        for flag, options in FLAGS:
            command.add_argument(flag, **options)
        if name == "serve":
            command.add_argument(
                "--seed", dest="seed_file", metavar="FILE", help="YAML or JSON of accounts that the first start makes"
            )
            command.add_argument("--dialect", metavar="FILE", help="TOML of another word for the interface")
            command.add_argument("--print-json", action="store_true", help="say where it serves as one line of JSON")
            command.add_argument("--container", action="store_true", help="serve a sandbox if there are no settings")
            command.add_argument("--stop-with-stdin", action="store_true", help="stop when standard input ends")
    admin.describe(commands.add_parser("admin", help=dict(SERVER)["admin"]))
    for name, words in SIGNING:
        login = commands.add_parser(name, help=words, description=words)
        login.add_argument("--url", help="address of the cloud ($CROFTER_URL, http://127.0.0.1:8420)")
        login.add_argument("--profile", metavar="NAME", help="a profile of the settings file ($CROFTER_PROFILE)")
        if name == "login":
            login.add_argument("--scopes", default="*", help="what the command line may do (*)")
            login.add_argument("--no-browser", action="store_true", help="print the address instead of opening it")
    config = commands.add_parser("config", help=dict(SERVER)["config"])
    shown = config.add_subparsers(dest="verb", required=True, metavar="VERB").add_parser("show", help="print them")
    for flag, options in FLAGS:
        shown.add_argument(flag, **options)
    shown.add_argument("--origin", action="store_true", help="and where each of them came from")
    shown.add_argument("--json", action="store_true", help="print JSON")
    health = commands.add_parser("health", help=dict(SERVER)["health"], description=dict(SERVER)["health"])
    for flag, options in FLAGS:
        health.add_argument(flag, **options)
    described = commands.add_parser("openapi", help=dict(SERVER)["openapi"])
    described.add_argument("--output", help="file to write it to")
    return built


def overview() -> str:
    groups = (
        ("A cloud of your own", SERVER),
        ("Signing in", SIGNING),
        ("What is in the cloud", client.overview()),
        ("Everything else", client.OVERVIEW),
    )
    listed = "\n\n".join(f"{title}:\n{client.columns(list(lines))}" for title, lines in groups)
    return f"usage: crofter COMMAND [--help]\n\nA cloud of your own: accounts, bills and machines.\n\n{listed}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with the command's code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(guarded(lambda: _run(words, own_process=arguments is None)))


def _run(words: list[str], *, own_process: bool) -> int:
    """Parse first, import later: neither ``--help`` nor the client needs a server."""
    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0 if words else 2
    own = [name for name, _ in (*SERVER, *SIGNING)]
    if words[0] == "__complete" and words[1:2] and words[1] in own and words[2:]:
        from crofter.cli import completing  # noqa: PLC0415

        print("\n".join(completing.candidates(parser(), words[1:])))
        return 0
    if words[0] not in (*own, "--version"):
        return client.run(words, own)
    if own_process:
        gc.disable()  # imported objects stay: collections would cost a tenth of the start
    asked = vars(parser().parse_args(words))
    command = asked.pop("command")
    if command == "openapi":
        from crofter.cli.openapi import write  # noqa: PLC0415

        write(asked["output"])
        return 0
    if command in ("login", "logout"):
        from crofter.cli import login  # noqa: PLC0415

        return login.login(**asked) if command == "login" else login.logout(**asked)
    if command == "config":
        from crofter.cli import settings as shown_settings  # noqa: PLC0415

        flags = {name: asked.get(name) for name in SETTINGS}
        return shown_settings.show(flags, origin=asked["origin"], json=asked["json"])
    return _with_settings(command, asked)


def _with_settings(command: str, asked: dict[str, Any]) -> int:
    """Run a command that needs the settings of the server."""
    from crofter.config import SettingsError, complaints, load  # noqa: PLC0415

    if command == "work":
        asked["role"] = "worker"
    flags = {name: asked.get(name) for name in (*SETTINGS, "role", "seed_file", "dialect")}
    environ, sandbox_key = dict(os.environ), None
    if asked.get("container") or command == "health":  # reads the settings of a container as the server does
        from crofter.cli import container  # noqa: PLC0415

        environ = container.completed(os.environ)
        sandbox_key = container.made_key(os.environ, environ)
    try:
        settings = load(flags, environ)
    except SettingsError as error:
        sys.exit(f"crofter: {error}")
    if command == "health":
        from crofter.cli import health  # noqa: PLC0415

        return health.check(settings)
    if command == "admin":
        for line in complaints(os.environ):
            print(f"crofter: {line}", file=sys.stderr)
        from crofter.cli import admin_commands  # noqa: PLC0415

        return admin_commands.run(settings, asked)
    from crofter.cli import serve  # noqa: PLC0415

    if command == "migrate":
        return serve.migrate(settings)
    if asked.get("stop_with_stdin"):
        serve.stop_with_stdin()
    if sandbox_key is not None:
        print(f"sandbox key, for the header X-Sandbox-Key: {sandbox_key}", flush=True)
    return serve.serve(settings, lambda: load(flags, environ), print_json=asked.get("print_json", False))
