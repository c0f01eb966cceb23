"""Writes docs/guides/scopes.md: every scope, and the operations that it opens."""

from __future__ import annotations

from collections.abc import Iterable

from crofter.edge.endpoint import Endpoint
from crofter.scopes import READ, RESOURCES, WRITE

FILE = "docs/guides/scopes.md"
HEAD = """# Scopes: what a token may do

A token carries a list of scopes, separated by spaces. Each names a resource and a level. `read_write` includes
`read_only`, and `*` includes everything. A request without the scope gets 403, and its `WWW-Authenticate` header names
the missing one ([errors](../errors.md)). Restricted users need a grant besides. This page is
generated from the endpoints.

```sh
curl -s http://127.0.0.1:8420/v4/profile/tokens -H "Authorization: Bearer first-steps" \\
    --json '{"label": "reader", "scopes": "events:read_only domains:read_only"}'
```

```json
{"label": "reader", "scopes": "events:read_only domains:read_only", "token": "ccp_…", "…": "…"}
```

Operations that need no scope are not listed: they are public, or take any token.

| Scope | Opens |
|---|---|
"""


def render(endpoints: Iterable[Endpoint]) -> str:
    listed = list(endpoints)
    scopes = [f"{resource}:{level}" for resource in RESOURCES for level in (READ, WRITE)]
    return HEAD + "".join(
        _row(scope, [each.name for each in listed if scope in each.scope.split()]) for scope in scopes
    )


def _row(scope: str, names: list[str]) -> str:
    return f"| `{scope}` | {', '.join(f'`{name}`' for name in names) or 'no operation of this server'} |\n"
