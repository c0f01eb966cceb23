"""The gateway of a server without payments: no card is stored and no charge succeeds."""

from __future__ import annotations

from crofter.drivers.payments.contract import Card, KeptCard, Outcome, Refused, Staged

NOT_TAKEN = "This service takes no payments. Please contact its operator to pay an invoice."
_DECLINED = Outcome(paid=False, reason=NOT_TAKEN)


class NoGateway:
    """Rules check ``takes_payments`` first. The methods serve charges that were begun with another gateway."""

    takes_payments = False

    def keep(self, card: Card, key: str) -> KeptCard:
        raise Refused(NOT_TAKEN)

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        return _DECLINED

    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        raise Refused(NOT_TAKEN)

    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        return _DECLINED

    def find(self, key: str) -> Outcome | None:
        return _DECLINED

    def call_off(self, key: str) -> Outcome:
        return _DECLINED
