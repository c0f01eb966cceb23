"""Fills the port of the resources that refer to instances. Apart, since comparing the hosts needs no more of them."""

from __future__ import annotations

from crofter.resources.firewalls import kind as firewalls
from crofter.resources.instances import neighbours
from crofter.resources.nodebalancers import kind as nodebalancers
from crofter.resources.volumes import kind as volumes

neighbours.register(volumes.NEIGHBOUR, firewalls.NEIGHBOUR, nodebalancers.NEIGHBOUR)
