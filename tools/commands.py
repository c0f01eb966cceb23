"""The commands of the command line, read off the OpenAPI document: one command for each operation.

The words of a command come from its path: ``POST /v4/compute/instances/{id}/disks`` is ``disks create INSTANCE``.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from tools.command_fields import columns_of, fields_of, filters_of, resolved, scalar_type

Document = dict[str, Any]
Node = tuple[str, ...]
"""The literal parts of a path, with a star for each part that names an object."""

FILE = "src/crofter/client/commands.json"
PART = "*"
METHODS = ("get", "post", "put", "delete")
OF_ITEM = {"get": "view", "put": "update", "delete": "delete", "post": "create"}
LEFT_OUT = ("account", "compute", "networking", "support")
"""First parts of paths that say nothing to who reads the command: ``crofter instances``, not ``compute instances``."""
SHORT = ("compute", "instances", PART)
"""Parts of an instance get short commands: ``crofter disks``, not ``instances disks``."""
NICE = {"oauth-clients": "oauth", "profile sshkeys": "ssh-keys", "profile tokens": "tokens"}
NICE_VERBS = {("managed", "credentials", PART, "update"): "change-secrets"}


def render(document: Document) -> str:
    """Return the list with a line for each command, so that a changed operation is a changed line."""
    lines = ",\n".join(json.dumps(command, ensure_ascii=False) for command in commands(document))
    return f"[\n{lines}\n]\n"


def commands(document: Document) -> list[dict[str, Any]]:
    names = _Names(document)
    made = [
        _command(document, names, path, method)
        for path, operations in document["paths"].items()
        for method in METHODS
        if method in operations
    ]
    return sorted(made, key=lambda command: command["words"])


def full_path(document: Document, path: str) -> str:
    """With the version, which may be in the address of the server instead."""
    servers = document["paths"][path].get("servers") or document.get("servers") or [{"url": "/"}]
    return urlsplit(str(servers[0]["url"])).path.rstrip("/") + path


def node_of(document: Document, path: str) -> Node:
    parts = full_path(document, path).strip("/").split("/")[1:]
    return tuple(PART if part.startswith("{") else part for part in parts)


class _Names:
    """From paths to the words of commands."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.operations = {
            (node_of(document, path), method): operation
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
            if method in METHODS
        }
        self.nodes = {node for node, _ in self.operations}
        asked = [(key, self._plain(*key)) for key in self.operations]
        uses = Counter(words for _, words in asked)
        self.words = {
            key: words if uses[words] == 1 else (*words[:-1], self.operations[key]["operationId"].replace("_", "-"))
            for key, words in asked
        }

    def _plain(self, node: Node, method: str) -> tuple[str, ...]:
        if node in NICE_VERBS:
            return (*self._group(node[:-2]), NICE_VERBS[node])
        if node[-2:] == (PART, PART):
            last = list(_parameters(self.document, self.operations[node, method], "path"))[-1]["name"]
            return (*self._group(node[:-3]), f"{node[-3]}-{last.lower()}")
        if node[-1] == PART:
            return (*self._group(node[:-1]), OF_ITEM[method])
        if not self._is_group(node):
            return (*self._group(node[:-1]), node[-1])
        if method == "get" and self._is_collection(node):
            return (*self._group(node), "list")
        return (*self._group(node), OF_ITEM[method])

    def _has_items(self, node: Node) -> bool:
        below = (*node, PART)
        return any(other[: len(below)] == below and other[len(below) :][:1] != (PART,) for other in self.nodes)

    def _is_collection(self, node: Node) -> bool:
        return self._has_items(node) or is_listing(self.document, self.operations.get((node, "get")))

    def _is_group(self, node: Node) -> bool:
        methods = [method for known, method in self.operations if known == node]
        deeper = any(other[: len(node)] == node and other[len(node) :][:1] not in ((), (PART,)) for other in self.nodes)
        return self._is_collection(node) or len(methods) != 1 or deeper

    def _group(self, node: Node) -> tuple[str, ...]:
        words = tuple(part for part in node if part != PART)
        if len(words) > 1 and words[0] in LEFT_OUT and self._is_collection(node[:2]):
            words = words[1:]
        short = node[len(SHORT) : len(SHORT) + 1]
        if node[: len(SHORT)] == SHORT and short and self._has_items((*SHORT, *short)) and self._free(short[0]):
            words = words[1:]
        for long, nice in NICE.items():
            known = tuple(long.split())
            if words[: len(known)] == known:
                words = (nice, *words[len(known) :])
        return words

    def _free(self, word: str) -> bool:
        """True if no collection has that name."""
        return not any(
            node[-1] == word and PART not in node and (len(node) == 1 or node[0] in LEFT_OUT) for node in self.nodes
        )


def is_listing(document: Document, operation: Document | None) -> bool:
    return operation is not None and any(
        parameter["name"] == "page" for parameter in _parameters(document, operation, "query")
    )


def _parameters(document: Document, operation: Document, place: str, path: str | None = None) -> list[Document]:
    """Return the parameters of the operation and of its path."""
    if path is None:
        path = next(path for path, known in document["paths"].items() if operation in known.values())
    listed = [*document["paths"][path].get("parameters", []), *operation.get("parameters", [])]
    parameters = [resolved(document, parameter) for parameter in listed]
    return [parameter for parameter in parameters if parameter["in"] == place]


def _command(document: Document, names: _Names, path: str, method: str) -> dict[str, Any]:
    operation = document["paths"][path][method]
    words = names.words[node_of(document, path), method]
    query = [
        {
            "name": parameter["name"],
            "type": scalar_type(document, parameter["schema"]),
            "help": parameter.get("description", ""),
        }
        for parameter in _parameters(document, operation, "query", path)
        if parameter["name"] not in ("page", "page_size")
    ]
    kind, item = _answer(document, operation)
    listing = is_listing(document, operation)
    made: dict[str, Any] = {
        "words": list(words),
        "method": method.upper(),
        "path": full_path(document, path),
        "operation": operation["operationId"],
        "args": _args(path),
        "help": operation["summary"],
        "more": operation.get("description", ""),
        "events": operation.get("x-events", []),
        "query": query,
        "list": listing,
        "filters": filters_of(document, _parameters(document, operation, "header", path), item) if listing else {},
        "columns": columns_of(document, item) if listing else [],
        "answer": kind,
        "key": any(
            parameter["name"] == "Idempotency-Key" for parameter in _parameters(document, operation, "header", path)
        ),
        **_sent(document, operation),
    }
    return {name: value for name, value in made.items() if value or name in ("words", "args")}


def _args(path: str) -> list[str]:
    """Return the names of path parameters for the help, by their collections."""
    parts = path.strip("/").split("/")
    doubled = {at for at, part in enumerate(parts[:-1]) if part.startswith("{") and parts[at + 1].startswith("{")}
    doubled |= {at + 1 for at in doubled}
    return [
        (part.strip("{}") if at in doubled else _singular(parts[at - 1].split("-")[-1])).upper()
        for at, part in enumerate(parts)
        if part.startswith("{")
    ]


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") else word


def _answer(document: Document, operation: Document) -> tuple[str, Document]:
    """How the answer comes, and what one item of it looks like."""
    good: Document = next((answer for status, answer in operation["responses"].items() if status.startswith("2")), {})
    content = resolved(document, good).get("content", {})
    if "application/json" not in content:
        return ("stream" if "text/event-stream" in content else "file" if content else "nothing"), {}
    schema = resolved(document, content["application/json"]["schema"])
    if is_listing(document, operation):
        schema = resolved(document, schema["properties"]["data"]["items"])
    return "", schema


def _sent(document: Document, operation: Document) -> dict[str, Any]:
    """Return the description of the body: fields, any JSON, or a file."""
    content = resolved(document, operation.get("requestBody", {})).get("content", {})
    if not content:
        return {}
    if "application/json" not in content:
        return {"file": sorted(content)}
    return {"body": True, "fields": fields_of(document, content["application/json"]["schema"])}
