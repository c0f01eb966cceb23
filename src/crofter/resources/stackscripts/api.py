"""StackScripts: list and view all public ones; create, update and delete one's own."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.errors import Forbidden, Invalid, ScopeMissing, Unauthenticated
from crofter.resources.stackscripts import rules, store
from crofter.resources.stackscripts.shapes import StackScriptCreate, StackScriptUpdate, StackScriptView
from crofter.resources.stackscripts.store import StackScript
from crofter.scopes import covers
from crofter.shapes import Page

TheScript = Annotated[StackScript, Lookup(store.one, "stackscript_id")]
OwnScript = Annotated[StackScript, Lookup(store.own, "stackscript_id")]
OWN = "stackscripts:read_only"
"""Scope for the account's own scripts."""
WHOSE = "You must be authenticated to find your StackScripts."


@endpoint("GET /v4/compute/stackscripts", scope="none", grant="any", refuses=(Unauthenticated,))
def list_stackscripts(ctx: Context, listing: Listing) -> Page[StackScriptView]:
    """List the public scripts, and with a token those of the account too."""
    caller = ctx.caller
    if caller is None and listing.filters_on("mine"):
        raise Unauthenticated(WHOSE)
    if caller is None or not covers(caller.scopes, OWN):
        collection = store.PUBLIC
    else:
        collection = store.GRANTED if caller.restricted else store.ALL
    values = {"account_id": caller.account_id, "user_id": caller.user_id} if caller else {}
    return listing.of(ctx, collection, lambda rows: [rules.view(ctx, row) for row in rows], **values)


@endpoint(
    "POST /v4/compute/stackscripts",
    scope="stackscripts:read_write",
    grant="add_stackscripts",
    events=("stackscript_create",),
)
def create_stackscript(ctx: Context, body: StackScriptCreate) -> StackScriptView:
    """Create a script; its parameters are read from the UDF tags in it."""
    return rules.create(ctx, body)


@endpoint("GET /v4/compute/stackscripts/{stackscript_id}", scope="none", grant="any", refuses=(Forbidden,))
def view_stackscript(ctx: Context, script: TheScript) -> StackScriptView:
    """View a script."""
    if not script.is_public and not covers(ctx.actor.scopes, OWN):
        raise ScopeMissing
    rules.must_be_readable(ctx, script)
    return rules.view(ctx, script)


@endpoint(
    "PUT /v4/compute/stackscripts/{stackscript_id}",
    scope="stackscripts:read_write",
    grant="stackscript:read_write",
    events=("stackscript_update", "stackscript_revise", "stackscript_publicize"),
    refuses=(Forbidden,),
)
def update_stackscript(ctx: Context, script: OwnScript, body: StackScriptUpdate) -> StackScriptView:
    """Change a script of the account; once it is public it stays so."""
    return rules.update(ctx, script, body)


@endpoint(
    "DELETE /v4/compute/stackscripts/{stackscript_id}",
    scope="stackscripts:read_write",
    grant="stackscript:read_write",
    events=("stackscript_delete",),
    refuses=(Forbidden, Invalid),
)
def delete_stackscript(ctx: Context, script: OwnScript) -> None:
    """Delete a script of the account that is not public."""
    rules.delete(ctx, script)
