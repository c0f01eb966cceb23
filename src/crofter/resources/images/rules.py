"""Who may read and deploy which image."""

from __future__ import annotations

from crofter.context import Context
from crofter.errors import Forbidden
from crofter.kinds import inaccessible
from crofter.resources.images.store import KIND, Image
from crofter.resources.users import access


def must_be_readable(ctx: Context, image: Image) -> None:
    if not _readable(ctx, image):
        raise Forbidden


def must_be_deployable(ctx: Context, image: Image) -> None:
    """The same, where a body names the image."""
    if not _readable(ctx, image):
        raise inaccessible(KIND, "image")


def _readable(ctx: Context, image: Image) -> bool:
    """The server's images are everybody's; for one of the account's a restricted user needs a grant."""
    return image.is_public or access.permits(ctx, KIND, image.id, "read_only")
