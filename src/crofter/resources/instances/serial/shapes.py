"""Response bodies of serial consoles."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.shapes import Revealed, View


class LishTokenView(View):
    """Address and token of an instance's serial console."""

    lish_token: Revealed[
        Annotated[
            str,
            Meta(
                description="Opens the serial console at the web socket /lish/{lish_token} of this server,"
                " within a minute."
            ),
        ]
    ]
