"""``python -m tools.walk``: docs/operating.md done as it is written, on PostgreSQL, with split roles behind a proxy."""
