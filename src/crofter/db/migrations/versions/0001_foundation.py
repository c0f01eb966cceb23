"""The first schema, frozen as SQL beside this file."""

from crofter.db.migrations import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_script(__file__)
