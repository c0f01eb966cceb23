"""Request and response bodies of grants."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import UNSET, Body, Id, Optional, View

Level = Annotated[Literal["read_only", "read_write"] | None, Meta(description="What may be done; null: nothing.")]
MAX_ENTRIES = 10_000


class GlobalGrants(View):
    """Permissions of the user on the account as a whole."""

    account_access: Level = None
    add_computes: bool = False
    add_domains: bool = False
    add_firewalls: bool = False
    add_images: bool = False
    add_longview: bool = False
    add_nodebalancers: bool = False
    add_stackscripts: bool = False
    add_volumes: bool = False
    cancel_account: bool = False
    longview_subscription: bool = False


class Grant(View):
    """Permission of the user on an object."""

    id: int
    label: str | None
    permissions: Level


class GrantsView(View, rename={"global_": "global"}):
    """Permissions of a restricted user."""

    global_: GlobalGrants
    compute: list[Grant]
    database: Annotated[list[Grant], Meta(description="Always empty: this server has no databases.")]
    domain: list[Grant]
    firewall: list[Grant]
    image: list[Grant]
    longview: list[Grant]
    nodebalancer: list[Grant]
    stackscript: list[Grant]
    volume: list[Grant]


KINDS = tuple(name for name in GrantsView.__struct_fields__ if name not in ("global_", "database"))
"""The kinds of object that grants are given on."""

Yes = Optional[bool | None]


class GlobalChanges(Body):
    account_access: Optional[Level] = UNSET
    add_computes: Yes = UNSET
    add_domains: Yes = UNSET
    add_firewalls: Yes = UNSET
    add_images: Yes = UNSET
    add_longview: Yes = UNSET
    add_nodebalancers: Yes = UNSET
    add_stackscripts: Yes = UNSET
    add_volumes: Yes = UNSET
    cancel_account: Yes = UNSET
    longview_subscription: Yes = UNSET


class GrantChange(Body):
    id: Id
    permissions: Level


Changes = Annotated[list[GrantChange], Meta(max_length=MAX_ENTRIES, description="Objects left out stay as they are.")]


class GrantsUpdate(Body, rename={"global_": "global"}):
    global_: Optional[GlobalChanges] = UNSET
    compute: Changes = []
    domain: Changes = []
    firewall: Changes = []
    image: Changes = []
    longview: Changes = []
    nodebalancer: Changes = []
    stackscript: Changes = []
    volume: Changes = []
