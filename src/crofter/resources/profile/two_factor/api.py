"""Two-factor authentication: begin, confirm, end."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import NoEvents, endpoint
from crofter.resources.profile.two_factor import store
from crofter.resources.profile.two_factor.store import TwoFactorConfirm, TwoFactorScratchView, TwoFactorSecretView


@endpoint(
    "POST /v4/profile/tfa-enable",
    scope="account:read_write",
    grant="any",
    events=NoEvents("the confirmation of the secret leaves the event"),
)
def begin_two_factor(ctx: Context) -> TwoFactorSecretView:
    """Make a secret for an authenticator app; it counts once a code of it is confirmed."""
    return store.begin(ctx)


@endpoint("POST /v4/profile/tfa-enable-confirm", scope="account:read_write", grant="any", events=("tfa_enabled",))
def confirm_two_factor(ctx: Context, body: TwoFactorConfirm) -> TwoFactorScratchView:
    """Confirm the secret with a code; logins ask for one from now on."""
    return store.confirm(ctx, body.tfa_code)


@endpoint("POST /v4/profile/tfa-disable", scope="account:read_write", grant="any", events=("tfa_disabled",))
def disable_two_factor(ctx: Context) -> None:
    """Log in without a second factor again."""
    store.disable(ctx)
