"""Every resource of the server, listed: its endpoints, its kinds, its tables. Its operations are listed apart."""

from __future__ import annotations

from types import ModuleType

import crofter.operations  # noqa: F401 - fills ports that endpoints ask too
from crofter.catalogue import CatalogueTable
from crofter.drivers.dns import simulated as zone_tables
from crofter.drivers.hypervisor.libvirt import tables as hypervisor_tables
from crofter.drivers.mail import outbox as outbox_tables
from crofter.edge import rate_windows
from crofter.edge.endpoint import Endpoint, endpoints_of
from crofter.faults import FaultKind
from crofter.kinds import Kind
from crofter.login import store as login_tables
from crofter.resources.account import api as account
from crofter.resources.billing import account_api as billed_account
from crofter.resources.billing import api as billing
from crofter.resources.billing.cards import CARD_DECLINED
from crofter.resources.billing.promotions import PROMOTIONS
from crofter.resources.billing.taxes import TAXES
from crofter.resources.closing import api as closing
from crofter.resources.domains import api as domains
from crofter.resources.domains.kind import DOMAIN
from crofter.resources.domains.records import api as domain_records
from crofter.resources.events import api as events
from crofter.resources.firewalls import api as firewalls
from crofter.resources.firewalls.kind import FIREWALL
from crofter.resources.images import api as images
from crofter.resources.images.catalogue import IMAGES
from crofter.resources.instances import api as instances
from crofter.resources.instances import cost_api as instance_cost
from crofter.resources.instances import faults as instance_faults
from crofter.resources.instances.backups import api as instance_backups
from crofter.resources.instances.capture import api as instance_capture
from crofter.resources.instances.capture.kind import IMAGE
from crofter.resources.instances.configs import api as instance_configs
from crofter.resources.instances.disks import api as instance_disks
from crofter.resources.instances.ips import api as instance_ips
from crofter.resources.instances.kind import COMPUTE
from crofter.resources.instances.move import api as instance_move
from crofter.resources.instances.power import api as instance_power
from crofter.resources.instances.serial import api as instance_serial
from crofter.resources.instances.usage import api as instance_usage
from crofter.resources.kernels import api as kernels
from crofter.resources.kernels.store import CATALOGUE as KERNELS
from crofter.resources.logins import api as logins
from crofter.resources.longview import api as longview
from crofter.resources.longview.kind import LONGVIEW
from crofter.resources.maintenance import api as maintenance
from crofter.resources.maintenance.faults import MAINTENANCE
from crofter.resources.managed import api as managed
from crofter.resources.managed.compute_settings import api as managed_compute_settings
from crofter.resources.managed.contacts import api as managed_contacts
from crofter.resources.managed.credentials import api as managed_credentials
from crofter.resources.managed.issues import api as managed_issues
from crofter.resources.managed.services import api as managed_services
from crofter.resources.managed.services.faults import PROBE
from crofter.resources.managed.stats import api as managed_stats
from crofter.resources.networking import api as networking
from crofter.resources.nodebalancers import api as nodebalancers
from crofter.resources.nodebalancers.configs import api as nodebalancer_configs
from crofter.resources.nodebalancers.kind import NODEBALANCER
from crofter.resources.nodebalancers.nodes import api as nodebalancer_nodes
from crofter.resources.notifications import api as notifications
from crofter.resources.oauth import api as oauth
from crofter.resources.profile import api as profile
from crofter.resources.profile.apps import api as profile_apps
from crofter.resources.profile.devices import api as profile_devices
from crofter.resources.profile.preferences import api as profile_preferences
from crofter.resources.profile.sshkeys import api as profile_sshkeys
from crofter.resources.profile.tokens import api as profile_tokens
from crofter.resources.profile.two_factor import api as profile_two_factor
from crofter.resources.regions import api as regions
from crofter.resources.regions.store import CATALOGUE as REGIONS
from crofter.resources.stackscripts import api as stackscripts
from crofter.resources.stackscripts.catalogue import STACKSCRIPTS
from crofter.resources.stackscripts.kind import STACKSCRIPT
from crofter.resources.support import api as support
from crofter.resources.tags import api as tags
from crofter.resources.transfers import api as transfers
from crofter.resources.types import api as types
from crofter.resources.types.store import CATALOGUE as TYPES
from crofter.resources.users import api as users
from crofter.resources.users.grants import api as user_grants
from crofter.resources.volumes import api as volumes
from crofter.resources.volumes.kind import VOLUME

API_MODULES: tuple[ModuleType, ...] = (
    account,
    billed_account,
    billing,
    closing,
    domain_records,
    domains,
    events,
    firewalls,
    images,
    instance_backups,
    instance_capture,
    instance_configs,
    instance_cost,
    instance_disks,
    instance_ips,
    instance_move,
    instance_power,
    instance_serial,
    instance_usage,
    instances,
    kernels,
    maintenance,
    logins,
    longview,
    managed,
    managed_compute_settings,
    managed_contacts,
    managed_credentials,
    managed_issues,
    managed_services,
    managed_stats,
    networking,
    nodebalancers,
    nodebalancer_configs,
    nodebalancer_nodes,
    notifications,
    oauth,
    profile,
    profile_apps,
    profile_devices,
    profile_preferences,
    profile_sshkeys,
    profile_tokens,
    profile_two_factor,
    regions,
    stackscripts,
    support,
    tags,
    transfers,
    types,
    user_grants,
    users,
    volumes,
)

ENDPOINTS: list[Endpoint] = [declared for module in API_MODULES for declared in endpoints_of(module)]

KINDS: tuple[Kind, ...] = (COMPUTE, DOMAIN, FIREWALL, IMAGE, LONGVIEW, NODEBALANCER, STACKSCRIPT, VOLUME)

TABLES: tuple[ModuleType, ...] = (hypervisor_tables, login_tables, outbox_tables, rate_windows, zone_tables)
"""Resources that are here for their tables alone."""

CATALOGUE_TABLES: tuple[CatalogueTable, ...] = (REGIONS, TYPES, KERNELS, IMAGES, STACKSCRIPTS, TAXES, PROMOTIONS)
"""Tables that the catalogue files fill."""

FAULTS: tuple[FaultKind, ...] = (CARD_DECLINED, *instance_faults.FAULTS, MAINTENANCE, PROBE)
"""Faults that the sandbox API can inject, besides HTTP faults."""
