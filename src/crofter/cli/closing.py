"""``crofter admin accounts close``."""

from __future__ import annotations

from collections.abc import Callable

from crofter.bootstrap import hypervisor
from crofter.cli.operators import Arguments, Rows, on_record
from crofter.cli.suspending import account_of
from crofter.context import Context, Runtime
from crofter.errors import Invalid
from crofter.money import to_the_cent
from crofter.resources.account import store as accounts
from crofter.resources.billing import invoices
from crofter.resources.billing import store as billing
from crofter.resources.closing import rules as closing


def _close(runtime: Runtime, arguments: Arguments) -> Rows:
    """Close the account as its owner would, without a charge to the card: the debt stays on the last invoice."""
    runtime.hypervisor = hypervisor(runtime)  # needed for traffic that is not billed yet
    with runtime.database.read() as db:
        account = account_of(db, arguments["euuid"])
        periods = invoices.final_periods(Context.of_system(runtime, db, account.id), account.id)
    with runtime.database.write() as db:
        db.lock_account(account.id)
        if accounts.by_id(db, account.id).closed:
            raise Invalid(f"account {account.euuid} is closed already")
        ctx = Context.of_system(runtime, db, account.id)
        made = invoices.make_final(ctx, account.id, periods)
        closing.close_now(ctx, periods[-1].until)
        for number in made:
            invoices.tell(ctx, account.id, number)
        owed = billing.balance(db, account.id)
        on_record(ctx, arguments, account.id, "/v4/account/cancel")
    return [{"closed": account.euuid, "owed": to_the_cent(owed)}]


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {"accounts close": _close}
