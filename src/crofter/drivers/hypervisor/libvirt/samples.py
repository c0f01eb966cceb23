"""Samples of what machines use up, as they are kept: apart from how they are taken, which needs libvirt."""

from __future__ import annotations

from typing import Any

from crofter.clock import DAY
from crofter.db import Row, query
from crofter.db.sql import bindparam, delete, select
from crofter.drivers.hypervisor.libvirt import tables

PAGE = 5000
"""Samples that are read at once; in between it is seen how long that takes. A month has nine times as many."""
KEPT_LONGER = 275 * DAY
"""Than orders, by milliseconds: customers look at the months of a year."""


class Grown(Row):
    at: int
    grown: Any


class Sample(Row):
    at: int
    since: int
    counters: Any
    grown: Any


_samples = tables.sample.c
_COLUMNS = (_samples.at, _samples.since, _samples.counters, _samples.grown)
_OF = select(*_COLUMNS).where(_samples.domain == bindparam("domain"))
LAST = query(_OF.order_by(_samples.at.desc()).limit(1), Sample)
BETWEEN = query(
    select(_samples.at, _samples.grown)
    .where(_samples.domain == bindparam("domain"), _samples.at > bindparam("start"), _samples.at <= bindparam("stop"))
    .order_by(_samples.at)
    .limit(PAGE),
    Grown,
)
OLD = query(delete(tables.sample).where(_samples.at < bindparam("before")))
