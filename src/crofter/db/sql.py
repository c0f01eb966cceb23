"""SQLAlchemy's words for tables and statements, remembered instead of carried out.

To a type checker ``from crofter.db.sql import select`` is SQLAlchemy's ``select``. When the program runs it gives a
stand-in that remembers what is done with it: loading SQLAlchemy and building all statements of the server took half of
a start, for SQL that is the same each time. What a statement is in a database's words is known ahead
(``known_statements``); only one that is not, such as a filter's, is carried out.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crofter.db.deferred import Deferred

if TYPE_CHECKING:
    from sqlalchemy import *  # noqa: F403

    from crofter.db.clauses import *  # noqa: F403

OURS = frozenset("Json Moment Sealed among create_table greatest json_list least try_lock_account unindexed".split())
"""The words that are not SQLAlchemy's."""
_words: dict[str, Deferred] = {}


def _word(name: str) -> Any:
    return getattr(import_module("crofter.db.clauses" if name in OURS else "sqlalchemy"), name)


def __getattr__(name: str) -> Deferred:
    """Always the same stand-in for a word."""
    if name.startswith("_"):
        raise AttributeError(name)
    return _words.setdefault(name, Deferred(_word, name))
