"""What whoever runs the hosts does: sees whether they and the books agree. Works beside a running server."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from crofter.bootstrap import hypervisor
from crofter.cli.operators import Arguments, Rows
from crofter.context import Runtime
from crofter.resources.instances import sweeping

MEANINGS = {
    "orphans": "on a host, and in no book",
    "missing": "in the books, and on no host",
    "misplaced": "on another host than the books say",
    "stuck": "an instance that nobody is at work on; the server will look at it",
    "unreachable": "a host that does not answer",
}


def reconcile(runtime: Runtime, arguments: Arguments) -> Rows:
    """Only reported. What to do about an orphan is for people to decide."""
    runtime.hypervisor = hypervisor(runtime)
    report = msgspec.structs.asdict(sweeping.compare(runtime))
    return [{"what": name, "which": one, "meaning": MEANINGS[name]} for name in MEANINGS for one in report[name]]


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {"hosts reconcile": reconcile}
