"""Change of the password while signed in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cloud import Cloud
from tests.login.visitor import PASSWORD, Visitor
from tests.observed import mails

NEW = "a-harbour-full-of-quiet-boats"


def changes(person: Visitor, **fields: Any) -> Any:
    person.goes_to("/login/change")
    return person.sends(**{"present": PASSWORD, "password": NEW, "again": NEW, **fields})


@pytest.mark.both
def test_a_password_is_changed_and_every_other_browser_signed_out(cloud: Cloud, ada: Visitor) -> None:
    elsewhere = Visitor(cloud)
    elsewhere.signs_in("ada", remember_me="yes")
    ada.signs_in("ada")
    page = changes(ada)
    assert (page.status_code, page.headers["location"]) == (303, "/login/?notice=changed")
    assert "Your password is changed." in ada.goes_to("/login/?notice=changed").text
    assert ada.is_signed_in
    assert not elsewhere.is_signed_in
    owner = cloud.client(cloud.token("ada"))
    assert owner.get("/v4/profile/devices").json()["results"] == 0
    assert elsewhere.signs_in("ada", PASSWORD).status_code == 401
    assert elsewhere.signs_in("ada", NEW).status_code == 303


def test_the_owner_is_told_by_mail_and_on_record(cloud: Cloud, ada: Visitor) -> None:
    ada.signs_in("ada")
    changes(ada)
    [mail] = mails(cloud)
    assert (mail["to"], mail["subject"]) == ("ada@example.com", "Your password was changed")
    assert "from the address 127.0.0.1" in mail["text"]
    assert f"{cloud.url}/login/reset" in mail["text"]
    events = cloud.client(cloud.token("ada")).get("/v4/account/events").json()["data"]
    assert [(event["action"], event["username"]) for event in events] == [("profile_update", "ada")]
    with cloud.runtime.database.read() as db:
        audit_log = [row[0] for row in db.raw("SELECT operation FROM audit ORDER BY number").fetchall()]
    assert audit_log[-1] == "change_password"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"present": "wrong"}, "That is not your current password."),
        ({"present": ""}, "That is not your current password."),
        ({"password": "short", "again": "short"}, "Length must be 8-128 characters"),
        ({"password": "password1", "again": "password1"}, "Use a few words that do not belong together."),
        ({"again": NEW + "x"}, "The two new passwords are not the same."),
        ({"password": PASSWORD, "again": PASSWORD}, "The new password is the current one."),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(
    cloud: Cloud, ada: Visitor, fields: dict[str, str], words: str
) -> None:
    ada.signs_in("ada")
    page = changes(ada, **fields)
    assert page.status_code == 400
    assert words in page.text
    assert not [value for value in ("wrong", NEW, PASSWORD) if value in page.text]
    assert mails(cloud) == []
    assert ada.is_signed_in
    assert Visitor(cloud).signs_in("ada", PASSWORD).status_code == 303


def test_whoever_is_not_signed_in_does_that_first(ada: Visitor) -> None:
    page = ada.goes_to("/login/change")
    assert (page.status_code, page.headers["location"]) == (303, "/login/?next=/login/change")
    ada.goes_to(page.headers["location"])
    page = ada.sends(username="ada", password=PASSWORD)
    assert (page.status_code, page.headers["location"]) == (303, "/login/change")
    stranger = ada.cloud.client(None)
    assert stranger.post("/login/change", data={"present": PASSWORD}).headers["location"].startswith("/login/?next=")


def test_programs_that_keep_passwords_find_the_page(ada: Visitor) -> None:
    page = ada.goes_to("/.well-known/change-password")
    assert (page.status_code, page.headers["location"]) == (303, "/login/change")
    ada.signs_in("ada")
    assert 'href="/login/change"' in ada.goes_to("/login/").text


def test_a_form_from_elsewhere_changes_nothing(ada: Visitor) -> None:
    ada.signs_in("ada")
    ada.goes_to("/login/change")
    forged = ada.http.post("/login/change", data={"present": PASSWORD, "password": NEW, "again": NEW})
    assert forged.status_code == 403
    assert ada.sends(headers={"Origin": "https://evil.example"}, present=PASSWORD, password=NEW).status_code == 403


def test_the_current_password_cannot_be_guessed_without_end(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    ada.signs_in("ada")
    assert [changes(ada, present=f"guess {number}").status_code for number in range(6)] == [400] * 5 + [429]
    assert changes(ada).status_code == 429
    cloud.advance(61)
    assert changes(ada).status_code == 303


def test_a_link_that_was_sent_before_is_dead_afterwards(cloud: Cloud, ada: Visitor) -> None:
    ada.goes_to("/login/reset")
    ada.sends(username="ada")
    link = mails(cloud)[0]["text"].partition("http")[2].split()[0]
    ada.signs_in("ada")
    assert changes(ada).status_code == 303
    assert ada.goes_to(f"http{link}").status_code == 410
