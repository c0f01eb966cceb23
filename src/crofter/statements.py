"""Write down what all statements are in the words of both databases: ``python -m crofter.statements``.

Done where the package is built or set up, as bytecode is; see ``db/known_statements``.
"""

from __future__ import annotations

import gc
import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, TypeVar

import crofter
from crofter import bootstrap, registry, rotation
from crofter.catalogue import loading
from crofter.db import compiling, known_statements
from crofter.db.collections import Collection
from crofter.db.deferred import digest
from crofter.db.memory_copy import create, rows_of
from crofter.db.query import Query
from crofter.resources.events import store as events

DIALECTS = tuple(compiling.URLS)
UNUSED = ("migrations", "__main__", "pytest_plugin")
"""Modules that hold no statements of a server."""
T = TypeVar("T")


def load_all() -> None:
    """Every module, but those for which something is not installed."""
    for module in pkgutil.walk_packages(crofter.__path__, f"{crofter.__name__}."):
        if not set(UNUSED) & set(module.name.split(".")):
            try:
                import_module(module.name)
            except ImportError as error:
                if (error.name or "").startswith(crofter.__name__):
                    raise


def queries() -> list[Query[Any]]:
    """Return the queries that modules name, and those that are built on first use."""
    load_all()
    made_later = list(_made_later())
    return list({id(query): query for query in (*_alive(Query), *made_later)}.values())


def _made_later() -> Iterator[Query[Any]]:
    yield bootstrap.stored_first_user()
    for offered in registry.CATALOGUE_TABLES:
        yield loading.known_rows(offered.table, offered.slug)
        yield loading.unplaced(offered.table)
        yield create(offered.table)
        yield rows_of(offered.table, loading.is_offered(offered.table))
    yield from rotation.queries()
    for restricted in (False, True):
        events.reads(restricted=restricted)
    for collection in _alive(Collection):
        yield from collection.statements()


def _alive(kind: type[T]) -> list[T]:
    return [thing for thing in gc.get_objects() if isinstance(thing, kind)]


def write(wanted: Iterable[Query[Any]]) -> None:
    schema = {dialect: compiling.schema(dialect) for dialect in DIALECTS}
    compiled = {digest(each.statement): {dialect: each.compile(dialect) for dialect in DIALECTS} for each in wanted}
    known_statements.write(schema, compiled)


if __name__ == "__main__":
    write(queries())
