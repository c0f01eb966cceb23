"""Usage of machines: counters sampled from hosts, stored as increments."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from crofter.drivers.hypervisor.errors import Absent, Refused, Unreachable
from crofter.drivers.hypervisor.ledger.entries import Disk, Domain
from crofter.drivers.hypervisor.ledger.observed import POINTS
from crofter.drivers.hypervisor.libvirt import tables
from crofter.drivers.hypervisor.libvirt.binding import LibvirtError, virt
from crofter.drivers.hypervisor.libvirt.host import HostClient
from crofter.drivers.hypervisor.libvirt.hosts import Hosts
from crofter.drivers.hypervisor.libvirt.rounds import Rounds
from crofter.drivers.hypervisor.libvirt.samples import BETWEEN, LAST
from crofter.drivers.hypervisor.reports import Usage

STATS = virt.VIR_DOMAIN_STATS_CPU_TOTAL | virt.VIR_DOMAIN_STATS_BLOCK | virt.VIR_DOMAIN_STATS_INTERFACE
MEASURES = ("cpu", "io", "swap", "ipv4_in", "ipv4_out", "ipv4_private_in", "ipv4_private_out")

Counters = dict[str, int]


class Sampling:
    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._store = hosts.store
        self._rounds = Rounds("sampled")

    def last(self, host: HostClient, number: int, domain: Any) -> None:
        """Before a machine goes off, as far as it can still be read."""
        try:
            if domain.isActive():
                self._keep(number, self._read(number, domain))
        except LibvirtError:
            return

    def begin_anew(self, number: int) -> None:
        """The machine has gone to another host as it runs, where its counters begin with nothing."""
        with self._store.writing() as ledger:
            entry, last = ledger.find(Domain, number), ledger.db.maybe(LAST, domain=number)
            if entry is None or entry.doc is None or last is None:
                return
            nothing = dict.fromkeys(MEASURES, 0)
            at = max(ledger.now, last.at + 1)
            ledger.db.insert(
                tables.sample, domain=number, at=at, since=entry.doc.since, counters=nothing, grown=nothing
            )

    def take_all(self) -> None:
        """Sample each running machine. Unreachable hosts are skipped without waiting."""
        with self._store.reading() as ledger:
            running: dict[int, list[int]] = {}
            for entry in ledger.all(Domain):
                if entry.doc is not None and entry.doc.on:
                    running.setdefault(entry.host, []).append(entry.id)
        self._rounds.visit({host: partial(self._take, host, machines) for host, machines in running.items()})

    def _take(self, host: int, machines: list[int]) -> None:
        client = self._hosts.client(host)
        for number in machines:
            domain = client.domain(number, client.read_connection)
            if domain is not None and domain.isActive():
                self._keep(number, self._read(number, domain))

    def now(self, host: int, number: int) -> Counters | None:
        """The counters of a machine as they are; None for one that is off."""
        client = self._hosts.client(host)
        domain = client.domain(number, client.read_connection)
        if domain is None or not domain.isActive():
            return None
        return self._read(number, domain)

    def _read(self, number: int, domain: Any) -> Counters:
        connection = domain.connect()
        answer = connection.domainListGetStats([domain], STATS, 0)
        stats: dict[str, Any] = answer[0][1] if answer else {}
        counters = dict.fromkeys(MEASURES, 0)
        counters["cpu"] = int(stats.get("cpu.time", 0)) // 1_000_000
        swaps, private = self._inside(number)
        for place in range(int(stats.get("block.count", 0))):
            requests = int(stats.get(f"block.{place}.rd.reqs", 0)) + int(stats.get(f"block.{place}.wr.reqs", 0))
            counters["swap" if stats.get(f"block.{place}.name") in swaps else "io"] += requests
        for place in range(int(stats.get("net.count", 0))):
            # The host counts all traffic of the card, for both address families.
            kind = "ipv4_private" if place in private else "ipv4"
            counters[f"{kind}_in"] += int(stats.get(f"net.{place}.rx.bytes", 0))
            counters[f"{kind}_out"] += int(stats.get(f"net.{place}.tx.bytes", 0))
        return counters

    def _inside(self, number: int) -> tuple[set[str], set[int]]:
        """Return the guest's swap disks and its cards on VLANs, whose traffic is free."""
        with self._store.reading() as ledger:
            entry = ledger.find(Domain, number)
            spec = None if entry is None or entry.doc is None else entry.doc.active
            if spec is None:
                return set(), set()
            swaps = set()
            for device in spec.devices:
                disk = None if device.disk is None else ledger.find(Disk, device.disk)
                if disk is not None and disk.doc is not None and disk.doc.filesystem == "swap":
                    swaps.add("vd" + device.slot[2:])
        return swaps, {place for place, interface in enumerate(spec.interfaces) if interface.purpose == "vlan"}

    def _keep(self, number: int, counters: Counters) -> None:
        with self._store.writing() as ledger:
            entry = ledger.find(Domain, number)
            if entry is None or entry.doc is None:
                return
            last = ledger.db.maybe(LAST, domain=number)
            if last is not None and last.at >= ledger.now:
                return
            same = last is not None and last.since == entry.doc.since and last.counters["cpu"] <= counters["cpu"]
            before = last.counters if last is not None and same else {}
            grown = {name: max(0, counters[name] - before.get(name, 0)) for name in MEASURES}
            ledger.db.insert(
                tables.sample,
                domain=number,
                at=ledger.now,
                since=entry.doc.since,
                counters=counters,
                grown=grown,
            )

    def history(self, number: int, start: int, stop: int, step: int, timeout: float) -> tuple[Usage, ...]:
        """Return usage from stored samples, also while the host is unreachable."""
        ends = time.monotonic() + timeout
        with self._store.reading() as ledger:
            stop = min(stop, ledger.now)
            if step < 1 or (stop - start) // step > POINTS:
                raise Refused("The history would have too many points.")
            known = ledger.find(Domain, number)
            if known is None or known.doc is None:
                raise Absent(f"There is no domain {number}.")
            sums: dict[int, Counters] = {}
            after = start
            while page := ledger.db.all(BETWEEN, domain=number, start=after, stop=stop):
                if time.monotonic() > ends:
                    raise Unreachable("It would take too long to add up what was used.")
                for sample in page:
                    place = (sample.at - start - 1) // step
                    sums[place] = _sum(sums.get(place, {}), sample.grown)
                after = page[-1].at
        nothing = dict.fromkeys(MEASURES, 0)
        begins = enumerate(range(start, stop, step))
        return tuple(Usage(at, min(at + step, stop), **sums.get(place, nothing)) for place, at in begins)


def _sum(counters: Counters, grown: Counters) -> Counters:
    return {name: counters.get(name, 0) + grown.get(name, 0) for name in MEASURES}
