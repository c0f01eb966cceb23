"""Making a domain of what another name server has of it. No transaction waits for that server."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crofter.context import Context
from crofter.drivers.probes.addresses import Refused
from crofter.errors import Invalid, Problem, Reason, Unavailable
from crofter.events import record
from crofter.resources.domains import rules, store
from crofter.resources.domains.records import checks
from crofter.resources.domains.records import store as records
from crofter.resources.domains.records.checks import Place, Wanted
from crofter.resources.domains.records.rules import MOST_BYTES
from crofter.resources.domains.shapes import DomainImport, DomainView, rounded
from crofter.resources.users.shapes import email_complaint
from crofter.results import TwoPhaseWrite

if TYPE_CHECKING:
    from crofter.drivers.dns.transfer import Copied, CopiedZone

FIELD = "remote_nameserver"
LONGEST_RECORD_NAME = 100
MOST_PRIORITY = 255
TAGS = (None, "issue", "issuewild", "iodef")


class Unfit(Exception):
    """A record that cannot be kept here. To leave it out would make another domain of it."""


def begin(ctx: Context, body: DomainImport) -> TwoPhaseWrite[DomainView]:
    """Judge what can be judged here; the rest comes after this transaction."""
    from crofter.drivers.dns import transfer  # noqa: PLC0415 - slow to import, rarely used

    reasons = list(rules.about_name(ctx, body.domain))
    try:
        asked = transfer.server(body.remote_nameserver, local=ctx.runtime.settings.sandbox)
    except (Refused, ValueError) as error:
        reasons.append(Reason(f"Must be the name or address of a public name server: {error}", FIELD))
    if reasons:
        raise Invalid.all(reasons)
    rules.must_be_few(ctx)

    def copy() -> CopiedZone | Problem:
        try:
            return transfer.copy(asked, body.domain)
        except transfer.Crowded:
            return Unavailable()
        except transfer.NotCopied as error:
            return Invalid(str(error), field=FIELD)

    return TwoPhaseWrite(copy, lambda after, copied: _conclude(after, body.domain, copied))


def _conclude(ctx: Context, label: str, copied: CopiedZone | Problem) -> DomainView | Problem:
    if isinstance(copied, Problem):
        return copied
    if email_complaint(copied.email) is not None:
        return Invalid("The mail address in the SOA record is none", field=FIELD)
    try:
        wanted = list(_wanted(copied.records, label.lower()).values())
    except Unfit as problem:
        return Invalid(str(problem), field=FIELD)
    size = sum(len(entry.target) for entry in wanted)
    if size > MOST_BYTES:
        return Invalid(rules.LIMIT)
    domain = rules.insert(ctx, label, _settings(copied), size=size)
    for entry in wanted:
        records.insert(ctx, domain.id, entry)
    record(ctx, "dns_zone_import", store.entity(domain.id, domain.label))
    return rules.shown(ctx, domain)


def _wanted(copied: list[Copied], domain: str) -> dict[str, Wanted]:
    """Return the records to keep, by their distinguishing values: duplicates are dropped."""
    wanted: dict[str, Wanted] = {}
    for entry in copied:
        if entry.type == "NS" and not entry.name:
            continue  # the name servers of the domain are ours from now on
        made = _one(entry, domain)
        wanted[records.digest(made)] = made
    names = Counter(made.name.lower() for made in wanted.values())
    for made in wanted.values():
        if made.type == "CNAME" and names[made.name.lower()] > 1:
            raise Unfit(f"CNAME {made.name} does not stand alone")
    return wanted


def _one(copied: Copied, domain: str) -> Wanted:
    service = protocol = None
    if copied.type == "SRV" and copied.name.count(".") >= 1:
        service, protocol = copied.name.split(".")[:2]
    elif copied.type == "SRV":
        raise Unfit(f"SRV {copied.name} names no service")
    wanted = Wanted(
        type=copied.type,
        name=copied.name,
        target=copied.target,
        priority=copied.priority,
        weight=copied.weight,
        port=copied.port,
        service=service,
        protocol=protocol,
        ttl_sec=_seconds(copied.ttl),
        tag=copied.tag,
    )
    made, reasons = checks.completed(wanted, Place(domain), name=copied.name if copied.type == "SRV" else None)
    if len(copied.name) > LONGEST_RECORD_NAME or copied.priority > MOST_PRIORITY or copied.tag not in TAGS:
        raise Unfit(f"{copied.type} {copied.name or '@'} cannot be kept here")
    if reasons:
        raise Unfit(f"{copied.type} {copied.name or '@'}: {reasons[0].reason}")
    return made


def _seconds(sent: int) -> int:
    """A server that says 0 means it; here it would be the default."""
    return rounded(max(1, sent))


def _settings(copied: CopiedZone) -> dict[str, Any]:
    return {
        "type": "master",
        "group_label": "",
        "status": "active",
        "description": "",
        "soa_email": copied.email,
        "master_ips": [],
        "axfr_ips": [],
        "refresh_sec": _seconds(copied.refresh),
        "retry_sec": _seconds(copied.retry),
        "expire_sec": _seconds(copied.expire),
        "ttl_sec": _seconds(copied.minimum),
    }
