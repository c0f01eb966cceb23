"""Argument parser of ``crofter admin``. Light to import: the commands themselves are in ``admin_commands``."""

from __future__ import annotations

import argparse
import os
from typing import Any

PLACES: tuple[tuple[str, str], ...] = (
    ("--data", "folder of the embedded database (./data)"),
    ("--database", "postgresql://… instead of the embedded database"),
    ("--config", "TOML file with settings"),
)
Argument = tuple[str, dict[str, Any]]

COMMANDS: dict[str, tuple[str, tuple[Argument, ...]]] = {
    "accounts create": (
        "open an account with one unrestricted user, who is sent an invitation",
        (("username", {}), ("email", {})),
    ),
    "accounts list": ("list all accounts", ()),
    "accounts suspend": ("let nobody of an account in; its machines run on", (("euuid", {}),)),
    "accounts resume": ("let them in again", (("euuid", {}),)),
    "accounts close": ("close an account, whatever it owes, and remove what it has", (("euuid", {}),)),
    "accounts credit": ("lower what an account owes", (("euuid", {}), ("amount", {"help": "in dollars, as 12.50"}))),
    "accounts refund": (
        "write down that money of a payment was given back; the gateway is not asked",
        (("id", {"type": int, "help": "the payment"}), ("amount", {"help": "in dollars, as 12.50"})),
    ),
    "users create": (
        "add a user to the account of another one, and send an invitation",
        (
            ("username", {}),
            ("email", {}),
            ("--beside", {"required": True, "metavar": "USERNAME", "help": "a user of the same account"}),
            ("--restricted", {"action": "store_true", "help": "may do nothing until it is granted"}),
        ),
    ),
    "users list": ("list all users", ()),
    "users delete": ("remove a user, with its tokens and sessions", (("username", {}),)),
    "users reset-two-factor": ("turn off the second factor of who has lost it", (("username", {}),)),
    "users set-password": (
        "set a password, read from the terminal or from standard input",
        (("username", {}), ("--generate", {"action": "store_true", "help": "make one and print it"})),
    ),
    "tokens create": (
        "make a token and print it",
        (
            ("username", {}),
            ("--scopes", {"default": "*", "help": "what it may do (*)"}),
            ("--label", {"default": "made by the operator"}),
            ("--days", {"type": int, "help": "how long it lasts; for ever, if not said"}),
        ),
    ),
    "tokens list": ("list tokens, of all users or of one", (("--user", {"metavar": "USERNAME"}),)),
    "tokens revoke": ("end a token", (("id", {"type": int}),)),
    "mails list": ("show what the outbox holds, newest first", ()),
    "tickets list": (
        "list open tickets of all accounts",
        (("--all", {"action": "store_true", "help": "closed ones too"}),),
    ),
    "tickets show": ("show a ticket and its replies", (("id", {"type": int}),)),
    "tickets answer": (
        "reply to a ticket; the customer is told by mail",
        (
            ("id", {"type": int}),
            ("text", {"help": "the answer, or - to read it from standard input"}),
            ("--close", {"action": "store_true", "help": "and close it"}),
        ),
    ),
    "tickets close": ("close a ticket", (("id", {"type": int}),)),
    "tickets open": (
        "open a ticket that only the staff can close",
        (
            ("euuid", {"help": "the account"}),
            ("summary", {}),
            ("text", {"help": "what the matter is, or - to read it from standard input"}),
            ("--nature", {"choices": ("important", "abuse"), "default": "important"}),
            ("--compute", {"type": int, "metavar": "ID", "help": "the instance that it is about"}),
        ),
    ),
    "tickets save": (
        "save an attached file",
        (("id", {"type": int}), ("filename", {}), ("--to", {"required": True, "metavar": "FILE"})),
    ),
    "managed services": (
        "list monitored services of all accounts",
        (("--problems", {"action": "store_true", "help": "only those that are down"}),),
    ),
    "managed credentials": ("list the credentials of an account", (("euuid", {}),)),
    "managed decrypt": ("show what a credential holds; this is put on record", (("id", {"type": int}),)),
    "managed ssh-key": ("print the private key of an account; this is put on record", (("euuid", {}),)),
    "managed disable": ("end managed service for an account", (("euuid", {}),)),
    "maintenance schedule": (
        "announce maintenance of an instance, and do it when its time has come",
        (
            ("compute_id", {"type": int, "help": "the instance"}),
            ("when", {"help": "service time, as 2030-12-31T23:00:00 (UTC)"}),
            ("reason", {"help": "what its owner is told"}),
            ("--type", {"choices": ("reboot", "cold_migration", "live_migration"), "default": "reboot"}),
        ),
    ),
    "maintenance list": ("list what is scheduled or under way", ()),
    "maintenance cancel": ("call off what has not begun", (("id", {"type": int}),)),
    "operations list": (
        "list operations that have not ended or have failed, the latest first",
        (("--state", {"choices": ("queued", "running", "waiting", "done", "failed", "cancelled")}),),
    ),
    "operations retry": ("do an operation now that waits for its next try", (("id", {"type": int}),)),
    "operations cancel": ("end an operation, or let it stop at its next step", (("id", {"type": int}),)),
    "hosts add": (
        "add a host for real machines",
        (
            ("region", {}),
            ("uri", {"help": "qemu+tls://host/system?pkipath=…, or qemu:///session"}),
            ("--pool", {"default": "/var/lib/libvirt/images/crofter", "help": "folder on the host for disks"}),
            ("--volumes", {"metavar": "FOLDER", "help": "folder that all hosts of the region share, for volumes"}),
            ("--network", {"default": "user", "help": "user, or bridge:NAME (user)"}),
            ("--resolvers", {"metavar": "A,B", "help": "addresses that guests on a bridge ask for names"}),
            ("--vlans", {"metavar": "FIRST-LAST", "help": "tags that VLANs of tenants may have on the bridge"}),
            ("--forward", {"type": int, "metavar": "PORT", "help": "user network: SSH of instance N on PORT+N"}),
            ("--memory", {"type": int, "metavar": "MB", "help": "for machines (nine tenths of what there is)"}),
            ("--disk", {"type": int, "metavar": "MB", "required": True, "help": "for disks, backups and images"}),
            ("--allow-emulation", {"action": "store_true", "help": "also without KVM, which keeps no tenants apart"}),
        ),
    ),
    "hosts list": ("list hosts, and whether they answer", ()),
    "hosts drain": (
        "move the running machines of a host to others, shut down the rest, and start none, until it is over",
        (
            ("id", {"type": int}),
            ("--over", {"action": "store_true", "help": "start those again that were shut down"}),
            ("--shut-down", {"action": "store_true", "help": "move none: all come on again here, when it is over"}),
        ),
    ),
    "hosts fence": (
        "declare a host dead: its instances show offline and cost nothing any more",
        (("id", {"type": int}), ("--is-off", {"action": "store_true", "help": "the machine is off, and stays so"})),
    ),
    "hosts remove": (
        "take a host out of the fleet on which nothing is left",
        (
            ("id", {"type": int}),
            (
                "--lost",
                {"action": "store_true", "help": "a host declared dead, with the disks, backups and images there"},
            ),
        ),
    ),
    "hosts certificate": (
        "make the certificates for the line to a host",
        (("name", {"help": "name or address of the host"}), ("--to", {"required": True, "metavar": "FOLDER"})),
    ),
    "addresses add": (
        "give a region a network of its own; its public addresses are of such networks alone from then on",
        (
            ("region", {}),
            ("name", {"metavar": "NETWORK", "help": "of any prefix from /16 to /31, such as 203.0.113.0/27"}),
            ("--gateway", {"metavar": "ADDRESS", "help": "way out of the network (its first address)"}),
            ("--range", {"metavar": "FIRST-LAST", "help": "addresses to give out (all but the gateway)"}),
        ),
    ),
    "addresses list": ("list networks of regions, and how many of their addresses are free", ()),
    "addresses remove": (
        "take a network away of which no address is in use",
        (("name", {"metavar": "NETWORK"}),),
    ),
    "addresses whose": (
        "show the account and the machine that have an address now",
        (("name", {"metavar": "ADDRESS", "help": "IPv4, or IPv6; an address of a routed range too"}),),
    ),
    "images import": (
        "take in an image of the catalogue for real machines",
        (
            ("file", {"metavar": "FILE", "help": "qcow2 or raw"}),
            ("--id", {"required": True, "help": "compute/debian12"}),
            ("--sum", {"required": True, "help": "SHA-256 or SHA-512, as its publisher tells it"}),
            ("--architecture", {"choices": ("x86_64", "aarch64"), "default": os.uname().machine}),
        ),
    ),
    "images list": ("list images that were taken in", ()),
    "hosts reconcile": ("report what hosts and the database disagree about; changes nothing", ()),
    "backup": ("write all of the database into a new file", (("file", {"metavar": "FILE"}),)),
    "restore": (
        "put back what a backup holds, with the server stopped",
        (
            ("file", {"metavar": "FILE"}),
            ("--replace", {"action": "store_true", "help": "in the place of a database that is there"}),
        ),
    ),
    "init": ("set up an empty database, and show the first password and token", ()),
    "move": (
        "copy everything from SQLite into an empty PostgreSQL database, with the server stopped",
        (("to", {"metavar": "ADDRESS", "help": "postgresql://… of the new database"}),),
    ),
    "clock show": ("show service time and the machine's clock, and whether service time stands still", ()),
    "clock accept": ("let service time follow a machine's clock that jumped forward by more than a day", ()),
    "clock back": ("put service time back to the machine's clock, with the server stopped", ()),
    "doctor": (
        "say what is wrong with this installation, and what to do",
        (("--mail-to", {"metavar": "ADDRESS", "help": "recipient to offer a mail to; none is sent (the sender)"}),),
    ),
    "rotate-key": ("seal everything anew with a new master key", ()),
    "audit show": (
        "show who did what to an account, the latest last",
        (
            ("euuid", {"help": "the account; server: what concerned none"}),
            ("--last", {"type": int, "default": 50, "metavar": "N", "help": "how many entries (50)"}),
        ),
    ),
    "audit verify": (
        "check that nobody has altered the audit log",
        (("--checkpoint", {"metavar": "FILE", "help": "compare it with a checkpoint that was kept elsewhere"}),),
    ),
    "audit checkpoint": (
        "write down where the audit log of every account ends; keep the file elsewhere",
        (("file", {"metavar": "FILE"}),),
    ),
}


def describe(parser: argparse.ArgumentParser) -> None:
    """Put the commands into the parser, two words deep."""
    groups = parser.add_subparsers(dest="group", required=True, metavar="COMMAND")
    nested: dict[str, Any] = {}
    for name, (words, arguments) in COMMANDS.items():
        group, _, verb = name.partition(" ")
        if not verb:
            command = groups.add_parser(group, help=words, description=words)
            command.set_defaults(verb="")
        else:
            if group not in nested:
                described = groups.add_parser(group, help=", ".join(_verbs(group)))
                nested[group] = described.add_subparsers(dest="verb", required=True, metavar="VERB")
            command = nested[group].add_parser(verb, help=words, description=words)
        for argument, options in arguments:
            command.add_argument(argument, **options)
        for flag, meaning in PLACES:
            command.add_argument(flag, help=meaning)
        command.add_argument("--as", metavar="NAME", help="who you are, for the record; beside your login name")
        command.add_argument("--json", action="store_true", help="print JSON")


def _verbs(group: str) -> list[str]:
    return [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{group} ")]
