"""Additional accounts on a measured server, and calls of the sandbox API."""

from __future__ import annotations

import json
from typing import Any

from bench import client
from bench.client import Make, request
from bench.processes import TOKEN, Server
from bench.work import INSTANCES

ACCOUNTS = 8


def asked(server: Server, method: str, path: str, token: str = TOKEN, body: Any = None) -> Any:
    """Return the response to a request."""
    content = json.dumps(body or {}).encode() if method != "GET" else b""
    answer = client.send(server.port, request(method, path, token, body=content))
    if answer.status != 200:
        raise RuntimeError(f"answered {answer.status}: {answer.body.decode()[:200]}")
    return json.loads(answer.body)


def opened(server: Server, amount: int = ACCOUNTS) -> list[str]:
    """A token for each of so many new accounts."""
    return [asked(server, "POST", "/_sandbox/accounts")["token"] for _ in range(amount)]


def creates_of(tokens: list[str]) -> Make:
    """Instances that are created in these accounts, one after the other."""

    def make(number: int) -> bytes:
        body = b'{"type": "g6-nanode-1", "region": "us-east", "label": "measured-%08d"}' % number
        return request("POST", INSTANCES, tokens[number % len(tokens)], body=body)

    return make
