"""Rules of the configs of a load balancer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from crofter.context import Context
from crofter.errors import Forbidden, Invalid, Reason
from crofter.events import record
from crofter.resources.instances.reasons import refuse
from crofter.resources.nodebalancers import store as balancers
from crofter.resources.nodebalancers.configs import certificates, store
from crofter.resources.nodebalancers.configs.certificates import Pair
from crofter.resources.nodebalancers.configs.shapes import (
    REDACTED,
    NodeBalancerConfigBody,
    NodeBalancerConfigRebuild,
    NodeBalancerConfigView,
)
from crofter.resources.nodebalancers.configs.store import Config
from crofter.resources.nodebalancers.nodes import rules as nodes
from crofter.resources.nodebalancers.shapes import MOST_CONFIGS
from crofter.resources.nodebalancers.store import NodeBalancer
from crofter.resources.users import access
from crofter.shapes import UNSET, given

TOO_MANY = f"A NodeBalancer has at most {MOST_CONFIGS} configs."
DEFAULTS: dict[str, Any] = {
    "port": 80,
    "protocol": "http",
    "algorithm": "roundrobin",
    "stickiness": "none",
    "check": "none",
    "check_interval": 0,
    "check_timeout": 30,
    "check_attempts": 3,
    "check_path": "",
    "check_body": "",
    "check_passive": True,
    "proxy_protocol": "none",
    "cipher_suite": "recommended",
}
NO_CERTIFICATE = {"ssl_cert": None, "ssl_key": None, "ssl_commonname": "", "ssl_fingerprint": ""}


class Plan(Struct):
    """Wanted settings of a config, with a new certificate and key if there are any."""

    settings: dict[str, Any]
    pair: Pair | None
    reasons: list[Reason]

    @property
    def values(self) -> dict[str, Any]:
        """Return the values for the table, without the key, which is sealed with the row's id."""
        values = {"check_kind" if name == "check" else name: value for name, value in self.settings.items()}
        if self.settings["protocol"] != "https":
            return {**values, **NO_CERTIFICATE}
        if self.pair is None:
            return values
        shown = {"ssl_commonname": self.pair.commonname, "ssl_fingerprint": self.pair.fingerprint}
        return {**values, **shown, "ssl_cert": self.pair.ssl_cert}


# requests


def create(ctx: Context, balancer: NodeBalancer, body: NodeBalancerConfigBody) -> NodeBalancerConfigView:
    plan = planned(body)
    refuse(body, [*plan.reasons, *_about_port(ctx, balancer, plan, None)])
    if store.count(ctx, balancer.id) >= MOST_CONFIGS:
        raise Invalid(TOO_MANY)
    return store.view(ctx, make(ctx, balancer, plan))


def update(
    ctx: Context, balancer: NodeBalancer, config: Config, body: NodeBalancerConfigBody
) -> NodeBalancerConfigView:
    plan = planned(body, config)
    refuse(body, [*plan.reasons, *_about_port(ctx, balancer, plan, config)])
    return store.view(ctx, _change(ctx, balancer, config, plan))


def rebuild(
    ctx: Context, balancer: NodeBalancer, config: Config, body: NodeBalancerConfigRebuild
) -> NodeBalancerConfigView:
    """Replace the config and its nodes; settings that are not sent stay."""
    if not access.permits(ctx, balancers.KIND, balancer.id, "read_write"):
        raise Forbidden  # to be allowed new ones is no right to change this one
    plan = planned(body, config)
    kept = nodes.addresses(ctx, config.id)
    wanted = None if body.nodes is UNSET else body.nodes
    wrong = nodes.complaints(ctx, balancer.region, wanted or [], kept=kept)
    refuse(body, [*plan.reasons, *_about_port(ctx, balancer, plan, config), *wrong])
    changed = _change(ctx, balancer, config, plan)
    if wanted is not None:
        nodes.replace(ctx, balancer, changed.id, wanted)
    return store.view(ctx, changed)


def delete(ctx: Context, balancer: NodeBalancer, config: Config) -> None:
    store.delete(ctx, config.id)
    record(ctx, "nodebalancer_config_delete", balancers.entity(balancer), store.entity(config))


def make(ctx: Context, balancer: NodeBalancer, plan: Plan) -> Config:
    """A config that nothing is wrong with."""
    config_id = store.insert(ctx, balancer.id, plan.values)
    if plan.pair is not None:
        store.put_key(ctx, config_id, plan.pair.ssl_key)
    config = store.one(ctx, balancer.id, config_id)
    record(ctx, "nodebalancer_config_create", balancers.entity(balancer), store.entity(config))
    return config


def _change(ctx: Context, balancer: NodeBalancer, config: Config, plan: Plan) -> Config:
    store.change(ctx, config.id, plan.values)
    if plan.pair is not None:
        store.put_key(ctx, config.id, plan.pair.ssl_key)
    changed = store.one(ctx, balancer.id, config.id)
    record(ctx, "nodebalancer_config_update", balancers.entity(balancer), store.entity(changed))
    return changed


# checks


def planned(body: NodeBalancerConfigBody, config: Config | None = None) -> Plan:
    """Return the wanted settings of a body. Raise all problems of the body itself."""
    sent = given(body, *DEFAULTS)
    settings = {**(_settings(config) if config else DEFAULTS), **sent}
    _fit_timeout(settings, sent)
    pair, reasons = None, [*_about_protocol(settings), *_about_check(settings)]
    if settings["protocol"] == "https":
        certificate = _pair(body, kept=config is not None and config.has_certificate)
        pair = certificate if isinstance(certificate, Pair) else None
        reasons += certificate if isinstance(certificate, list) else []
    else:
        reasons += [Reason("Only protocol https has a certificate", name) for name, value in _secrets(body) if value]
    places = {name: place for place, name in enumerate(body.__struct_fields__)}
    return Plan(settings, pair, sorted(reasons, key=lambda reason: places[reason.head]))


def _settings(config: Config) -> dict[str, Any]:
    return {name: config.check_kind if name == "check" else getattr(config, name) for name in DEFAULTS}


def _fit_timeout(settings: dict[str, Any], sent: Mapping[str, Any]) -> None:
    """Reduce an unchosen timeout to fit a chosen interval."""
    interval = settings["check_interval"]
    if settings["check"] != "none" and "check_interval" in sent and "check_timeout" not in sent and interval > 1:
        settings["check_timeout"] = min(settings["check_timeout"], interval - 1)


def _about_protocol(settings: Mapping[str, Any]) -> Iterator[Reason]:
    if settings["protocol"] == "tcp" and settings["stickiness"] == "http_cookie":
        yield Reason("Protocol tcp has no cookies", "stickiness")
    if settings["protocol"] != "tcp" and settings["proxy_protocol"] != "none":
        yield Reason("Must be none unless protocol is tcp", "proxy_protocol")


def _about_check(settings: Mapping[str, Any]) -> Iterator[Reason]:
    check = settings["check"]
    if check != "none" and 0 < settings["check_interval"] <= settings["check_timeout"]:
        yield Reason("Must be greater than check_timeout", "check_interval")
    if check in ("http", "http_body") and not settings["check_path"]:
        yield Reason("check_path is required", "check_path")
    if check == "http_body" and not settings["check_body"]:
        yield Reason("check_body is required", "check_body")


def _secrets(body: NodeBalancerConfigBody) -> list[tuple[str, str | None]]:
    """Certificate and key, if they were sent and not merely sent back."""
    both = (("ssl_cert", body.ssl_cert), ("ssl_key", body.ssl_key))
    return [(name, None if value is UNSET or value == REDACTED else value) for name, value in both]


def _pair(body: NodeBalancerConfigBody, *, kept: bool) -> Pair | list[Reason] | None:
    """The certificate of a port with https; None if the one that it has stays."""
    sent = _secrets(body)
    missing = [Reason(f"{name} is required", name) for name, value in sent if not value]
    if kept and len(missing) == len(sent):
        return None
    (_, ssl_cert), (_, ssl_key) = sent
    return certificates.read(ssl_cert, ssl_key) if ssl_cert and ssl_key else missing


def _about_port(ctx: Context, balancer: NodeBalancer, plan: Plan, config: Config | None) -> Iterator[Reason]:
    holder = store.at_port(ctx, balancer.id, plan.settings["port"])
    if holder is not None and (config is None or holder != config.id):
        yield Reason(store.TAKEN, "port")
