"""Name servers: what every driver promises, the drivers, and copying a zone from somebody else's."""

from crofter.drivers.dns.contract import NameServer, NotPublished, Zone
from crofter.drivers.dns.simulated import SimulatedNameServer
from crofter.drivers.dns.zonefiles import ZoneFiles

__all__ = ["NameServer", "NotPublished", "SimulatedNameServer", "Zone", "ZoneFiles"]
