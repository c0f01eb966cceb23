"""New rows are counted when they are committed, no longer by triggers."""

from crofter.db.migrations import run_script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_script(__file__)
