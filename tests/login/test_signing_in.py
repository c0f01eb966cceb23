"""Signing in and out, as a browser without scripts does it."""

from __future__ import annotations

import copy
import re
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyotp
import pytest
from httpx2 import Client

from crofter import passwords
from crofter.db import query
from crofter.db.sql import select
from crofter.errors import TooMany
from crofter.login import pages, store
from crofter.resources.logins.store import device
from crofter.resources.users.store import user
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.login.visitor import PASSWORD, Visitor, leap


def owner(cloud: Cloud) -> Client:
    return cloud.client(cloud.token("ada"))


@pytest.mark.both
def test_a_person_signs_in_and_out_again(ada: Visitor) -> None:
    assert ada.goes_to("/login/").status_code == 200
    page = ada.sends(username="ada", password=PASSWORD)
    assert (page.status_code, page.headers["location"]) == (303, "/console/")
    assert "You are signed in as <strong>ada</strong>" in ada.goes_to("/login/").text
    assert "Signed out" in ada.sends().text
    assert not ada.is_signed_in


def test_each_login_is_on_record(cloud: Cloud, ada: Visitor) -> None:
    ada.signs_in("ada", "wrong")
    ada.signs_in("ada")
    logins = owner(cloud).get("/v4/account/logins").json()["data"]
    assert sorted((login["username"], login["status"], login["ip"], login["restricted"]) for login in logins) == [
        ("ada", "failed", "127.0.0.1", False),
        ("ada", "successful", "127.0.0.1", False),
    ]


@pytest.mark.parametrize(
    ("username", "password"),
    [("ada", "wrong"), ("ada", ""), ("ada", PASSWORD + "x"), ("nobody", PASSWORD), ("", ""), ("ADA", PASSWORD)],
)
def test_a_wrong_login_is_refused_in_the_same_words_whoever_is_named(
    ada: Visitor, username: str, password: str
) -> None:
    page = ada.signs_in(username, password)
    assert page.status_code == 401
    assert "Username or password is wrong." in page.text
    assert not ada.is_signed_in


def test_a_user_without_a_password_cannot_sign_in(cloud: Cloud, ada: Visitor) -> None:
    cloud.account(username="bob")
    assert ada.signs_in("bob", "").status_code == 401
    assert ada.signs_in("bob", "nobody").status_code == 401


def test_a_user_of_a_closed_account_cannot_sign_in(cloud: Cloud, ada: Visitor) -> None:
    ada.signs_in("ada")
    with cloud.runtime.database.write() as db:
        db.raw("UPDATE account SET closed = " + ("1" if db.dialect == "sqlite" else "true"))
    assert not ada.is_signed_in
    assert ada.signs_in("ada").status_code == 401


def test_the_cookies_are_kept_from_scripts_and_from_other_sites(ada: Visitor) -> None:
    page = ada.signs_in("ada", remember_me="yes")
    cookies = page.headers.get_list("set-cookie")
    assert sorted(cookie.partition("=")[0] for cookie in cookies) == [
        "crofter_device",
        "crofter_known",
        "crofter_session",
    ]
    for cookie in cookies:
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/" in cookie
        assert "Domain" not in cookie
    lives = [re.findall(r"Max-Age=(\d+)", cookie) for cookie in sorted(cookies)]
    assert lives == [["2592000"], ["7776000"], []]


def test_a_session_is_another_one_after_each_login(ada: Visitor) -> None:
    ada.signs_in("ada")
    first = ada.http.cookies["crofter_session"]
    ada.http.cookies.set("crofter_session", first)
    ada.http.get("/login/logout")
    stranger = Visitor(ada.cloud)
    stranger.http.cookies.set("crofter_session", "f" * 64)  # planted beforehand
    stranger.signs_in("ada")
    assert stranger.http.cookies.get("crofter_session", domain="127.0.0.1") not in ("f" * 64, first)


def test_a_second_login_ends_the_session_before_it(ada: Visitor) -> None:
    ada.signs_in("ada")
    before = ada.http.cookies["crofter_session"]
    ada.page = ada.http.get("/login/reset")  # any page with a form
    token = ada.forms[0][1]["form_token"]
    ada.page = ada.http.post("/login/", data={"form_token": token, "username": "ada", "password": PASSWORD})
    assert ada.page.status_code == 303
    ada.http.cookies.clear()
    ada.http.cookies.set("crofter_session", before)
    assert not ada.is_signed_in


def test_a_session_ends_after_half_an_hour_of_rest(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    ada.signs_in("ada")
    for _ in range(3):
        cloud.advance(29 * 60)
        assert ada.is_signed_in
    cloud.advance(31 * 60)
    assert not ada.is_signed_in


def test_a_session_ends_after_twelve_hours_in_any_case(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    ada.signs_in("ada")
    for _ in range(12 * 60 // 20 - 1):
        cloud.advance(20 * 60)
        assert ada.is_signed_in
    cloud.advance(20 * 60)
    assert not ada.is_signed_in


def test_a_form_of_another_page_is_refused(ada: Visitor) -> None:
    ada.goes_to("/login/")
    fields: dict[str, Any] = {"username": "ada", "password": PASSWORD}
    assert ada.http.post("/login/", data=fields).status_code == 403
    assert ada.sends(**fields, form_token="0" * 64).status_code == 403
    stranger = Visitor(ada.cloud)
    stranger.goes_to("/login/")
    token = stranger.forms[0][1]["form_token"]
    ada.goes_to("/login/")
    assert ada.sends(**fields, form_token=token).status_code == 403
    assert not ada.is_signed_in


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303),
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({}, 303),
    ],
)
def test_a_form_comes_from_our_own_origin(ada: Visitor, headers: dict[str, str], status: int) -> None:
    ada.goes_to("/login/")
    assert ada.sends(headers, username="ada", password=PASSWORD).status_code == status


def test_our_own_origin_may_send_forms(ada: Visitor) -> None:
    ada.goes_to("/login/")
    assert ada.sends({"Origin": ada.cloud.url}, username="ada", password=PASSWORD).status_code == 303


def test_after_five_wrong_attempts_each_one_costs_a_longer_wait(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    assert [ada.signs_in("ada", "wrong").status_code for _ in range(5)] == [401] * 5
    for wait in (60, 120, 240, 480, 900, 900):
        refused = ada.signs_in("ada")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, str(wait))
        cloud.advance(wait - 1)
        assert ada.signs_in("ada").status_code == 429
        cloud.advance(1)
        assert ada.signs_in("ada", "wrong").status_code == 401
    cloud.advance(900)
    assert ada.signs_in("ada").status_code == 303
    assert Visitor(cloud).signs_in("ada", "wrong").status_code == 401  # and the count has begun anew


def test_a_name_that_nobody_has_is_slowed_down_all_the_same(ada: Visitor) -> None:
    assert [ada.signs_in("nobody", "x").status_code for _ in range(6)] == [401] * 5 + [429]
    assert ada.signs_in("ada").status_code == 303


def test_strangers_cannot_keep_a_person_out_of_a_trusted_browser(cloud: Cloud, ada: Visitor) -> None:
    ada.signs_in("ada", remember_me="yes")
    stranger = Visitor(cloud)
    for _ in range(6):
        stranger.signs_in("ada", "wrong")
    assert stranger.signs_in("ada").status_code == 429
    ada.page = ada.http.get("/login/")
    ada.sends()
    assert ada.signs_in("ada").status_code == 303


def test_many_guesses_at_once_are_as_many_as_one_after_the_other(cloud: Cloud, ada: Visitor) -> None:
    answers = at_once(*(partial(Visitor(cloud).signs_in, "ada", "wrong") for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [401] * 5 + [429] * 7


def test_twenty_wrong_attempts_of_an_address_slow_it_down_whoever_is_named(tmp_path: Path) -> None:
    settings = tmp_path / "crofter.toml"
    settings.write_text('[rate_limits]\nlogin_address = "20 per 15 minute"\n')
    cloud = Cloud(config=str(settings))
    try:
        cloud.freeze()
        stranger = Visitor(cloud)
        assert [stranger.signs_in(f"user-{n}", "x").status_code for n in range(20)] == [401] * 20
        refused = stranger.signs_in("user-20", "x")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        cloud.advance(60)
        assert stranger.signs_in("user-20", "x").status_code == 401
    finally:
        cloud.close()


def test_a_password_hashed_at_another_cost_is_hashed_anew(cloud: Cloud, ada: Visitor) -> None:
    old = passwords.Passwords(memory=2, passes=1).hash(PASSWORD)
    kept = query(select(user.c.password).where(user.c.username == "ada"))
    with cloud.runtime.database.write() as db:
        db.update(user, {"username": "ada"}, password=old)
    assert ada.signs_in("ada").status_code == 303
    with cloud.runtime.database.read() as db:
        anew = db.value(kept)
    assert anew != old
    assert passwords.of(cloud.runtime).verify(anew, PASSWORD)


def test_one_password_is_checked_at_a_time_and_twenty_wait() -> None:
    from concurrent.futures import ThreadPoolExecutor, as_completed
    from itertools import islice

    checker = passwords.Passwords(cheap=True)
    with ThreadPoolExecutor(40) as pool:
        with checker._turn:  # simulates a check that never ends
            attempts = [pool.submit(checker.verify, None, "x") for _ in range(40)]
            refused = list(islice(as_completed(attempts), 19))
            assert all(isinstance(attempt.exception(), TooMany) for attempt in refused)
        assert [attempt.result() for attempt in attempts if attempt not in refused] == [False] * 21


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/oauth/authorize", "javascript:alert(1)", "/v4"],
)
def test_a_login_leads_nowhere_else(ada: Visitor, target: str) -> None:
    ada.page = ada.http.get("/login/", params={"next": target})
    assert ada.sends(username="ada", password=PASSWORD).headers["location"] == "/console/"


def two_factors(cloud: Cloud) -> tuple[pyotp.TOTP, str]:
    person = owner(cloud)
    secret = person.post("/v4/profile/tfa-enable", json={}).json()["secret"]
    codes = pyotp.TOTP(secret)
    now = cloud.runtime.clock.now() // 1000
    scratch = person.post("/v4/profile/tfa-enable-confirm", json={"tfa_code": codes.at(now)}).json()["scratch"]
    return codes, scratch


def code_now(cloud: Cloud, codes: pyotp.TOTP) -> str:
    cloud.advance(60)
    return codes.at(cloud.runtime.clock.now() // 1000)


def wrong_codes(cloud: Cloud, codes: pyotp.TOTP) -> list[str]:
    """Some that are not right by chance, now or soon."""
    now = cloud.runtime.clock.now() // 1000
    right = {codes.at(now + 30 * steps) for steps in range(-3, 6)}
    return [code for code in map("{:06}".format, range(20)) if code not in right]


def test_a_second_factor_is_asked_for_after_the_password(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    codes, _ = two_factors(cloud)
    page = ada.signs_in("ada")
    assert page.status_code == 200
    assert "Enter your code" in page.text
    assert not ada.is_signed_in
    assert "The code is wrong" in ada.sends(tfa_code=wrong_codes(cloud, codes)[0]).text
    assert ada.sends(tfa_code=code_now(cloud, codes)).status_code == 303
    assert ada.is_signed_in


def test_a_code_may_come_with_the_password_and_works_once(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    codes, _ = two_factors(cloud)
    code = code_now(cloud, codes)
    assert ada.signs_in("ada", tfa_code=code).status_code == 303
    other = Visitor(cloud)
    assert other.signs_in("ada", tfa_code=code).status_code == 401
    assert not other.is_signed_in


def test_a_scratch_code_works_once(cloud: Cloud, ada: Visitor) -> None:
    _, scratch = two_factors(cloud)
    ada.signs_in("ada")
    assert ada.sends(tfa_code=scratch).status_code == 303
    other = Visitor(cloud)
    other.signs_in("ada")
    assert other.sends(tfa_code=scratch).status_code == 401


def test_codes_cannot_be_guessed_quickly(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    codes, _ = two_factors(cloud)
    ada.signs_in("ada")
    *five, sixth = wrong_codes(cloud, codes)[:6]
    assert [ada.sends(tfa_code=code).status_code for code in five] == [401] * 5
    assert ada.sends(tfa_code=sixth).status_code == 429
    assert ada.signs_in("ada", tfa_code=codes.at(cloud.runtime.clock.now() // 1000)).status_code == 429


def test_the_ticket_to_the_second_step_is_good_in_its_own_browser_for_five_minutes(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    codes, _ = two_factors(cloud)
    ada.signs_in("ada")
    ticket = ada.forms[0][1]["ticket"]
    stranger = Visitor(cloud)
    stranger.goes_to("/login/")
    assert stranger.sends(ticket=ticket, tfa_code=code_now(cloud, codes)).status_code == 401
    cloud.advance(5 * 60)
    assert ada.sends(tfa_code=code_now(cloud, codes)).status_code == 401


def test_a_trusted_browser_is_not_asked_for_a_code_for_thirty_days(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    codes, _ = two_factors(cloud)
    ada.signs_in("ada", remember_me="yes")
    ada.sends(tfa_code=code_now(cloud, codes))
    assert ada.is_signed_in
    devices = owner(cloud).get("/v4/profile/devices").json()["data"]
    assert [(device["last_remote_addr"], device["user_agent"].startswith("python-httpx2")) for device in devices] == [
        ("127.0.0.1", True)
    ]
    leap(cloud, 29 * 86400)
    assert ada.signs_in("ada").status_code == 303
    leap(cloud, 86400)
    assert "Enter your code" in ada.signs_in("ada").text


def test_taking_trust_back_brings_the_code_back(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    codes, _ = two_factors(cloud)
    ada.signs_in("ada", remember_me="yes")
    ada.sends(tfa_code=code_now(cloud, codes))
    person = owner(cloud)
    [device] = person.get("/v4/profile/devices").json()["data"]
    assert person.delete(f"/v4/profile/devices/{device['id']}").status_code == 200
    cloud.advance(3600)
    assert "Enter your code" in ada.signs_in("ada").text


def test_what_has_run_out_is_forgotten(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    ada.signs_in("ada", remember_me="yes")
    Visitor(cloud).signs_in("ada", "wrong")
    leap(cloud, 30 * 86400)
    cloud.advance(86400)
    with cloud.runtime.database.read() as db:
        for table in (store.session, store.attempt, device):
            assert db.all(query(select(table), lambda *values: values)) == []


def test_the_pages_say_what_browsers_must_not_do(ada: Visitor) -> None:
    for path in ("/login/", "/login/reset", "/login/password", "/login/logout", "/login/nothing", "/oauth/authorize"):
        headers = ada.goes_to(path).headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self';"
            " frame-ancestors 'none'; base-uri 'none'"
        ), path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_odd_requests_are_answered_in_kind(ada: Visitor) -> None:
    http = ada.http
    assert http.get("/login/nothing").status_code == 404
    assert http.delete("/login/").status_code == 405
    assert http.post("/login/", content=b"{}", headers={"Content-Type": "application/json"}).status_code == 415
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert http.post("/login/", content=b"username=%ff", headers=form).status_code == 400
    assert http.post("/login/", content=b"username=a%00b", headers=form).status_code == 400
    assert http.post("/login/", content=b"a=1&" * 200, headers=form).status_code == 400
    assert http.post("/login/", content=b"a" * 100_000, headers=form).status_code == 413
    assert http.get("/login/?next=%ff").status_code == 400


def test_only_a_sandbox_without_encryption_sets_cookies_that_travel_openly(cloud: Cloud) -> None:
    from crofter.edge.proxy import reveal
    from crofter.login.browser import BrowserRequest

    scope: dict[str, object] = {
        "type": "http",
        "method": "GET",
        "path": "/login/",
        "query_string": b"",
        "headers": [],
        "scheme": "https",
    }
    assert BrowserRequest(cloud.runtime, scope, "").cookie_name("session") == "__Host-crofter_session"
    assert BrowserRequest(cloud.runtime, {**scope, "scheme": "http"}, "").cookie_name("session") == "crofter_session"
    settings = msgspec.structs.replace(cloud.runtime.settings, mode="production", behind_proxy=True)
    runtime = copy.copy(cloud.runtime)
    runtime.settings = settings
    scope = {**scope, "scheme": "http", "headers": [(b"host", b"cloud.example")]}
    reveal(scope)
    visit = BrowserRequest(runtime, scope, "")
    assert visit.cookie_name("session") == "__Host-crofter_session"
    assert visit.origin == "https://cloud.example"
    page = pages.message(visit, "Hello", "")
    assert page.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
