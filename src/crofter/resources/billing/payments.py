"""Charges: store the intent, call the gateway, store its response."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from crofter import clock
from crofter.context import Context, Runtime
from crofter.db import Row, Session, query
from crofter.db.sql import bindparam, func, select
from crofter.drivers.payments import NOT_TAKEN, InDoubt, Outcome
from crofter.engine import Operation, Sleep, StepContext, enqueue, step
from crofter.errors import Conflict, Invalid, Unavailable
from crofter.events import Author, write
from crofter.money import CENT
from crofter.resources.account import store as accounts
from crofter.resources.billing import store

LEFT_BEHIND = 10 * clock.MINUTE
"""Age at which a pending charge counts as abandoned by its request."""
GIVEN_UP = clock.DAY
"""Age at which the operation of an invoice gives up its charge."""
ASK_AGAIN = 600.0
"""Seconds until a gateway that does not answer is called again."""
TRY_AGAIN = 6 * clock.HOUR
"""Until work about money that was given up is begun anew: what is owed must not be forgotten."""
UNCONFIRMED = "The payment could not be confirmed. It is being looked into; please look again in a while."
UNDER_WAY = "Another payment of this account is under way. Please try again in a moment."


class Args(Struct, frozen=True):
    key: str


class Charge(Row):
    key: str
    account_id: int
    token: str
    payer_id: str | None
    amount: int
    status: str
    payment_id: int | None
    created: int
    euuid: str

    @property
    def name(self) -> str:
        """Return the charge's name at the gateway."""
        return f"{self.euuid}:{self.key}"


_CHARGE = query(
    select(*(store.charge.c[name] for name in Charge.__struct_fields__[:-1]), accounts.account.c.euuid)
    .join(accounts.account, accounts.account.c.id == store.charge.c.account_id)
    .where(store.charge.c.key == bindparam("key")),
    Charge,
)
PENDING = select(func.coalesce(func.sum(store.charge.c.amount), 0)).where(
    store.charge.c.account_id == bindparam("account_id"), store.charge.c.status == "pending"
)
_PENDING = query(PENDING)


def must_be_taken(ctx: Context) -> None:
    """Refuse cards and payments on a server without a payment gateway."""
    if not ctx.runtime.payments.takes_payments:
        raise Invalid(NOT_TAKEN)


def pending(db: Session, account_id: int) -> int:
    """Return the pending amount in micro-dollars."""
    return int(db.value(_PENDING, account_id=account_id))


def intend(
    ctx: Context,
    account_id: int,
    key: str,
    amount: int,
    token: str,
    *,
    payer_id: str | None = None,
    patience: int = LEFT_BEHIND,
) -> str:
    """Store the intent to charge this card, or a staged payment's approver.

    The same key means the same charge.

    An operation looks up the result later, in case its request has died.
    """
    known = ctx.db.maybe(_CHARGE, key=key)
    if known is None:
        values = {"amount": amount, "token": token, "payer_id": payer_id, "status": "pending", "created": ctx.now}
        ctx.db.insert(store.charge, key=key, account_id=account_id, **values)
        enqueue(ctx, FOLLOW_UP, Args(key), due=ctx.now + patience, author=Author(account_id, None, ""))
    elif (known.account_id, known.amount) != (account_id, amount):
        raise Conflict("Idempotency-Key was used with another request", field="Idempotency-Key")
    return key


def status_of(ctx: Context, key: str) -> str | None:
    """Return pending, paid or declined; None for an unknown key."""
    known = ctx.db.maybe(_CHARGE, key=key)
    return None if known is None else known.status


def attempt(ctx: Context, kind: str, name: str, *, lasting: int | None = None) -> str:
    """Return the key of the latest charge for this request, or of a new one if that was declined.

    A charge that is pending or paid answers every repetition; a paid one for ``lasting`` milliseconds, if given.
    Callers choose ``name``, so the number of the attempt is in front of it.
    """
    number = 1
    while True:
        key = f"{kind}:{name}" if number == 1 else f"{kind}.{number}:{name}"
        known = ctx.db.maybe(_CHARGE, key=key)
        forgotten = known is not None and lasting is not None and ctx.now - known.created >= lasting
        if known is None or known.status == "pending" or (known.status == "paid" and not forgotten):
            return key
        number += 1


def intend_balance(ctx: Context, account_id: int, key: str, *, patience: int = LEFT_BEHIND) -> str | None:
    """Intend a charge of the debt that is not pending yet; return None without a debt, a card or a gateway."""
    if not ctx.runtime.payments.takes_payments:
        return None
    owed = store.balance(ctx.db, account_id) - pending(ctx.db, account_id)
    method = store.default_method(ctx.db, account_id)
    if owed <= 0 or method is None:
        return None
    return intend(ctx, account_id, key, owed, method.token, patience=patience)


def submit(runtime: Runtime, key: str) -> Outcome:
    """Charge once, however often this is called. Outside any transaction."""
    with runtime.database.read() as db:
        charge = db.one(_CHARGE, key=key)
    if charge.status != "pending":
        return Outcome(charge.status == "paid")
    try:
        cents = charge.amount // CENT
        if charge.payer_id is not None:
            return runtime.payments.execute(charge.name, charge.euuid, charge.token, charge.payer_id, cents)
        return runtime.payments.charge(charge.name, charge.euuid, charge.token, cents)
    except InDoubt:
        known = look_up(runtime, charge.name)
        if known is None:
            raise Unavailable(UNCONFIRMED) from None
        return known


def look_up(runtime: Runtime, name: str) -> Outcome | None:
    """Return the result of a charge; None if the gateway does not answer or does not know it."""
    try:
        return runtime.payments.find(name)
    except InDoubt:
        return None


def record_outcome(ctx: Context, key: str, outcome: Outcome, user: Author | None = None) -> int | None:
    """Write down what the gateway said, once; the payment's number if money moved."""
    charge = ctx.db.one(_CHARGE, key=key)
    if charge.status != "pending":
        return charge.payment_id
    if not outcome.paid:
        ctx.db.update(store.charge, {"key": key}, status="declined")
        return None
    number = ctx.db.insert(
        store.payment, account_id=charge.account_id, date=ctx.moment, amount=charge.amount, reference=charge.name
    )
    ctx.db.update(store.charge, {"key": key}, status="paid", payment_id=number)
    legs = {"owed": -charge.amount, "bank": charge.amount}
    store.post(ctx.db, charge.account_id, f"payment:{number}", ctx.moment, legs)
    author = user or Author(charge.account_id, None, "")
    write(ctx.db, ctx.now, author, "payment_submitted", "notification", accounts.ENTITY)
    return number


# recovery after a crash


@step(retries=50)
def look_after(work: StepContext) -> Sleep | None:
    """Cancel a charge that never arrived at the gateway, so that it cannot arrive later."""
    with work.read() as ctx:
        charge = ctx.db.maybe(_CHARGE, key=work.args.key)
    if charge is None or charge.status != "pending":
        return None
    try:
        outcome = work.runtime.payments.call_off(charge.name)
    except InDoubt:
        return Sleep(ASK_AGAIN)
    work.then(partial(_record, charge.key, outcome))
    return None


def _record(key: str, outcome: Outcome, ctx: Context) -> None:
    record_outcome(ctx, key, outcome)


def given_up(ctx: Context, work: StepContext, _reason: str) -> None:
    """Retry later: a charge with an unknown result blocks payments and the closing of the account."""
    enqueue(ctx, FOLLOW_UP, work.args, due=ctx.now + TRY_AGAIN)


FOLLOW_UP = Operation(
    kind="billing.follow_up", args=Args, steps=(look_after,), queue="billing", failed=given_up, keep=False
)
