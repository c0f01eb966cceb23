"""Contact data with the balance, and the traffic of the month."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import asks_hosts, endpoint
from crofter.resources.account import rules as account
from crofter.resources.account.shapes import AccountUpdate
from crofter.resources.billing import standing, traffic
from crofter.resources.billing.shapes import AccountTransfer, AccountView
from crofter.results import ReadAfterCommit

TAG = "account"


@endpoint("GET /v4/account", scope="account:read_only", grant="account:read_only", slow=True)
def view_account(ctx: Context) -> AccountView:
    """View contact and billing data of the account."""
    return standing.view(ctx)


@endpoint(
    "PUT /v4/account",
    scope="account:read_write",
    grant="account:read_write",
    events=("account_update",),
    also=account.complaints,
)
def update_account(ctx: Context, body: AccountUpdate) -> ReadAfterCommit[AccountView]:
    """Change contact and billing data of the account."""
    account.update(ctx, body)
    return ReadAfterCommit(standing.view)


@endpoint("GET /v4/account/transfer", scope="account:read_only", grant="account:read_only", slow=True, weight=10)
@asks_hosts
def view_account_transfer(ctx: Context) -> AccountTransfer:
    """View the traffic of the month over all instances."""
    pool = traffic.pool(ctx, ctx.account_id, ctx.now)
    return AccountTransfer(billable=pool.billable, quota=pool.quota, used=pool.used)
