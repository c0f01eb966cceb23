"""Rules of scripts, their deployment, and the deployed text."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from crofter.context import Context
from crofter.errors import Forbidden, Invalid, NotFound, Reason
from crofter.events import record
from crofter.kinds import inaccessible
from crofter.resources.images import store as images
from crofter.resources.images.store import Image
from crofter.resources.stackscripts import store, udf
from crofter.resources.stackscripts.shapes import StackScriptCreate, StackScriptUpdate, StackScriptView
from crofter.resources.stackscripts.store import StackScript
from crofter.resources.users import access
from crofter.resources.users import store as users
from crofter.shapes import given

MOST_SCRIPTS = 1000
"""Maximum number of scripts of an account."""
TOO_MANY = f"An account can have at most {MOST_SCRIPTS} StackScripts."
ONE_WAY = "A public StackScript cannot be made private"
RESERVED = "A StackScript of this username cannot be public"
PUBLIC_STAYS = "A public StackScript cannot be deleted."
UNSUPPORTED = "The requested distribution is not supported by this stackscript."


def complaints(ctx: Context, stackscript_id: int, data: Mapping[str, Any], image: Image | None) -> Iterator[Reason]:
    """Return the problems of deploying a script; a missing image is reported by the caller."""
    script = store.offered(ctx, stackscript_id)
    if script is None:
        yield Reason("stackscript_id is an invalid stackscript", "stackscript_id")
        return
    _must_be_readable(ctx, script)
    if image is not None and not (image.is_public and script.runs_on(image.slug)):
        yield Reason(UNSUPPORTED)
    yield from udf.complaints(udf.parse(script.script), data)


def _must_be_readable(ctx: Context, script: StackScript) -> None:
    if not script.is_public and not access.permits(ctx, store.KIND, script.id, "read_only"):
        raise inaccessible(store.KIND, "stackscript_id")


def script(ctx: Context, stackscript_id: int, data: Mapping[str, Any]) -> str:
    """Return the script for the first boot, with the data as environment variables."""
    stackscript = store.find(ctx, stackscript_id)
    if stackscript is None:
        raise NotFound
    store.count_deployment(ctx, stackscript_id)
    return with_environment(stackscript.script, udf.values(udf.parse(stackscript.script), data))


def with_environment(script: str, environment: Mapping[str, str]) -> str:
    """A script of any language, wrapped so that it finds its values in the environment."""
    if not environment:
        return script
    exports = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    content = base64.encodebytes(script.encode()).decode()
    return "\n".join(
        [
            "#!/bin/sh",
            *exports,
            "file=$(mktemp) || exit 1",
            "base64 -d > \"$file\" <<'END_OF_SCRIPT'",
            f"{content}END_OF_SCRIPT",
            'chmod 700 "$file" && exec "$file"',
            "",
        ]
    )


# ---- the scripts of an account --------------------------------------------------------------------------------------


def view(ctx: Context, script: StackScript) -> StackScriptView:
    return StackScriptView(
        created=script.created,
        deployments_active=script.active,
        deployments_total=script.total,
        description=script.description,
        id=script.id,
        images=script.images,
        is_public=script.is_public,
        label=script.label,
        mine=ctx.caller is not None and ctx.caller.account_id == script.account_id,
        rev_note=script.rev_note,
        script=script.script,
        updated=script.updated,
        user_defined_fields=msgspec.convert(script.user_defined_fields, list[udf.UserDefinedField]),
        user_gravatar_id=script.gravatar_id,
        username=script.username,
    )


def must_be_readable(ctx: Context, script: StackScript) -> None:
    if not script.is_public and not access.permits(ctx, store.KIND, script.id, "read_only"):
        raise Forbidden


def create(ctx: Context, body: StackScriptCreate) -> StackScriptView:
    fields, wrong = _read(body.script)
    wrong += _about_publishing(ctx.actor.username, public=body.is_public)
    _refuse([*_about_images(ctx, body.images), *wrong])
    if store.count(ctx) >= MOST_SCRIPTS:
        raise Invalid(TOO_MANY)
    values = msgspec.structs.asdict(body) | {
        "images": list(dict.fromkeys(body.images)),
        "user_defined_fields": fields,
        "gravatar_id": users.gravatar(users.email(ctx)),
    }
    script = store.insert(ctx, values)
    access.entrust(ctx, store.KIND, script.id)
    record(ctx, "stackscript_create", store.entity(script))
    return view(ctx, script)


def update(ctx: Context, script: StackScript, body: StackScriptUpdate) -> StackScriptView:
    values = given(body)
    wrong = list(_about_images(ctx, values.get("images", ())))
    if "images" in values:
        values["images"] = list(dict.fromkeys(values["images"]))
    if "script" in values:
        values["user_defined_fields"], unreadable = _read(values["script"])
        wrong += unreadable
    publicized = values.get("is_public", script.is_public) and not script.is_public
    if script.is_public and values.get("is_public") is False:
        wrong.append(Reason(ONE_WAY, "is_public"))
    wrong += _about_publishing(script.username, public=publicized)
    _refuse(wrong)
    changed = store.change(ctx, script.id, values)
    record(ctx, "stackscript_update", store.entity(changed))
    if changed.script != script.script:
        record(ctx, "stackscript_revise", store.entity(changed))
    if publicized:
        record(ctx, "stackscript_publicize", store.entity(changed))
    return view(ctx, changed)


def delete(ctx: Context, script: StackScript) -> None:
    """Delete a script. Instances that were deployed with it are unaffected."""
    if script.is_public:
        raise Invalid(PUBLIC_STAYS)
    access.forget(ctx, store.KIND, script.id)
    ctx.db.delete(store.stackscript, account_id=ctx.account_id, id=script.id)
    record(ctx, "stackscript_delete", store.entity(script))


def _read(script: str) -> tuple[list[Any], list[Reason]]:
    """Return the fields of a script, and its problems."""
    if not script.startswith("#!"):
        return [], [Reason("Must start with #!", "script")]
    try:
        return msgspec.to_builtins(udf.parse(script)), []
    except udf.UdfError as error:
        return [], [Reason(str(error), "script")]


def _about_images(ctx: Context, listed: Sequence[str]) -> Iterator[Reason]:
    for slug in dict.fromkeys(listed):
        image = None if slug == store.ANY_IMAGE else images.offered(ctx, slug)
        if slug != store.ANY_IMAGE and (image is None or not image.is_public):
            yield Reason("images is not valid", "images")
            return


def _about_publishing(username: str, *, public: bool) -> Iterator[Reason]:
    """Refuse a public script that would pass for one of the catalogue."""
    if public and username.lower() == store.MAKER:
        yield Reason(RESERVED, "is_public")


def _refuse(wrong: Iterable[Reason]) -> None:
    reasons = list(wrong)
    if reasons:
        raise Invalid.all(reasons)
