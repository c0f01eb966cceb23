"""A person with a browser that has no scripts: follows links, fills in forms, keeps cookies."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from crofter import passwords
from crofter.clock import Setting
from crofter.engine import timekeeping
from crofter.resources.users.store import user
from tests.cloud import Cloud

PASSWORD = "seven-lambs-on-a-green-hill"


class _Forms(HTMLParser):
    """The forms of a page: where each leads, and what its fields hold."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.forms.append((given.get("action") or "", {}))
        elif tag == "input" and self.forms and given.get("type") != "checkbox":
            self.forms[-1][1][given.get("name") or ""] = given.get("value") or ""


class Visitor:
    def __init__(self, cloud: Cloud, **headers: str) -> None:
        self.cloud = cloud
        self.http = cloud.client(None, **{"Accept": "text/html", **headers})
        self.page: httpx2.Response

    def goes_to(self, url: str) -> httpx2.Response:
        self.page = self.http.get(url)
        return self.page

    @property
    def forms(self) -> list[tuple[str, dict[str, str]]]:
        parser = _Forms()
        parser.feed(self.page.text)
        return parser.forms

    def sends(self, headers: dict[str, str] | None = None, form: int = -1, **fields: Any) -> httpx2.Response:
        """Send a form of the page, by default the last one, with these fields."""
        action, kept = self.forms[form]
        self.page = self.http.post(action, data={**kept, **fields}, headers=headers or {})
        return self.page

    def signs_in(self, username: str, password: str = PASSWORD, **fields: Any) -> httpx2.Response:
        self.goes_to("/login/")
        return self.sends(username=username, password=password, **fields)

    @property
    def is_signed_in(self) -> bool:
        return "Signed in" in self.http.get("/login/").text


def give_password(cloud: Cloud, username: str, password: str = PASSWORD) -> None:
    hashed = passwords.of(cloud.runtime).hash(password)
    with cloud.runtime.database.write() as db:
        assert db.update(user, {"username": username}, password=hashed) == 1


def leap(cloud: Cloud, seconds: int) -> None:
    """Move a standing clock without the work of every hour between."""
    timekeeping.put(cloud.runtime, Setting("frozen", 0, cloud.runtime.clock.now() + seconds * 1000))


def answer_of(page: httpx2.Response) -> dict[str, str]:
    """Return the parameters of a redirect to an app."""
    assert page.status_code == 302, page.text
    return {name: values[0] for name, values in parse_qs(urlsplit(page.headers["location"]).query).items()}
