"""Cards and payments."""

from __future__ import annotations

from datetime import UTC, datetime

from crofter.context import Context
from crofter.drivers.payments import Card
from crofter.edge.endpoint import Outside
from crofter.errors import Forbidden, Invalid
from crofter.journal import record
from crofter.kinds import Entity
from crofter.money import dollars
from crofter.resources.billing import charging, store
from crofter.resources.billing.listings import PAYMENT
from crofter.resources.billing.shapes import (
    CardBody,
    CardData,
    PaymentCreate,
    PaymentMethodCreate,
    PaymentMethodView,
    PaymentView,
)
from crofter.resources.billing.store import Method

MOST_METHODS = 6
LEAST = 5_000_000
MOST = 2_000_000_000
MOST_OWED = 50_000_000_000
ACCOUNT = Entity("account", None, None, "/v4/account")


def check_card(ctx: Context, card: CardBody, prefix: str = "") -> None:
    from stdnum import luhn  # noqa: PLC0415

    if not luhn.is_valid(card.card_number):
        raise Invalid("Invalid credit card number", field=f"{prefix}card_number")
    now = datetime.fromtimestamp(ctx.now / 1000, UTC)
    if (card.expiry_year, card.expiry_month) < (now.year, now.month):
        raise Invalid("The card has expired", field=f"{prefix}expiry_year")


def add_card(ctx: Context, body: CardBody, *, default: bool) -> int:
    """Hand the card to the gateway, and keep what may be kept of it."""
    kept = charging.gateway(ctx.world).keep(
        Card(body.card_number, body.cvv, body.expiry_month, body.expiry_year), ctx.dice.hex(24)
    )
    if default:
        ctx.db.update(store.payment_method, {"account_id": ctx.account_id}, is_default=False)
    return ctx.db.insert(
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


def replace_card(ctx: Context, body: CardBody) -> None:
    """The card on file becomes this one."""
    check_card(ctx, body)
    ctx.db.delete(store.payment_method, account_id=ctx.account_id, is_default=True)
    add_card(ctx, body, default=True)
    record(ctx, "credit_card_updated", ACCOUNT)


def create_method(ctx: Context, body: PaymentMethodCreate) -> None:
    check_card(ctx, body.data, "data.")
    held = store.methods(ctx)
    if len(held) >= MOST_METHODS:
        raise Invalid(f"An account can have at most {MOST_METHODS} payment methods")
    add_card(ctx, body.data, default=body.is_default or not held)
    record(ctx, "payment_method_add", ACCOUNT)


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


def pay(ctx: Context, body: PaymentCreate, idempotency_key: str | None) -> Outside[PaymentView]:
    whole, _, cents = body.usd.removeprefix("$").partition(".")
    amount = int(whole) * 1_000_000 + int(cents) * 10_000
    owed = store.balance(ctx.db, ctx.account_id)
    if amount < min(LEAST, max(owed, 10_000)):
        raise Invalid("Must be at least 5.00, or the balance if that is less", field="usd")
    if amount > max(MOST, min(owed, MOST_OWED)):
        raise Invalid("Must be at most 2000.00, or the balance if that is more", field="usd")
    if body.payment_method_id is not None:
        method = store.find_method(ctx, body.payment_method_id)
        if method is None:
            raise Forbidden("You do not have permission to access this Payment Method", field="payment_method_id")
    else:
        method = store.default_method(ctx.db, ctx.account_id)
    if method is None:
        raise Invalid("There is no payment method on file.", field="payment_method_id")
    name = f"pay:{ctx.actor.user_id}:{idempotency_key or ctx.dice.hex(32)}"
    key = charging.intend(ctx, ctx.account_id, name, amount, method.id)
    assert key is not None

    world = ctx.world
    return Outside(lambda: charging.ask(world, key), lambda after, outcome: _paid(after, key, outcome))


def _paid(ctx: Context, key: str, outcome: object) -> PaymentView | Invalid:
    number = charging.settle(ctx, key, outcome)  # type: ignore[arg-type]
    if number is None:
        return Invalid("The payment was declined.", field="payment_method_id")
    record(ctx, "payment_submitted", ACCOUNT)
    found = ctx.db.one(PAYMENT, account_id=ctx.account_id, id=number)
    return PaymentView(found.date, found.id, dollars(found.amount))
