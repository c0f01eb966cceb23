"""Invitations and forgotten passwords: links that come by mail."""

from __future__ import annotations

import re

import pytest

from tests.cloud import Cloud
from tests.login.visitor import PASSWORD, Visitor, leap
from tests.observed import mails

NEW = "a-harbour-full-of-quiet-boats"


def link_in(text: str) -> str:
    match = re.search(r"http\S+", text)
    assert match
    return match[0]


def newest_link(cloud: Cloud) -> str:
    return link_in(mails(cloud)[0]["text"])


def asks_for_a_mail(visitor: Visitor, username: str = "ada") -> str:
    visitor.goes_to("/login/reset")
    return visitor.sends(username=username).text


@pytest.mark.both
def test_a_new_user_is_invited_and_chooses_a_password(cloud: Cloud) -> None:
    owner = cloud.person(username="owner")
    owner.post("/v4/account/users", json={"username": "grace", "email": "grace@example.com", "restricted": False})
    [mail] = mails(cloud)
    assert (mail["to"], mail["subject"]) == ("grace@example.com", "Your invitation to crofter")
    link = link_in(mail["text"])
    assert link.startswith(f"{cloud.url}/login/password?token=")
    grace = Visitor(cloud)
    assert "for <strong>grace</strong>" in grace.goes_to(link).text
    page = grace.sends(password=NEW, again=NEW)
    assert (page.status_code, page.headers["location"]) == (303, "/login/?notice=password")
    assert "Your password is set." in grace.goes_to("/login/?notice=password").text
    assert grace.sends(username="grace", password=NEW).status_code == 303
    assert grace.is_signed_in


def test_a_forgotten_password_is_replaced(cloud: Cloud, ada: Visitor) -> None:
    ada.signs_in("ada")
    elsewhere = Visitor(cloud)
    assert "Look into your mailbox" in asks_for_a_mail(elsewhere)
    elsewhere.goes_to(newest_link(cloud))
    assert elsewhere.sends(password=NEW, again=NEW).status_code == 303
    assert not ada.is_signed_in  # sessions of the old password have ended
    assert ada.signs_in("ada", PASSWORD).status_code == 401
    assert ada.signs_in("ada", NEW).status_code == 303
    events = cloud.client(cloud.token("ada")).get("/v4/account/events").json()["data"]
    assert [(event["action"], event["username"]) for event in events] == [("profile_update", "ada")]


def test_nobody_learns_who_has_an_account(cloud: Cloud, ada: Visitor) -> None:
    known, unknown = asks_for_a_mail(ada), asks_for_a_mail(ada, "nobody")
    assert known == unknown
    assert [mail["to"] for mail in mails(cloud)] == ["ada@example.com"]


def test_a_link_works_once(cloud: Cloud, ada: Visitor) -> None:
    asks_for_a_mail(ada)
    link = newest_link(cloud)
    for _ in range(2):  # programs that read mail may look at it first
        assert ada.goes_to(link).status_code == 200
    late = Visitor(cloud)
    late.goes_to(link)
    assert ada.sends(password=NEW, again=NEW).status_code == 303
    assert late.sends(password="x" + NEW, again="x" + NEW).status_code == 410
    assert ada.goes_to(link).status_code == 410


def test_the_latest_link_is_the_only_one(cloud: Cloud, ada: Visitor) -> None:
    asks_for_a_mail(ada)
    first = newest_link(cloud)
    asks_for_a_mail(ada)
    assert ada.goes_to(first).status_code == 410
    assert ada.goes_to(newest_link(cloud)).status_code == 200


def test_a_link_to_a_new_password_is_good_for_an_hour_and_an_invitation_for_a_week(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    owner = cloud.client(cloud.token("ada"))
    owner.post("/v4/account/users", json={"username": "grace", "email": "grace@example.com"})
    invitation = newest_link(cloud)
    asks_for_a_mail(ada)
    reset = newest_link(cloud)
    cloud.advance(3599)
    assert ada.goes_to(reset).status_code == 200
    cloud.advance(1)
    assert ada.goes_to(reset).status_code == 410
    leap(cloud, 7 * 86400 - 3601)
    assert ada.goes_to(invitation).status_code == 200
    leap(cloud, 1)
    assert ada.goes_to(invitation).status_code == 410


@pytest.mark.parametrize(
    ("password", "again", "words"),
    [
        ("short", "short", "Length must be 8-128 characters"),
        ("x" * 129, "x" * 129, "Length must be 8-128 characters"),
        ("password1", "password1", "Use a few words that do not belong together."),
        ("ada@example.com", "ada@example.com", "Use a few words that do not belong together."),
        (NEW, NEW + "x", "The two passwords are not the same."),
    ],
)
def test_a_weak_password_is_refused_and_the_link_stays_good(
    cloud: Cloud, ada: Visitor, password: str, again: str, words: str
) -> None:
    asks_for_a_mail(ada)
    ada.goes_to(newest_link(cloud))
    page = ada.sends(password=password, again=again)
    assert page.status_code == 400
    assert words in page.text
    assert password not in page.text.replace("ada@example.com", "") or not password
    assert ada.sends(password=NEW, again=NEW).status_code == 303


def test_a_link_changes_nothing_without_its_form(cloud: Cloud, ada: Visitor) -> None:
    asks_for_a_mail(ada)
    secret = newest_link(cloud).partition("token=")[2]
    fields = {"token": secret, "password": NEW, "again": NEW}
    assert cloud.sandbox.post("/login/password", data=fields).status_code == 403
    assert ada.signs_in("ada").status_code == 303


@pytest.mark.both
def test_a_forgotten_user_name_is_asked_for_by_address(cloud: Cloud, ada: Visitor) -> None:
    """Mail the user name to each user of the address; the page is the same for unknown addresses."""
    owner = cloud.person(username="owner")
    owner.post("/v4/account/users", json={"username": "ada-2", "email": "Ada@Example.com", "restricted": True})
    page_text = asks_for_a_mail(ada, " ADA@example.COM ")
    invitation, *_ = [mail for mail in mails(cloud) if "invitation" in mail["subject"]]
    sent = [mail for mail in mails(cloud) if mail != invitation]
    assert sorted(re.findall(r"Hello (\S+),", mail["text"])[0] for mail in sent) == ["ada", "ada-2"]
    assert {mail["to"].lower() for mail in sent} == {"ada@example.com"}
    stranger_page_text = asks_for_a_mail(Visitor(cloud), "nobody@example.com")
    nonces = r'(nonce|value)[-=]"?[^"\s]+'
    assert re.sub(nonces, "", stranger_page_text) == re.sub(nonces, "", page_text)
    assert len([mail for mail in mails(cloud) if mail != invitation]) == 2


def test_mails_cannot_be_asked_for_without_end(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    for _ in range(5):
        asks_for_a_mail(ada)
    ada.goes_to("/login/reset")
    refused = ada.sends(username="ada")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert len(mails(cloud)) == 5


def test_a_link_leads_to_the_service_whatever_the_request_says(cloud: Cloud, ada: Visitor) -> None:
    ada.goes_to("/login/reset")
    ada.sends({"Host": "evil.example"}, username="ada")
    assert newest_link(cloud).startswith(cloud.url)


def test_a_link_is_kept_sealed(cloud: Cloud, ada: Visitor) -> None:
    asks_for_a_mail(ada)
    secret = newest_link(cloud).partition("token=")[2]
    with cloud.runtime.database.read() as db:
        for table in ("outbox", "password_link", "operation"):
            for row in db.raw(f"SELECT * FROM {table}").fetchall():
                assert secret not in str(row)
                assert secret.encode() not in b"".join(
                    bytes(value) for value in row if isinstance(value, bytes | memoryview)
                )


def test_a_link_dies_with_the_address_that_it_was_sent_to(cloud: Cloud, ada: Visitor) -> None:
    asks_for_a_mail(ada)
    link = newest_link(cloud)
    owner = cloud.client(cloud.token("ada"))
    assert owner.put("/v4/profile", json={"timezone": "Europe/Berlin", "email": "ada@example.com"}).status_code == 200
    assert ada.goes_to(link).status_code == 200
    assert owner.put("/v4/profile", json={"email": "new@example.com"}).status_code == 200
    assert ada.goes_to(link).status_code == 410
    [change_mail, _link_mail] = mails(cloud)
    assert (change_mail["to"], change_mail["subject"]) == ("ada@example.com", "Your e-mail address was changed")
    assert "http" not in change_mail["text"]
    assert "new@example.com" not in change_mail["text"]


def test_whoever_was_invited_at_a_wrong_address_is_invited_again(cloud: Cloud) -> None:
    owner = cloud.person(username="owner")
    owner.post("/v4/account/users", json={"username": "grace", "email": "typo@example.com"})
    wrong = newest_link(cloud)
    owner.put("/v4/account/users/grace", json={"email": "grace@example.com"})
    assert [mail["to"] for mail in mails(cloud)] == ["grace@example.com", "typo@example.com"]
    grace = Visitor(cloud)
    assert grace.goes_to(wrong).status_code == 410
    assert grace.goes_to(newest_link(cloud)).status_code == 200
