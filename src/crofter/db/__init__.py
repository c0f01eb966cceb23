"""The database: SQLAlchemy Core describes tables and statements, the drivers run them."""

from crofter.db.database import Database
from crofter.db.locks import Lock
from crofter.db.opening import open_database
from crofter.db.query import Query, query
from crofter.db.session import Duplicate, Session
from crofter.db.sql import Json, Moment, Sealed, among, json_list, try_lock_account, unindexed
from crofter.db.tables import Flag, Id, Row, Time, identity, metadata, owned, partial_index, table

__all__ = [
    "Database",
    "Duplicate",
    "Flag",
    "Id",
    "Json",
    "Lock",
    "Moment",
    "Query",
    "Row",
    "Sealed",
    "Session",
    "Time",
    "among",
    "identity",
    "json_list",
    "metadata",
    "open_database",
    "owned",
    "partial_index",
    "query",
    "table",
    "try_lock_account",
    "unindexed",
]
