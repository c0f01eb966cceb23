"""The console's files: one page for every address with a policy of its own, assets for ever, nothing in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest

from crofter.edge import console
from tests.cloud import Cloud

INDEX = '<!doctype html><meta name="nonce" content="%NONCE%"><meta name="crofter" content="%FACTS%">'
SCRIPT = "export const answer = 42;\n" * 20


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    place = tmp_path_factory.mktemp("console")
    (place / "assets").mkdir()
    (place / "index.html").write_text(INDEX)
    (place / "favicon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (place / "assets" / "index-B5npmjEv.js").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "folder", lambda: place)
        cloud = Cloud(seed=7)
    yield cloud
    cloud.close()


def page(cloud: Cloud, path: str = "/console/", **headers: str) -> httpx2.Response:
    return cloud.sandbox.get(path, headers={"Accept": "text/html", **headers})


def nonce_of(answer: httpx2.Response) -> str:
    match = re.search(r"'nonce-([0-9a-f]{32})'", answer.headers["content-security-policy"])
    assert match is not None
    return match[1]


def test_a_page_runs_and_looks_as_its_own_files_say_and_is_shown_in_no_frame(built: Cloud) -> None:
    answer = page(built)
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["font-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["style-src"] == f"'self' 'nonce-{nonce_of(answer)}'"
    assert f'content="{nonce_of(answer)}"' in answer.text
    assert "&quot;sandbox&quot;: true" in answer.text
    for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")):
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == "no-cache"


def test_each_answer_has_a_nonce_of_its_own_and_none_is_drawn_from_the_seed(built: Cloud) -> None:
    before = built.runtime.rng.state()
    assert len({nonce_of(page(built)) for _ in range(5)}) == 5
    assert built.runtime.rng.state() == before


def test_every_address_inside_is_the_one_page(built: Cloud) -> None:
    for path in ("/console", "/console/instances/7", "/console/index.html", "/console/a/../b?x=1"):
        answer = page(built, path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        assert 'name="nonce"' in answer.text


def test_an_asset_is_kept_for_ever_and_an_unknown_one_is_not_the_page(built: Cloud) -> None:
    answer = page(built, "/console/assets/index-B5npmjEv.js", **{"Accept-Encoding": "gzip"})
    assert answer.text == SCRIPT
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"].startswith("text/javascript")
    plain = page(built, "/console/assets/index-B5npmjEv.js", **{"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == SCRIPT
    for path in ("/console/assets/index-OLD.js", "/console/assets/", "/console/assets/../../../../etc/passwd"):
        missing = page(built, path)
        assert missing.status_code == 404, path
        assert "html" not in missing.headers["content-type"]


def test_the_root_leads_to_the_console_unless_only_json_is_accepted(built: Cloud) -> None:
    answer = page(built, "/")
    assert (answer.status_code, answer.headers["location"]) == (302, "/console/")
    for accepted in ("*/*", "text/html,application/xhtml+xml,application/json;q=0.5,*/*;q=0.1"):
        assert built.sandbox.get("/", headers={"Accept": accepted}).headers["location"] == "/console/"
    assert built.sandbox.get("/", headers={"Accept": "application/json"}).status_code == 404
    assert built.sandbox.post("/console/").status_code == 405


def test_the_icon_is_there_and_the_login_pages_link_it(built: Cloud) -> None:
    assert '<link rel="icon" href="/favicon.ico">' in page(built, "/login/").text
    assert page(built, "/favicon.ico").headers["content-type"] == "image/svg+xml"


def test_without_built_files_it_says_how_to_build_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "folder", lambda: None)
    cloud = Cloud()
    try:
        assert "make console" in page(cloud).text
        assert page(cloud, "/").headers["location"] == "/docs"
    finally:
        cloud.close()
