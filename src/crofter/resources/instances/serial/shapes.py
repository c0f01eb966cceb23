"""What lets its holder join a serial console."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.shapes import Revealed, View


class LishTokenView(View):
    """What opens the serial console of one instance."""

    lish_token: Revealed[
        Annotated[
            str,
            Meta(
                description="Opens the serial console at the web socket /lish/{lish_token} of this server,"
                " within a minute."
            ),
        ]
    ]
