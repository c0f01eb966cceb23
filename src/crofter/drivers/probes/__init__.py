"""Looking from outside at services that users name: guarded, bounded, and in a process of its own."""

from crofter.drivers.probes.addresses import Refused, Target, judge, parse, private
from crofter.drivers.probes.client import ProbeClient
from crofter.drivers.probes.wire import Answer, Ask

__all__ = ["Answer", "Ask", "ProbeClient", "Refused", "Target", "judge", "parse", "private"]
