"""Counting of password tries, so that guessing is slow and strangers cannot lock a user out.

Each address has a few tries per name, and some more for all names; then its waits grow. All addresses together are
slowed to a pace per name, never stopped. Addresses with free tries left for the name have a faster pace of their own:
the owner at a new address is among them, and a guessing client soon is not. A browser that was signed in before, or a
code of the second factor, proves the owner, who then waits for none of the others.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

import msgspec
from msgspec import Struct

from crofter.clock import DAY
from crofter.context import Context
from crofter.login import attempts, known_browsers
from crofter.login.attempts import Pace, Subject
from crofter.login.browser import BrowserRequest
from crofter.login.store import Person
from crofter.resources.profile.two_factor import store as two_factor

_PREFIX = 64
"""Prefix length of an IPv6 network: its user controls all addresses in it."""


class PasswordTry(Struct, frozen=True):
    """Counters of a password try."""

    own: list[Subject]
    """The browser that has been here before, or else this address at this name."""
    today: list[Subject] = []
    """This address at this name within a day. Once its free tries are used up it is one of the others: without this,
    an address would be new to the name again after each pause of a quarter of an hour."""
    address: list[Subject] = []
    newcomers: list[Pace] = []
    others: list[Pace] = []

    def count(self, ctx: Context, person: Person | None, code: str) -> list[Pace]:
        """Count a try, or raise Wait. Return the used steps of the name's pace, to be given back after a success."""
        attempts.count(ctx, self.own + self.address)
        taken = self.newcomers if attempts.free(ctx, self.today) else self.others
        if code and person is not None and two_factor.fits(ctx.runtime, ctx.db, person.id, code):
            taken = []
        attempts.step(ctx, taken)
        return taken

    def touch(self, ctx: Context) -> None:
        attempts.touch(ctx, self.own + self.address)

    def succeeded(self, ctx: Context, taken: list[Pace]) -> None:
        attempts.forget(ctx, self.own + self.today)
        attempts.take_back(ctx, self.address)
        attempts.step_back(ctx, taken)

    def was_no_guess(self, ctx: Context, taken: list[Pace]) -> None:
        """The password was right, and a code is still to come."""
        attempts.take_back(ctx, self.own + self.today + self.address)
        attempts.step_back(ctx, taken)


def at_password(request: BrowserRequest, typed: str, person: Person | None, device_id: int | None) -> PasswordTry:
    """Return the counters for a try at the typed name, whether the user exists or not."""
    runtime = request.runtime
    browser = _browser(request, person, device_id)
    if browser is not None:
        return PasswordTry(attempts.subjects(runtime, "login", browser))
    network = network_of(request.address)
    own = attempts.subjects(runtime, "login", f"user {typed} from {network}")
    today = attempts.subjects(runtime, "login", f"today user {typed} from {network}")
    return PasswordTry(
        own,
        [msgspec.structs.replace(limit, window=DAY) for limit in today],
        attempts.subjects(runtime, "login_address", network),
        attempts.paces(runtime, "login_newcomers", typed),
        attempts.paces(runtime, "login_name", typed),
    )


def at_code(request: BrowserRequest, person: Person) -> list[Subject]:
    """A try at a code. Who gets here knows the password, so codes are few: counted by name, wherever it comes from."""
    who = _browser(request, person, None) or f"user {person.username}"
    return attempts.subjects(request.runtime, "login", f"code {who}")


def network_of(address: str) -> str:
    """Return the network that counts as one address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> (128 - _PREFIX) << (128 - _PREFIX)))


def _browser(request: BrowserRequest, person: Person | None, device_id: int | None) -> str | None:
    if device_id is not None:
        return f"device {device_id}"
    name = known_browsers.name_of(request, person)
    return None if name is None else f"browser {name}"
