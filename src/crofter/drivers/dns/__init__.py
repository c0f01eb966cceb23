"""Name servers: the contract of drivers, the drivers, and the transfer of zones from foreign servers."""

from crofter.drivers.dns.contract import NameServer, NotPublished, Zone
from crofter.drivers.dns.simulated import SimulatedNameServer
from crofter.drivers.dns.zonefiles import ZoneFiles

__all__ = ["NameServer", "NotPublished", "SimulatedNameServer", "Zone", "ZoneFiles"]
