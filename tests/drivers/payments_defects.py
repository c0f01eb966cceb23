"""Gateways with one defect each, to prove that the contract's checks can fail."""

from __future__ import annotations

import itertools
from typing import ClassVar

from crofter.drivers.payments import Card, InDoubt, KeptCard, Outcome, Staged
from tests.drivers.payments_harness import Wired

_again = itertools.count()


class _ChargesTwice(Wired):
    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        return super().charge(f"{key}#{next(_again)}", customer, token, cents)


class _ForgetsTheKey(Wired):
    """Forgets keys when the process ends."""

    _known: dict[str, Outcome]

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        self.__dict__.setdefault("_known", {})
        if key not in self._known:
            self._known[key] = super().charge(f"{key}#{next(_again)}", customer, token, cents)
        return self._known[key]


class _TakesALostAnswerForDeclined(Wired):
    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        try:
            return super().charge(key, customer, token, cents)
        except InDoubt:
            return Outcome(paid=False, reason="The card was declined.")


class _TakesALostAnswerForPaid(Wired):
    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        try:
            return super().charge(key, customer, token, cents)
        except InDoubt:
            return Outcome(paid=True)


class _TakesSilenceForNotFound(Wired):
    def find(self, key: str) -> Outcome | None:
        try:
            return super().find(key)
        except InDoubt:
            return None


class _TakesUnknownForDeclined(Wired):
    def find(self, key: str) -> Outcome | None:
        return super().find(key) or Outcome(paid=False, reason="The card was declined.")


class _SaysItIsOff(Wired):
    """Reports a cancellation without doing it."""

    def call_off(self, key: str) -> Outcome:
        return super().find(key) or Outcome(paid=False)


class _CallsOffWhatWasPaid(Wired):
    def call_off(self, key: str) -> Outcome:
        super().call_off(key)
        return Outcome(paid=False)


class _OneChargePerCustomer(Wired):
    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        return super().charge(customer, customer, token, cents)


class _TellsTheNumber(Wired):
    def keep(self, card: Card, key: str) -> KeptCard:
        return super().keep(card, f"{key}-{card.number}")


class _KeepsACardTwice(Wired):
    def keep(self, card: Card, key: str) -> KeptCard:
        return super().keep(card, f"{key}-{next(_again)}")


class _NeverDeclines(Wired):
    _tokens: ClassVar[str] = "sim_card_"

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        return super().charge(key, customer, self._tokens + token, cents)


class _StagesAnew(Wired):
    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        return super().stage(f"{key}-{next(_again)}", customer, cents, redirect_url, cancel_url)


class _MovesMoneyWhenStaging(Wired):
    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        super().charge(f"stage-{key}", customer, "sim_card_", cents)
        return super().stage(key, customer, cents, redirect_url, cancel_url)


class _TakesALostStageForStaged(Wired):
    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        try:
            return super().stage(key, customer, cents, redirect_url, cancel_url)
        except InDoubt:
            return Staged("PAY-UNKNOWN", "EC-UNKNOWN")


class _ExecutesTwice(Wired):
    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        return super().charge(f"{key}#{next(_again)}", customer, "sim_card_", cents)


class _ExecutesOncePerKey(Wired):
    """Without a look at what was staged."""

    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        return super().charge(key, customer, "sim_card_", cents)


class _AsksNoPayer(Wired):
    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        return super().execute(key, customer, payment_id, "anybody", cents)


class _TakesALostExecutionForDeclined(Wired):
    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        try:
            return super().execute(key, customer, payment_id, payer_id, cents)
        except InDoubt:
            return Outcome(paid=False, reason="The payment was declined.")


class _ExecutesWhatIsOff(Wired):
    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        return super().execute(f"{key}-execute", customer, payment_id, payer_id, cents)


DEFECTS: dict[str, tuple[type[Wired], str]] = {
    "charges_twice": (_ChargesTwice, "the_same_key_is_the_same_charge"),
    "forgets_the_key": (_ForgetsTheKey, "a_key_is_known_to_who_comes_later"),
    "takes_a_lost_answer_for_declined": (_TakesALostAnswerForDeclined, "a_lost_answer_is_a_doubt_and_is_looked_up"),
    "takes_a_lost_request_for_paid": (_TakesALostAnswerForPaid, "a_lost_request_is_a_doubt_and_nothing_is_found"),
    "takes_silence_for_not_found": (_TakesSilenceForNotFound, "who_cannot_look_does_not_guess"),
    "takes_unknown_for_declined": (_TakesUnknownForDeclined, "a_lost_request_is_a_doubt_and_nothing_is_found"),
    "only_says_that_it_is_off": (_SaysItIsOff, "what_was_called_off_never_arrives"),
    "calls_off_what_was_paid": (_CallsOffWhatWasPaid, "what_has_arrived_cannot_be_called_off"),
    "takes_one_charge_for_another": (_OneChargePerCustomer, "other_keys_are_other_charges"),
    "tells_the_number": (_TellsTheNumber, "a_card_comes_back_as_a_token_that_does_not_tell_its_number"),
    "keeps_a_card_twice": (_KeepsACardTwice, "a_card_that_is_kept_twice_under_one_key_is_one_card"),
    "stages_anew": (_StagesAnew, "a_payment_is_staged_once_under_its_key_and_moves_nothing"),
    "moves_money_when_staging": (_MovesMoneyWhenStaging, "a_payment_is_staged_once_under_its_key_and_moves_nothing"),
    "takes_a_lost_stage_for_staged": (_TakesALostStageForStaged, "a_lost_answer_to_staging_is_a_doubt"),
    "executes_twice": (_ExecutesTwice, "a_staged_payment_is_executed_once_under_its_key"),
    "executes_once_per_key": (_ExecutesOncePerKey, "a_staged_payment_is_executed_once_under_any_key"),
    "executes_for_ten_at_once": (_ExecutesOncePerKey, "ten_who_execute_one_payment_under_ten_keys_at_once_pay_once"),
    "executes_what_was_not_staged": (_ExecutesOncePerKey, "what_was_not_staged_like_this_is_not_executed"),
    "asks_no_payer": (_AsksNoPayer, "a_payer_who_is_unwilling_pays_nothing"),
    "takes_a_lost_execution_for_declined": (
        _TakesALostExecutionForDeclined,
        "a_lost_answer_to_executing_is_a_doubt_and_is_looked_up",
    ),
    "executes_what_is_off": (_ExecutesWhatIsOff, "what_was_called_off_is_never_executed"),
    "never_declines": (_NeverDeclines, "a_declined_card_moves_nothing_and_stays_declined_under_its_key"),
}
