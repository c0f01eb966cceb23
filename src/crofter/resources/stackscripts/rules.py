"""Which script may be deployed with which image and data, and what then runs."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from crofter.context import Context
from crofter.errors import NotFound, Reason
from crofter.kinds import inaccessible
from crofter.resources.images.store import Image
from crofter.resources.stackscripts import store, udf
from crofter.resources.stackscripts.store import StackScript
from crofter.resources.users import access

UNSUPPORTED = "The requested distribution is not supported by this stackscript."


def complaints(ctx: Context, stackscript_id: int, data: Mapping[str, Any], image: Image | None) -> Iterator[Reason]:
    """What is wrong with deploying a script; an image that is not there is for the caller of this to complain of."""
    script = store.find(ctx, stackscript_id)
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
    """What runs at the first boot, with the data that it was deployed with in its environment."""
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
