"""Networks of regions with their gateways, and the places of IPv6 ranges."""

from crofter.db.migrations import run_script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_script(__file__)
