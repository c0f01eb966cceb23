"""Cancellation."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import endpoint
from crofter.resources.closing import rules
from crofter.resources.closing.rules import Cancel, Cancelled
from crofter.results import TwoPhaseWrite

TAG = "account"


@endpoint(
    "POST /v4/account/cancel",
    scope="account:read_write",
    grant="unrestricted",
    events=("payment_submitted", "compute_delete", "entity_transfer_cancel"),
    closes_account=True,
)
def cancel_account(ctx: Context, body: Cancel) -> TwoPhaseWrite[Cancelled]:
    """Charge what is owed, remove all services, and close the account."""
    return rules.cancel(ctx, [] if body.comments is None else ["comments"])
