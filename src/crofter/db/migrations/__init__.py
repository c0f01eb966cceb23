"""How the schema came to be what it is, one revision after another."""

from __future__ import annotations

from pathlib import Path


def run_script(revision: str) -> None:
    """The statements beside the file of a revision, in the words of the database at hand."""
    from alembic import op  # noqa: PLC0415 - it costs more than all the rest of a start

    connection = op.get_bind()
    script = Path(revision).with_suffix(f".{connection.dialect.name}.sql").read_text()
    for statement in script.split("--;"):
        # Said to the driver as it is: a colon in it names no parameter.
        escaped = statement.replace("%", "%%") if connection.dialect.name == "postgresql" else statement
        connection.exec_driver_sql(escaped)
