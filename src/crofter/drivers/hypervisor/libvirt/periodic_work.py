"""Periodic work of the driver: synchronise the ledger, sample usage, and delete unused objects."""

from __future__ import annotations

import logging
import re
import time
from functools import partial
from typing import Any

from msgspec import Struct

from crofter.clock import HOUR, machine_now
from crofter.drivers.hypervisor.ledger.conditions import SETTING
from crofter.drivers.hypervisor.ledger.entries import Backup, Disk, Domain, Image
from crofter.drivers.hypervisor.ledger.tables import setting
from crofter.drivers.hypervisor.libvirt.connections import PATIENCE
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.libvirt.power_sync import PowerSync
from crofter.drivers.hypervisor.libvirt.rounds import Rounds
from crofter.drivers.hypervisor.libvirt.sampling import Sampling

log = logging.getLogger("crofter")

EVERY = 2.0
SAMPLE_EVERY, TIDY_EVERY = 60.0, 300.0
LEASE = "hypervisor_tender"
HOLD = 10_000
"""Milliseconds that a process keeps the work, if it gives no sign of life."""
KEPT: tuple[tuple[str, type[Any]], ...] = (("d", Disk), ("bk", Backup), ("im", Image))
_SCRATCH = re.compile(r"tmp(\d+)-.*")
_PART = re.compile(r"part(\d+)-.*")
PART_LASTS = 12 * HOUR
"""No upload of a file of the operator's takes longer."""
_NUMBERED = re.compile(r"(d|bk|im)(\d+)(-d\d+)?\.qcow2")


class Lease(Struct, frozen=True):
    owner: str
    until: int


class PeriodicWork:
    def __init__(self, hosts: Hosts, power_sync: PowerSync, sampling: Sampling, owner: str) -> None:
        self._hosts = hosts
        self._store = hosts.store
        self._power_sync = power_sync
        self._sampling = sampling
        self._owner = owner
        self._sample_at = self._tidy_at = 0.0
        self._sync_rounds, self._tidy_rounds = Rounds("looked at"), Rounds("tidied")

    def run(self) -> float:
        """Each part takes a few seconds at most, and less than the lease lasts."""
        if not self._has_lease():
            return EVERY
        self.sync_power(EVERY)
        now = time.monotonic()
        if now >= self._sample_at and self._has_lease():
            self._sample_at = now + SAMPLE_EVERY
            self._sampling.take_all()
        if now >= self._tidy_at and self._has_lease():
            self._tidy_at = now + TIDY_EVERY
            self.tidy()
        return EVERY

    def sync_power(self, patience: float = PATIENCE) -> None:
        with self._store.reading() as ledger:
            hosts = {entry.host for entry in ledger.all(Domain)} - ledger.fleet.closed
        self._sync_rounds.visit({host: partial(self._power_sync.sync_host, host) for host in hosts}, patience)

    def _has_lease(self) -> bool:
        """True if this process holds the lease. Another process takes over when the holder stops renewing."""
        with self._store.writing() as ledger:
            stored = ledger.db.value(SETTING, name=LEASE)
            now = ledger.lease_time
            if stored is not None and stored["owner"] != self._owner and stored["until"] > now:
                return False
            lease = Lease(self._owner, now + HOLD)
            if not ledger.db.update(setting, {"name": LEASE}, value=lease):
                ledger.db.insert(setting, name=LEASE, value=lease)
            return True

    def tidy(self) -> None:
        entries = self._hosts.fleet().entries
        there = [number for number, entry in entries.items() if entry.state != "lost"]
        self._tidy_rounds.visit({number: partial(self._tidy, number) for number in there})

    def _tidy(self, number: int) -> None:
        self._tidy_host(self._hosts.client(number))

    def _tidy_host(self, host: HostClient) -> None:
        """Files of jobs that are over, what has moved away, and media that were replaced."""
        listed = host.listed()
        media = self._hosts.media.files()
        with self._store.reading() as ledger:
            jobs = {job.id for job in ledger.jobs()}
            busy = {(kind, number) for job in ledger.jobs() for kind, number in (*job.changes, *job.reads)}
            places = {kind.kind: {entry.id: entry.host for entry in ledger.all(kind)} for _, kind in KEPT}
        kinds = {prefix: kind.kind for prefix, kind in KEPT}
        for name in listed:
            scratch, part, numbered = (pattern.fullmatch(name) for pattern in (_SCRATCH, _PART, _NUMBERED))
            if scratch is not None:
                stale = int(scratch[1]) not in jobs
            elif part is not None:
                stale = not jobs or machine_now() - int(part[1]) > PART_LASTS  # only jobs send files
            elif name.startswith("file-"):
                stale = name not in media and not jobs
            elif numbered is not None:
                key = (kinds[numbered[1]], int(numbered[2]))
                place = places[key[0]].get(key[1])
                stale = place is not None and place != host.entry.id and key not in busy
            else:
                stale = False
            if stale:
                log.info("host %s: %s is needed no more", host.entry.id, name)
                host.drop(name)
        self._drop_moved_machines(host)

    def _drop_moved_machines(self, host: HostClient) -> None:
        """Definitions of machines that have moved away and could not be dropped then. One that runs is for a person."""
        seen = host.seen_all()
        with self._store.reading() as ledger:
            busy = {number for job in ledger.jobs() for kind, number in job.changes if kind == Domain.kind}
            places = {entry.id: entry.host for entry in ledger.all(Domain)}
        for number, state in seen.items():
            moved = places.get(number, host.entry.id) != host.entry.id and number not in busy
            if moved and state.power == "off" and not state.unfinished:
                log.info("host %s: the definition of machine %s is needed no more", host.entry.id, number)
                host.undefine(number)
