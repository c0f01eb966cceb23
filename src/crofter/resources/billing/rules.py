"""Cards and payments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from crofter import clock
from crofter.context import Context, Runtime
from crofter.db import query
from crofter.db.sql import bindparam, func, select
from crofter.drivers.payments import Card, InDoubt, KeptCard, Outcome, Refused
from crofter.errors import Invalid, Problem, Reason, TooMany, Unavailable
from crofter.events import Author, event, record
from crofter.kinds import inaccessible
from crofter.money import MOST as LARGEST
from crofter.money import micros, to_the_cent
from crofter.resources.account.store import ENTITY
from crofter.resources.billing import payments, store
from crofter.resources.billing.listings import get_payment
from crofter.resources.billing.shapes import (
    CardBody,
    CardData,
    PaymentCreate,
    PaymentMethodCreate,
    PaymentMethodView,
    PaymentView,
)
from crofter.resources.billing.store import Method
from crofter.results import TwoPhaseWrite

MOST_METHODS = 6
MOST_ADDED = 60
"""Cards that can be added in a day."""
MOST_DECLINED = 5
"""Declined payments per hour before a refusal: more suggests testing of stolen cards. Not enforced in a sandbox."""
LEAST = 5_000_000
MOST = 2_000_000_000
MOST_OWED = 50_000_000_000
DECLINED = "The payment was declined."
ADDED = ("payment_method_add", "credit_card_updated")
_ADDED = query(
    select(func.count()).where(
        event.c.account_id == bindparam("account_id"),
        event.c.action.in_(ADDED),
        event.c.created > bindparam("since"),
    )
)
_DECLINED = query(
    select(func.count()).where(
        store.charge.c.account_id == bindparam("account_id"),
        store.charge.c.status == "declined",
        store.charge.c.created > bindparam("since"),
    )
)


# ---- cards ----------------------------------------------------------------------------------------------------------


def card_complaints(ctx: Context, sent: dict[str, Any], _wrong: Set[str], path: str = "") -> Iterator[Reason]:
    """A card is good to the end of its month."""
    now = datetime.fromtimestamp(ctx.now / 1000, UTC)
    month, year = sent.get("expiry_month"), sent.get("expiry_year")
    if year is not None and year < now.year:
        yield Reason("The card has expired", f"{path}expiry_year")
    elif year == now.year and month is not None and month < now.month:
        yield Reason("The card has expired", f"{path}expiry_month")


def method_complaints(ctx: Context, sent: dict[str, Any], wrong: Set[str]) -> Iterator[Reason]:
    yield from card_complaints(ctx, sent.get("data", {}), wrong, "data.")


def replace_card(ctx: Context, body: CardBody) -> TwoPhaseWrite[None]:
    """Replace the card on file."""
    payments.must_be_taken(ctx)
    _must_not_add_many(ctx)
    return TwoPhaseWrite(_keeper(ctx, body), _replaced)


def _replaced(ctx: Context, kept: KeptCard) -> None:
    ctx.db.delete(store.payment_method, account_id=ctx.account_id, is_default=True)
    _add(ctx, kept, default=True)
    record(ctx, "credit_card_updated", ENTITY)


def create_method(ctx: Context, body: PaymentMethodCreate) -> TwoPhaseWrite[None]:
    payments.must_be_taken(ctx)
    _must_have_fewer_methods(ctx)
    _must_not_add_many(ctx)
    return TwoPhaseWrite(_keeper(ctx, body.data), lambda after, kept: _created(after, kept, default=body.is_default))


def _created(ctx: Context, kept: KeptCard, *, default: bool) -> None:
    _must_have_fewer_methods(ctx)  # another one may have come in between
    _add(ctx, kept, default=default or store.default_method(ctx.db, ctx.account_id) is None)
    record(ctx, "payment_method_add", ENTITY)


def _must_have_fewer_methods(ctx: Context) -> None:
    if store.count_methods(ctx) >= MOST_METHODS:
        raise Invalid(f"An account can have at most {MOST_METHODS} payment methods.")


def _must_not_add_many(ctx: Context) -> None:
    if int(ctx.db.value(_ADDED, account_id=ctx.account_id, since=clock.text(ctx.now - clock.DAY))) >= MOST_ADDED:
        raise Invalid(f"At most {MOST_ADDED} payment methods can be added in a day.")


def _keeper(ctx: Context, body: CardBody) -> Callable[[], KeptCard]:
    """The call that gives a card to the gateway. What comes back is all that may be kept of it."""
    card = Card(body.card_number, body.cvv, body.expiry_month, body.expiry_year)
    return partial(_kept, ctx.runtime, card, ctx.rng.hex(24))


def _kept(runtime: Runtime, card: Card, key: str) -> KeptCard:
    try:
        return runtime.payments.keep(card, key)
    except Refused as refused:
        raise Invalid(str(refused)) from None
    except InDoubt:
        raise Unavailable from None


def _add(ctx: Context, kept: KeptCard, *, default: bool) -> None:
    if default:
        ctx.db.update(store.payment_method, {"account_id": ctx.account_id}, is_default=False)
    ctx.db.insert(
        store.payment_method,
        account_id=ctx.account_id,
        type="credit_card",
        is_default=default,
        token=kept.token,
        card_type=kept.card_type,
        last_four=kept.last_four,
        expiry=kept.expiry,
        created=ctx.moment,
    )


def view(method: Method) -> PaymentMethodView:
    data = CardData(method.card_type, method.expiry, method.last_four)
    return PaymentMethodView(method.created, data, method.id, method.is_default, method.type)  # type: ignore[arg-type]


def delete_method(ctx: Context, method: Method) -> None:
    if method.is_default:
        raise Invalid("The default payment method cannot be deleted.")
    ctx.db.delete(store.payment_method, id=method.id)


def make_default(ctx: Context, method: Method) -> None:
    ctx.db.update(store.payment_method, {"account_id": ctx.account_id}, is_default=False)
    ctx.db.update(store.payment_method, {"id": method.id}, is_default=True)


# ---- payments -------------------------------------------------------------------------------------------------------


def pay(ctx: Context, body: PaymentCreate, idempotency_key: str | None) -> TwoPhaseWrite[PaymentView]:
    payments.must_be_taken(ctx)
    amount = payable(ctx, body.usd)
    method = _chosen(ctx, body.payment_method_id)
    must_not_try_out_cards(ctx)
    name = f"{ctx.actor.token_id}:{idempotency_key or ctx.rng.hex(32)}"
    key = payments.attempt(ctx, "pay", name, lasting=clock.DAY)
    payments.intend(ctx, ctx.account_id, key, amount, method.token)
    runtime = ctx.runtime
    return TwoPhaseWrite(lambda: payments.submit(runtime, key), lambda after, outcome: _paid(after, key, outcome))


def payable(ctx: Context, usd: str) -> int:
    """Micro-dollars of an amount, if it may be paid at once."""
    amount = micros(min(Decimal(usd.removeprefix("$")), LARGEST))
    least, most = _bounds(store.balance(ctx.db, ctx.account_id))
    if not least <= amount <= most:
        raise Invalid(f"Must be {to_the_cent(least)}-{to_the_cent(most)}", field="usd")
    return amount


def _bounds(owed: int) -> tuple[int, int]:
    """Return the minimum and maximum of a payment. A debt may always be paid in full."""
    return (owed if 0 < owed < LEAST else LEAST), max(MOST, min(owed, MOST_OWED))


def _chosen(ctx: Context, method_id: int | None) -> Method:
    if method_id is None:
        method = store.default_method(ctx.db, ctx.account_id)
        if method is None:
            raise Invalid("There is no payment method on file.", field="payment_method_id")
        return method
    method = store.find_method(ctx, method_id)
    if method is None:
        raise inaccessible("Payment Method", "payment_method_id")
    return method


def must_not_try_out_cards(ctx: Context) -> None:
    declined = ctx.db.value(_DECLINED, account_id=ctx.account_id, since=ctx.now - clock.HOUR)
    if int(declined) >= MOST_DECLINED and not ctx.runtime.settings.sandbox:
        raise TooMany


def _paid(ctx: Context, key: str, outcome: Outcome) -> PaymentView | Problem:
    number = recorded(ctx, key, outcome)
    return Invalid(DECLINED) if number is None else get_payment(ctx, number).view()


def recorded(ctx: Context, key: str, outcome: Outcome) -> int | None:
    """Store the gateway's result in the caller's name; return the payment's id if money moved."""
    author = Author(ctx.actor.account_id, ctx.actor.user_id, ctx.actor.username)
    return payments.record_outcome(ctx, key, outcome, author)
