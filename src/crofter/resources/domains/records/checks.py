"""Checks of a record by type, before it is compared with the other records of its domain."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from crofter.errors import Reason
from crofter.resources.domains.records.shapes import LONGEST_TARGET
from crofter.resources.domains.shapes import LONGEST_NAME, rounded

CALLER = "[remote_addr]"
_LABEL = re.compile(r"[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?")
_NAME_LABEL = re.compile(r"[a-zA-Z0-9_-]{1,63}")
_ISSUER = re.compile(r"[ -~]*")
_REPORT = re.compile(r"(mailto:[^\s@\"]+@[^\s@\"]+|https?://[^\s\"]+)")
DEFAULT_PROTOCOL = "tcp"
NO_HOST = "Must be a valid host name"


class Wanted(Struct, frozen=True):
    """Wanted values of a record."""

    type: str
    name: str = ""
    target: str = ""
    priority: int = 0
    weight: int = 0
    port: int = 0
    service: str | None = None
    protocol: str | None = None
    ttl_sec: int = 0
    tag: str | None = None


class Place(Struct, frozen=True):
    """Where a record is to be, and from where it was sent."""

    domain: str
    caller: str = ""


def completed(wanted: Wanted, place: Place, *, name: str | None = None) -> tuple[Wanted, list[Reason]]:
    """Return the record in its one form, and the reasons against it. Weight and port of other types stay as sent.

    ``name`` is what an SRV record is called, where it is not made of its service and its protocol alone.
    """
    reasons: list[Reason] = []
    service = protocol = None
    if wanted.type == "SRV":
        wanted = replace(wanted, protocol=_protocol(wanted))
        service, protocol = _prefixed(wanted.service), _prefixed(wanted.protocol)
        shown = name if name is not None else f"{service}.{protocol}"
    else:
        shown = relative(wanted.name, place.domain)
    reasons += _about_name(wanted, shown, place)
    target, complaint = _TARGETS[wanted.type](wanted, place)
    if complaint is not None:
        reasons.append(Reason(complaint, "target"))
    if wanted.type == "MX" and not target and wanted.priority:
        reasons.append(Reason("Must be 0 for a null MX record", "priority"))
    if wanted.type == "SRV":
        reasons += _about_service(wanted)
    if wanted.type == "CAA" and wanted.tag is None:
        reasons.append(Reason("tag is required", "tag"))
    own = {
        "priority": wanted.priority if wanted.type in ("MX", "SRV") else 0,
        "tag": wanted.tag if wanted.type == "CAA" else None,
    }
    made = replace(
        wanted, name=shown, target=target, service=service, protocol=protocol, ttl_sec=rounded(wanted.ttl_sec), **own
    )
    return made, reasons


def relative(name: str, domain: str) -> str:
    """A name as its domain calls it; empty for the domain itself."""
    plain = name.removesuffix(".")
    if name == "@" or plain.lower() == domain.lower():
        return ""
    inside = plain.lower().endswith("." + domain.lower())
    return plain[: -len(domain) - 1] if inside else plain


def renamed(before: Wanted, wanted: Wanted) -> str | None:
    """Return the name of a copied SRV record, which may belong to a name inside the domain."""
    if before.type != "SRV" or wanted.type != "SRV" or before.name.count(".") < 2:
        return None
    return f"{_prefixed(wanted.service)}.{_prefixed(_protocol(wanted))}.{before.name.split('.', 2)[2]}"


def no_port() -> Reason:
    return Reason("port is required", "port")


def in_order(reasons: list[Reason]) -> list[Reason]:
    """In the order of the fields of a record."""
    return sorted(reasons, key=lambda reason: Wanted.__struct_fields__.index(reason.field or "type"))


def _protocol(wanted: Wanted) -> str | None:
    return DEFAULT_PROTOCOL if wanted.protocol is None else wanted.protocol


def _prefixed(word: str | None) -> str | None:
    return "_" + word.removeprefix("_") if word else None


def _about_name(wanted: Wanted, name: str, place: Place) -> Iterator[Reason]:
    if wanted.type == "SRV" and list(_about_service(wanted)):
        return  # said of the words that it is made of
    labels = name.split(".") if name else []
    proper = labels[1:] if labels[:1] == ["*"] else labels
    if not all(_NAME_LABEL.fullmatch(label) for label in proper) or len(name) + len(place.domain) >= LONGEST_NAME:
        yield Reason(NO_HOST, "name")
    elif wanted.type == "CNAME" and not name:
        yield Reason("A CNAME record cannot stand for the domain itself", "name")
    elif wanted.type == "MX" and name and not wanted.target.removesuffix("."):
        yield Reason("Must be empty for a null MX record", "name")


def _about_service(wanted: Wanted) -> Iterator[Reason]:
    for field in ("service", "protocol"):
        word: str | None = getattr(wanted, field)
        if not word:
            yield Reason(f"{field} is required", field)
        elif len(word.removeprefix("_")) > 62 or not _LABEL.fullmatch(word.removeprefix("_")):
            yield Reason("Must be letters, digits, - and _", field)


# ---- targets --------------------------------------------------------------------------------------------------------

Checked = tuple[str, str | None]
"""A target in its one form, and why it cannot be one."""


def _address(version: int) -> Callable[[Wanted, Place], Checked]:
    def check(wanted: Wanted, place: Place) -> Checked:
        sent = place.caller if wanted.target == CALLER else wanted.target
        try:
            address = ipaddress.ip_address(sent)
        except ValueError:
            address = None
        if isinstance(address, ipaddress.IPv6Address) and version == 4:
            address = address.ipv4_mapped or address  # how some servers see a caller that has an IPv4 address
        if address is None or address.version != version or "%" in sent:
            return wanted.target, _required(wanted) or f"Must be a valid IPv{version} address"
        return str(address), None

    return check


def _required(wanted: Wanted) -> str | None:
    return None if wanted.target else "target is required"


def _host(wanted: Wanted, _place: Place) -> Checked:
    host = wanted.target.removesuffix(".")
    return host, _required(wanted) or (None if is_host(host) else NO_HOST)


def is_host(host: str) -> bool:
    """True if the text can be a host name. Digits alone would be an address."""
    labels = host.split(".")
    fits = len(host) <= LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)
    return fits and not labels[-1].isdigit()


def _mail_host(wanted: Wanted, place: Place) -> Checked:
    if wanted.target in ("", "."):
        return "", None  # a null MX: the domain takes no mail
    return _host(wanted, place)


def _service_host(wanted: Wanted, place: Place) -> Checked:
    if wanted.target == ".":
        return ".", None  # the service is decidedly not there
    return _host(wanted, place)


def _text(wanted: Wanted, _place: Place) -> Checked:
    target = wanted.target
    if max(len(target.encode(errors="replace")), len(target.lower().encode(errors="replace"))) > LONGEST_TARGET:
        return target, f"Length must be 1-{LONGEST_TARGET} bytes"
    if "\x00" in target or any("\ud800" <= letter <= "\udfff" for letter in target):
        return target, "Must be text"
    return target, _required(wanted)


def _authority(wanted: Wanted, _place: Place) -> Checked:
    target = wanted.target.strip()
    if not target:
        return target, "target is required"
    if len(target) > LONGEST_TARGET or not _ISSUER.fullmatch(target):
        return target, "Must be plain text"
    if wanted.tag == "iodef":
        return target, None if _REPORT.fullmatch(target) else "Must be a mailto, http or https address"
    issuer = target.partition(";")[0].strip()
    return target, None if not issuer or is_host(issuer) else NO_HOST


_TARGETS: dict[str, Callable[[Wanted, Place], Checked]] = {
    "A": _address(4),
    "AAAA": _address(6),
    "NS": _host,
    "MX": _mail_host,
    "CNAME": _host,
    "TXT": _text,
    "SRV": _service_host,
    "PTR": _host,
    "CAA": _authority,
}
