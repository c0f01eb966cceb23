"""A served server whose every answer is kept, with the canaries that were let into it."""

from __future__ import annotations

import itertools
import re
import secrets
import string
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from msgspec import Struct

from tests.canaries.disguises import SHORT, Canary
from tests.canaries.places import Store
from tests.served import Process

ALPHABET = string.ascii_letters + string.digits
LENGTH = 20
Send = Callable[[], httpx2.Response]
SHOWN_AGAIN = {
    r"GET /v4(beta)?/longview/clients/\d+ -> 200": {"LongviewClientView.api_key", "LongviewClientView.install_code"}
}
"""Responses that show a secret at each request, because its owner needs it more than once."""


class RecordedAnswer(Struct):
    """An answer, and the canaries that it may show: those that it has made."""

    about: str
    content: bytes
    shows: set[str]


class Application:
    """Speaks to one server. What is sent once can be sent again later, when everything goes wrong."""

    def __init__(self, store: Store, url: str) -> None:
        self.store = store
        self.url = url
        self.canaries: list[Canary] = []
        self.recorded: list[RecordedAnswer] = []
        self.again: list[Send] = []
        self._numbers = itertools.count(1)

    # ---- speaking ---------------------------------------------------------------------------------------------------

    def client(self, token: str | None, **headers: str) -> httpx2.Client:
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        hooks = {"response": [self._record]}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=60, event_hooks=hooks)

    def _record(self, answer: httpx2.Response) -> None:
        answer.read()
        # Where cookies are set they are shown on purpose; and a length may be any number, even that of a card.
        shown = [header for header in answer.headers.multi_items() if header[0] not in ("set-cookie", "content-length")]
        headers = "\n".join(f"{name}: {value}" for name, value in shown)
        about = f"{answer.request.method} {answer.request.url.path} -> {answer.status_code}"
        shows = set[str]().union(*(names for pattern, names in SHOWN_AGAIN.items() if re.fullmatch(pattern, about)))
        self.recorded.append(RecordedAnswer(about, headers.encode() + b"\n\n" + answer.content, shows))

    # ---- canaries ---------------------------------------------------------------------------------------------------

    def canary(self, name: str) -> str:
        """A password as people make them, with letters that every encoding writes differently."""
        core = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        return self._kept(Canary(name, f'é <&"\\/+ {core}', core))

    def plain_canary(self, name: str) -> str:
        """Return a canary of letters and digits only."""
        core = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        return self._kept(Canary(name, core, core))

    def known(self, name: str, value: str, *, shown: int = 0) -> str:
        """A secret that is what it is, and of which the last characters may be shown."""
        return self._kept(Canary(name, value, value[: len(value) - shown]))

    def enclosed(self, name: str, value: str, core: str) -> str:
        """A secret of several lines, of which one is looked for."""
        return self._kept(Canary(name, value, core))

    def learn(self, name: str, value: str, *, shown: int = 0, also: tuple[bytes, ...] = ()) -> str:
        """A secret that the last answer has made; its first characters may be shown later on."""
        self.excuse(name)
        return self._kept(Canary(name, value, value[shown:], also))

    def excuse(self, name: str) -> None:
        """The last answer shows a canary on purpose."""
        self.recorded[-1].shows.add(name)

    def _kept(self, canary: Canary) -> str:
        assert canary.name not in {other.name for other in self.canaries}, canary.name
        self.canaries.append(canary)
        return canary.value

    def answers(self, canary: Canary) -> bytes:
        """Return all responses except those of the request that created the canary."""
        return b"\n".join(answer.content for answer in self.recorded if canary.name not in answer.shows)

    def name(self, kind: str) -> str:
        """Return an unused name."""
        return f"{kind}-{next(self._numbers)}"

    # ---- sending ----------------------------------------------------------------------------------------------------

    def send(self, client: httpx2.Client, path: str, body: dict[str, Any], *secret: str, **more: Any) -> Any:
        """A body with secrets in it: first in every way in which it can go wrong, then as it should be.

        ``secret`` are its secret values. What the right one answers is returned.
        """
        self.spoil(client, path, body, *secret)
        answer = client.post(path, json=body, **more)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        self.again.append(lambda: client.post(path, json=body))
        return answer.json()

    def spoil(self, client: httpx2.Client, path: str, body: dict[str, Any], *secret: str) -> None:
        whole = httpx2.Request("POST", "http://x", json=body).read()
        typed = {"Content-Type": "application/json"}
        client.post(path, json=body, headers={"Prefer": "plan"})
        client.post(path, content=whole[:-1] + b",}", headers=typed)
        client.post(path, content=whole, headers={"Content-Type": "text/plain"})
        client.post(path, data={"form": whole.decode()})
        client.post(path, content=whole + b" " * (1 << 20), headers=typed)
        client.put(path, json=body)
        client.post(path, json=_wrapped(body, secret, lambda value: [value]))
        client.post(path, json=_wrapped(body, secret, lambda value: {value: value}))
        client.post(path, json=_wrapped(body, secret, lambda value: value * 400))
        for value in secret:
            client.get(path, params={"secret": value, "page": value})
            if len(value) >= SHORT:  # a few digits in a path cannot be distinguished from an id
                client.get(f"{path}/{quote(value, safe='')}")
            client.get(f"/v4/account/users/{quote(value, safe='')}")
            client.get(f"/{quote(value, safe='')}")
            client.get("/v4/tags", headers={b"Authorization": b"Bearer " + value.encode()})
            client.get("/login/", params={"next": value, "password": value})
            client.post("/oauth/token", data={"grant_type": value, "client_id": value, "client_secret": value})
            client.get(f"/oauth/authorize?{urlencode({'client_id': value, 'redirect_uri': value})}")


def _wrapped(body: Any, secret: tuple[str, ...], change: Callable[[str], Any]) -> Any:
    """The same body with its secrets changed, however deep they are."""
    if isinstance(body, dict):
        return {name: _wrapped(value, secret, change) for name, value in body.items()}
    if isinstance(body, list):
        return [_wrapped(item, secret, change) for item in body]
    return change(body) if body in secret or _encloses(body, secret) else body


def _encloses(value: Any, secret: tuple[str, ...]) -> bool:
    return isinstance(value, str) and any(len(part) >= SHORT and part in value for part in secret)


def opened(process: Process, store: Store) -> Application:
    return Application(store, process.url)
