"""Two-factor authentication as it is set up."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.shapes import Body, Moment, Revealed, Secret, View


class TwoFactorSecretView(View):
    """What an authenticator app is given."""

    expiry: Annotated[Moment, Meta(description="Until when the secret can be confirmed.")]
    secret: Revealed[Annotated[str, Meta(description="In base32.", examples=["5FXX6KLACOC33GTC"])]]


class TwoFactorConfirm(Body):
    tfa_code: Secret[
        Annotated[str, Meta(max_length=64, description="The code that the app shows.", examples=["213456"])]
    ]


class TwoFactorScratchView(View):
    """What gets one in without the app."""

    scratch: Revealed[Annotated[str, Meta(description="Good for one login; shown this once.")]]
