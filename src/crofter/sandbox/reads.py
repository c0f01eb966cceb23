"""Operations that last until their object was read so often: what a caller that polls sees, without any clock."""

from __future__ import annotations

from crofter.context import Runtime
from crofter.db import Row, query
from crofter.db.sql import bindparam, or_, select
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor
from crofter.drivers.hypervisor.simulated.hypervisor import TRANSITIONS
from crofter.engine.tables import operation
from crofter.engine.time_travel import TimeTravel
from crofter.events import event


class UnderWay(Row):
    id: int
    action: str


# A disk event names the disk as a part of its instance; an image created from a disk is not a part.
_PART = event.c.secondary_url.startswith(event.c.entity_url.concat("/"))
_ABOUT = query(
    select(operation.c.id, event.c.action)
    .join(event, event.c.id == operation.c.event_id)
    .where(
        operation.c.account_id == bindparam("account"),
        operation.c.state.in_(("queued", "running", "waiting")),
        or_(event.c.entity_url == bindparam("url"), (event.c.secondary_url == bindparam("url")) & _PART),
    )
    .order_by(operation.c.id),
    UnderWay,
)


class Reads:
    def __init__(self, runtime: Runtime, time_travel: TimeTravel, driver: SimulatedHypervisor) -> None:
        self.on = False
        """True if reads are counted. Cached here, since every read checks it."""
        self._runtime = runtime
        self._time_travel = time_travel
        self._driver = driver
        time_travel.release = self.release_all
        runtime.database.signals.listen(TRANSITIONS, lambda _topic: self.look())
        self.look()

    def look(self) -> None:
        """See whether there is anything to count, since the table was set or everything was put back."""
        self.on = self._driver.counts_reads()

    def ends_now(self, path: str, account_id: int) -> bool:
        """An object was read. Whether an operation on it has come to its end with that."""
        url = "/v4/" + path.strip("/").partition("/")[2]
        ended: set[int] = set()
        # This read shows the next operation of the object too, so it counts for that one.
        while (enough := self._read_enough(url, account_id)) is not None and enough not in ended:
            self._time_travel.finish(enough)
            ended.add(enough)
        return bool(ended)

    def _read_enough(self, url: str, account_id: int) -> int | None:
        """Count one read for the first operation on the object that is about reads; which, if that was enough."""
        with self._runtime.database.read() as db:
            under_way = db.all(_ABOUT, account=account_id, url=url)
        for pending in under_way:
            enough = self._driver.count_read(pending.id, pending.action)
            if enough is not None:
                return pending.id if enough else None
        return None

    def release_all(self) -> list[int]:
        """Let end what waits to be read, when time is moved."""
        return list(self._driver.release_waiting()) if self.on else []
