"""Stands between the libvirt driver and libvirt, real or in memory: a job ends at a call, or the call fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import pytest

from crofter.drivers.hypervisor.libvirt import tables
from tests.drivers.fake_libvirt.module import Fault, virt
from tests.drivers.harness import DriverCase
from tests.drivers.verbs import VERBS, Ordered, network

from crofter.drivers.hypervisor.libvirt import connections  # isort: skip - once the binding is there

Setup = Callable[[DriverCase], Ordered]
How = Literal["dies", "fails"]
JOBS = "hypervisor job"
"""How the threads of jobs are called. Only their calls count."""
PATIENCE = 120.0
THE_OPERATORS = ("file-", "part")
"""Files of the operator, and parts of them, which are cleared away by their age."""


class Died(BaseException):
    """The process of a job has ended. Nothing that it would do afterwards reaches a host any more."""


class Interrupter:
    def __init__(self) -> None:
        self._at, self._how = 0, "dies"
        self._dead: set[threading.Thread] = set()
        self.calls: list[str] = []
        """Calls of jobs since the interruption was armed."""

    def arm(self, at: int, how: How) -> None:
        """From here on the call with this number, counted from one, is not carried out."""
        self._at, self._how = at, how
        self.calls = []

    def disarm(self) -> None:
        self._at = 0

    def kill(self, threads: Iterable[threading.Thread]) -> None:
        """These are of a process that has ended: no further call of theirs is carried out."""
        self._dead.update(threads)

    @property
    def has_happened(self) -> bool:
        return 0 < self._at <= len(self.calls)

    def reached(self, call: str) -> None:
        thread = threading.current_thread()
        if thread in self._dead:
            raise Died
        if not self._at or not thread.name.startswith(JOBS):
            return
        if self.calls and self.calls[-1] == call:
            return  # polling: the number of calls varies
        self.calls.append(call)
        if len(self.calls) != self._at:
            return
        if self._how == "dies":
            self._dead.add(thread)
            raise Died
        raise Fault("OPERATION_FAILED", "it was made to fail")


class Watched:
    """A libvirt object whose calls are recorded first, as are those of the objects that it returns."""

    def __init__(self, inner: Any, interrupter: Interrupter) -> None:
        self._inner, self._interrupter = inner, interrupter

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*parts: Any) -> Any:
            self._interrupter.reached(name)
            return self._watched(value(*(_inner(part) for part in parts)))

        return call

    def _watched(self, given: Any) -> Any:
        if isinstance(given, list | tuple):
            return type(given)(self._watched(part) for part in given)
        origin = type(given).__module__
        theirs = origin == "libvirt" or origin.startswith("tests.drivers.fake_libvirt")
        return Watched(given, self._interrupter) if theirs else given


def _inner(part: Any) -> Any:
    if isinstance(part, list):
        return [_inner(each) for each in part]
    return part._inner if isinstance(part, Watched) else part


def interrupting(patch: pytest.MonkeyPatch) -> Interrupter:
    """Between all connections that are opened from here on and their hosts."""
    interrupter, usual_open, usual_hook = Interrupter(), virt.open, threading.excepthook
    patch.setattr(connections, "_connections", {})
    patch.setattr(virt, "open", lambda uri: Watched(usual_open(uri), interrupter))
    patch.setattr(threading, "excepthook", lambda about: None if about.exc_type is Died else usual_hook(about))
    return interrupter


def points(count: int, most: int) -> Iterator[int]:
    """Numbers from one to the last, as many of them as are wanted, evenly spread; a single one is in the middle."""
    if most == 1:
        yield (count + 1) // 2
    elif count <= most:
        yield from range(1, count + 1)
    else:
        yield from sorted({1 + place * (count - 1) // (most - 1) for place in range(most)})


def dies(case: DriverCase, interrupter: Interrupter, verb: Setup, at: int) -> bool:
    """A process ends at a call of the verb's job, another one goes on, and all is as it should be.

    Whether the job has come that far.
    """
    ordered, order, doomed = verb(case), case.order(), case.harness.start()
    performer = doomed._performer  # type: ignore[attr-defined]
    performer._beating = True  # stops the heartbeat
    interrupter.arm(at, "dies")
    while not ordered.call(doomed, order).done and not interrupter.has_happened:
        for thread in list(performer._threads.values()):
            thread.join(PATIENCE)
    for thread in list(performer._threads.values()):
        thread.join(PATIENCE)
    happened = interrupter.has_happened
    interrupter.disarm()
    with case.harness.database.write() as db:  # type: ignore[attr-defined]
        db.update(tables.job, {"operation": order.operation}, beat=0)
    case.done(lambda: ordered.call(case.driver, order))
    assert ordered.holds(), f"it does not hold after a death at call {at}"
    return happened


def fails(case: DriverCase, interrupter: Interrupter, verb: Setup, at: int) -> bool:
    """A call of the verb's job fails: then the work has failed, or was done all the same; and all can be removed."""
    ordered, order = verb(case), case.order()
    interrupter.arm(at, "fails")
    ended = case.finish(lambda: ordered.call(case.driver, order))
    happened = interrupter.has_happened
    interrupter.disarm()
    assert ended.failure is not None or ordered.holds(), f"it does not hold after a failure at call {at}"
    return happened


def remove_all(case: DriverCase) -> None:
    """And nothing is left, of these or of what jobs had made for themselves."""
    driver: Any = case.driver
    listed = driver.list()
    for kind in (listed.domains, listed.disks, listed.backups, listed.images, listed.volumes):
        for ref in kind:
            case.remove(ref)
    driver._periodic_work.tidy()
    for entry in driver.hosts():
        client = driver.hosts_client.client(entry.id)
        files = [*client.listed(), *client.listed(volumes=True)]
        assert [name for name in files if not name.startswith(THE_OPERATORS)] == []
        assert [domain.name() for domain in client.read_connection.listAllDomains()] == []
        assert driver.list(entry.id).domains == ()


MOST = 400
"""Calls that a job makes at most."""
HOWS = {"dies": dies, "fails": fails}
AT_HOSTS = [verb for verb in VERBS if verb is not network]
"""A network of QEMU's own needs nothing of a host until its machine starts."""
EACH_VERB = pytest.mark.parametrize("verb", AT_HOSTS, ids=lambda verb: verb.__name__)
EACH_HOW = pytest.mark.parametrize("how", HOWS)


def calls_of(case: DriverCase, interrupter: Interrupter, verb: Setup) -> int:
    """How many calls the verb's job makes if nothing happens."""
    assert not fails(case, interrupter, verb, MOST)
    remove_all(case)
    return len(interrupter.calls)


def interrupted(case: DriverCase, interrupter: Interrupter, verb: Setup, how: str, most: int) -> None:
    count = calls_of(case, interrupter, verb)
    assert count > 0
    for point in points(count, most):
        HOWS[how](case, interrupter, verb, point)
        remove_all(case)
