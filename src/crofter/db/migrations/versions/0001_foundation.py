"""The first schema, frozen as SQL beside this file."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    script = Path(__file__).with_suffix("").with_suffix(f".{dialect}.sql").read_text()
    for statement in script.split("--;"):
        # Said to the driver as it is: a colon in it names no parameter.
        op.get_bind().exec_driver_sql(statement.replace("%", "%%") if dialect == "postgresql" else statement)
