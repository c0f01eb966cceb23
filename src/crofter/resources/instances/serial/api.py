"""The serial console of an instance."""

from __future__ import annotations

from crofter.context import Context
from crofter.edge.endpoint import NoEvents, endpoint
from crofter.resources.instances.api import TheInstance
from crofter.resources.instances.serial import rules
from crofter.resources.instances.serial.shapes import LishTokenView

TAG = "instances"


@endpoint(
    "POST /v4/compute/instances/{compute_id}/lish_token",
    scope=rules.SCOPE,
    grant="compute:read_write",
    events=NoEvents("a token opens a console and changes nothing"),
)
def create_lish_token(ctx: Context, instance: TheInstance) -> LishTokenView:
    """Create a token with which a web socket joins the serial console of an instance."""
    return LishTokenView(rules.token(ctx, instance))
