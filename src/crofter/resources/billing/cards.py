"""Cards of sandbox accounts, and their mishaps."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter import clock
from crofter.context import Runtime
from crofter.db import Session
from crofter.drivers.payments import SimulatedGateway
from crofter.errors import Invalid
from crofter.faults import FaultKind
from crofter.resources.account import store as accounts
from crofter.resources.billing import store
from crofter.shapes import Body

SHOWN = {"valid": ("sim_card_", "1111"), "declined": ("sim_declined_", "0002")}


def give(runtime: Runtime, db: Session, euuid: str, card: str) -> None:
    """A card on file from the start: one that can be charged, one that cannot, or none."""
    account = accounts.by_euuid(db, euuid)
    if card == "none" or account is None or not runtime.payments.takes_payments:
        return
    prefix, last_four = SHOWN[card]
    moment = clock.text(runtime.clock.now())
    db.insert(
        store.payment_method,
        account_id=account.id,
        type="credit_card",
        is_default=True,
        token=prefix + runtime.rng.hex(24),
        card_type="Visa",
        last_four=last_four,
        expiry=f"12/{int(moment[:4]) + 5}",
        created=moment,
    )


class CardDeclined(Body):
    euuid: str
    times: Annotated[int, Meta(ge=1, le=1000)] = 1


def _decline(runtime: Runtime, body: CardDeclined) -> None:
    with runtime.database.read() as db:
        if accounts.by_euuid(db, body.euuid) is None:
            raise Invalid("euuid is not valid", field="euuid")
    gateway = runtime.payments
    if not isinstance(gateway, SimulatedGateway):
        raise Invalid("Only the simulated gateway can be made to decline", field="kind")
    gateway.decline_next(body.euuid, body.times)


def _clear(runtime: Runtime) -> None:
    gateway = runtime.payments
    if isinstance(gateway, SimulatedGateway):
        gateway.clear_faults()


CARD_DECLINED = FaultKind("card_declined", CardDeclined, _decline, clear=_clear, same=("euuid",))
