"""Public StackScripts of the catalogue, which are of no account."""

from crofter.db.migrations import run_script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_script(__file__)
