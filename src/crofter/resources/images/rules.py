"""Who may read which image."""

from __future__ import annotations

from crofter.context import Context
from crofter.errors import Forbidden
from crofter.resources.images.store import Image
from crofter.resources.users import access


def must_be_readable(ctx: Context, image: Image) -> None:
    """The house's images are everybody's; one of the account's needs a grant from a restricted user."""
    if not image.is_public and not access.permits(ctx, "image", image.id, "read_only"):
        raise Forbidden
