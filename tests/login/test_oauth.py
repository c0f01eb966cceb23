"""Apps that people let in: consent, tokens, and how they end. A real client library goes the whole way."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from authlib.integrations.httpx_client import OAuth2Client

from crofter import audit
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.login.conftest import CALLBACK, VERIFIER, App, make_app
from tests.login.visitor import PASSWORD, Visitor, answer_of, leap


def works(cloud: Cloud, token: str) -> bool:
    return bool(cloud.client(token).get("/v4/profile").status_code == 200)


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic", "none"])
@pytest.mark.both
def test_a_client_library_goes_the_whole_way(cloud: Cloud, ada: Visitor, method: str) -> None:
    app = make_app(cloud, public=method == "none")
    metadata = cloud.sandbox.get("/.well-known/oauth-authorization-server").json()
    client = OAuth2Client(
        client_id=app.id,
        client_secret=None if app.public else app.secret,
        token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method,
        scope="account:read_only",
        redirect_uri=CALLBACK,
        code_challenge_method="S256",
        token_endpoint=metadata["token_endpoint"],
    )
    url, state = client.create_authorization_url(metadata["authorization_endpoint"], code_verifier=VERIFIER)
    ada.goes_to(url)
    ada.sends(username="ada", password=PASSWORD)
    ada.goes_to(ada.page.headers["location"])
    location = ada.sends(decision="allow").headers["location"]

    token = client.fetch_token(authorization_response=location, state=state, code_verifier=VERIFIER)
    assert token["expires_in"] == 7200
    assert client.get(f"{cloud.url}/v4/profile").json()["username"] == "ada"

    before = dict(client.token)
    client.refresh_token(metadata["token_endpoint"])
    assert client.token["access_token"] != before["access_token"]
    assert client.token["refresh_token"] != before["refresh_token"]
    assert client.get(f"{cloud.url}/v4/profile").json()["username"] == "ada"
    assert not works(cloud, before["access_token"])

    assert client.revoke_token(metadata["revocation_endpoint"], client.token["access_token"]).json() == {}
    assert client.get(f"{cloud.url}/v4/profile").status_code == 401


def test_the_answer_has_all_that_clients_look_for(ada: Visitor, app: App) -> None:
    answer = app.redeems(app.code_from(ada, redirect_uri=None), grant_type=None, redirect_uri=None)
    token = answer.json()
    assert token["access_token"].startswith("cca_")
    assert token["refresh_token"].startswith("ccr_")
    del token["access_token"], token["refresh_token"]
    scopes = "computes:read_write events:read_only"
    assert token == {"token_type": "bearer", "expires_in": 7200, "scope": scopes, "scopes": scopes}
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_form_in_parts_is_understood_too(cloud: Cloud, ada: Visitor, app: App) -> None:
    fields = {"client_id": app.id, "client_secret": app.secret, "code": app.code_from(ada), "code_verifier": VERIFIER}
    fields["redirect_uri"] = CALLBACK
    parts = {name: (None, value) for name, value in fields.items()}
    token = cloud.sandbox.post("/oauth/token", files=parts).json()
    assert works(cloud, token["access_token"])


def test_browsers_ask_whether_they_may_ask(cloud: Cloud) -> None:
    for path in ("/oauth/token", "/oauth/revoke", "/.well-known/oauth-authorization-server"):
        answer = cloud.sandbox.options(path)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


def test_scopes_may_be_asked_for_under_either_name_and_with_commas(ada: Visitor, app: App) -> None:
    code = app.code_from(ada, scope=None, scopes="events:read_only,computes:read_only,computes:read_write")
    assert app.redeems(code).json()["scope"] == "computes:read_write events:read_only"


def test_without_a_scope_only_the_profile_may_be_seen(cloud: Cloud, ada: Visitor, app: App) -> None:
    token = app.redeems(app.code_from(ada, scope=None)).json()
    assert token["scope"] == ""
    client = cloud.client(token["access_token"])
    assert client.get("/v4/profile").status_code == 200
    assert client.get("/v4/account/events").status_code == 403


def test_a_person_may_allow_less_than_is_asked_for(cloud: Cloud, ada: Visitor, app: App) -> None:
    token = app.redeems(app.code_from(ada, {"read_only": "computes"})).json()
    assert token["scopes"] == "computes:read_only events:read_only"
    everything = app.redeems(app.code_from(ada, {"read_only": "*"}, scope="*")).json()
    assert "*" not in everything["scope"].split()
    assert "account:read_only" in everything["scope"].split()
    assert "read_write" not in everything["scope"]


def test_the_consent_page_says_who_asks_for_what(ada: Visitor, app: App) -> None:
    ada.signs_in("ada")
    ada.page = ada.http.get("/oauth/authorize", params=app.asks())
    text = ada.page.text
    for words in (
        "Backup Buddy",
        "backupbuddy.example",
        "Signed in as <strong>ada</strong>",
        "Create, change and delete instances, their disks and backups",
        "See what has happened on your account",
        "It will not see: billing, tickets, users",
        "computes:read_write events:read_only",
        app.id,
    ):
        assert words in text
    assert "form-action 'self' https://backupbuddy.example;" in ada.page.headers["content-security-policy"]


def test_a_label_is_text_and_nothing_else(cloud: Cloud, ada: Visitor) -> None:
    owner = cloud.person(username="sly")
    label = "<script>alert(1)</script>\"'{{7*7}}"
    made = owner.post("/v4/account/oauth-clients", json={"label": label, "redirect_uri": CALLBACK}).json()
    app = App(cloud, made["id"], "")
    ada.page = ada.http.get("/oauth/authorize", params=app.asks())
    assert "<script>" not in ada.page.text
    ada.signs_in("ada")
    ada.page = ada.http.get("/oauth/authorize", params=app.asks(state='"><script>'))
    assert "<script>" not in ada.page.text
    assert "{{7*7}}" in ada.page.text


def test_saying_no_is_told_to_the_app(ada: Visitor, app: App) -> None:
    ada.signs_in("ada")
    ada.page = ada.http.get("/oauth/authorize", params=app.asks())
    answer = answer_of(ada.sends(decision="cancel"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "a state", ada.cloud.url)


def test_consent_is_never_given_by_another_page(ada: Visitor, app: App) -> None:
    ada.signs_in("ada")
    url = ada.http.get("/oauth/authorize", params=app.asks()).request.url
    assert ada.http.post(url, data={"decision": "allow"}).status_code == 403
    assert Visitor(ada.cloud).http.post(url, data={"decision": "allow"}).status_code == 303


def test_not_you_leads_back_to_the_same_question(ada: Visitor, app: App) -> None:
    ada.signs_in("ada")
    ada.page = ada.http.get("/oauth/authorize", params=app.asks())
    ada.sends(form=0)
    ada.goes_to(ada.page.headers["location"])
    assert "to continue to <strong>Backup Buddy</strong>" in ada.page.text


def test_a_registered_address_with_a_query_keeps_it(ada: Visitor) -> None:
    app = make_app(ada.cloud, redirect_uri="https://backupbuddy.example/callback?tenant=7")
    ada.signs_in("ada")
    ada.page = ada.http.get("/oauth/authorize", params=app.asks(redirect_uri=None))
    location = ada.sends(decision="allow").headers["location"]
    assert location.startswith("https://backupbuddy.example/callback?tenant=7&")


@pytest.mark.both
def test_an_address_that_was_named_with_the_request_is_named_again_with_the_code(ada: Visitor, app: App) -> None:
    code = app.code_from(ada)
    for left_out in (None, ""):
        refused = app.redeems(code, redirect_uri=left_out)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    assert app.redeems(code).status_code == 200  # a refusal has not used it up


def test_an_address_that_was_left_out_may_be_left_out_again_or_be_the_registered_one(ada: Visitor, app: App) -> None:
    assert app.redeems(app.code_from(ada, redirect_uri=None), redirect_uri=None).status_code == 200
    assert app.redeems(app.code_from(ada, redirect_uri=None)).status_code == 200
    refused = app.redeems(app.code_from(ada, redirect_uri=None), redirect_uri="https://evil.example/")
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


def test_the_second_use_of_a_code_ends_all_that_came_from_it(ada: Visitor, app: App) -> None:
    code = app.code_from(ada)
    token = app.redeems(code).json()
    renewed = app.renews(token["refresh_token"]).json()
    again = app.redeems(code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert not works(ada.cloud, renewed["access_token"])
    assert app.renews(renewed["refresh_token"]).status_code == 400


def test_the_second_use_of_a_refresh_token_ends_all_that_came_from_it(ada: Visitor, app: App) -> None:
    token = app.redeems(app.code_from(ada)).json()
    renewed = app.renews(token["refresh_token"]).json()
    assert works(ada.cloud, renewed["access_token"])
    stolen = app.renews(token["refresh_token"])
    assert (stolen.status_code, stolen.json()["error"]) == (400, "invalid_grant")
    assert not works(ada.cloud, renewed["access_token"])
    assert app.renews(renewed["refresh_token"]).status_code == 400


def test_one_family_does_not_end_another(ada: Visitor, app: App) -> None:
    laptop = app.redeems(app.code_from(ada)).json()
    code = app.code_from(ada)
    app.redeems(code)
    app.redeems(code)
    assert works(ada.cloud, laptop["access_token"])


@pytest.mark.parametrize("round", range(5))
def test_of_two_who_redeem_a_code_at_once_one_gets_a_token(ada: Visitor, app: App, round: int) -> None:
    code = app.code_from(ada)
    answers = at_once(*[partial(app.redeems, code)] * 4)
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    [won] = [answer for answer in answers if answer.status_code == 200]
    assert not works(ada.cloud, won.json()["access_token"])


def test_of_two_who_refresh_at_once_one_gets_a_token(ada: Visitor, app: App) -> None:
    plain = app.redeems(app.code_from(ada)).json()["refresh_token"]
    answers = at_once(*[partial(app.renews, plain)] * 4)
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]


def test_a_code_is_good_for_ten_minutes(cloud: Cloud, ada: Visitor, app: App) -> None:
    cloud.freeze()
    first, second = app.code_from(ada), app.code_from(ada)
    cloud.advance(599)
    assert app.redeems(first).status_code == 200
    cloud.advance(1)
    assert app.redeems(second).json()["error"] == "invalid_grant"


def test_an_access_token_is_good_for_two_hours(cloud: Cloud, ada: Visitor, app: App) -> None:
    cloud.freeze()
    token = app.redeems(app.code_from(ada)).json()
    cloud.advance(7199)
    assert works(cloud, token["access_token"])
    cloud.advance(1)
    assert not works(cloud, token["access_token"])
    assert works(cloud, app.renews(token["refresh_token"]).json()["access_token"])


def test_refreshing_goes_on_for_thirty_days_and_no_longer(cloud: Cloud, ada: Visitor, app: App) -> None:
    cloud.freeze()
    token = app.redeems(app.code_from(ada)).json()
    leap(cloud, 29 * 86400)
    token = app.renews(token["refresh_token"]).json()
    leap(cloud, 86400 - 3600)
    token = app.renews(token["refresh_token"]).json()
    assert works(cloud, token["access_token"])
    leap(cloud, 3600)
    assert not works(cloud, token["access_token"])
    assert app.renews(token["refresh_token"]).json()["error"] == "invalid_grant"


def test_refreshing_may_ask_for_less_for_once(cloud: Cloud, ada: Visitor, app: App) -> None:
    token = app.redeems(app.code_from(ada)).json()
    less = app.renews(token["refresh_token"], scope="computes:read_only").json()
    assert less["scope"] == "computes:read_only"
    assert cloud.client(less["access_token"]).get("/v4/account/events").status_code == 403
    assert app.renews(less["refresh_token"]).json()["scope"] == "computes:read_write events:read_only"


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_revoking_either_token_ends_both_and_may_be_repeated(ada: Visitor, app: App, which: str) -> None:
    token = app.redeems(app.code_from(ada)).json()
    for hint in (None, "refresh_token", "nonsense"):
        answer = app.revokes(token[which], token_type_hint=hint)
        assert (answer.status_code, answer.json()) == (200, {})
    assert not works(ada.cloud, token["access_token"])
    assert app.renews(token["refresh_token"]).status_code == 400


def test_a_personal_token_is_not_an_apps_to_revoke(cloud: Cloud, ada: Visitor, app: App) -> None:
    personal = cloud.token("ada")
    assert app.revokes(personal).json() == {}
    assert works(cloud, personal)


def test_what_a_person_takes_back_ends_at_once(cloud: Cloud, ada: Visitor, app: App) -> None:
    token = app.redeems(app.code_from(ada)).json()
    person = cloud.client(cloud.token("ada"))
    [allowed] = person.get("/v4/profile/apps").json()["data"]
    assert (allowed["label"], allowed["scopes"]) == ("Backup Buddy", "computes:read_write events:read_only")
    person.delete(f"/v4/profile/apps/{allowed['id']}")
    assert not works(cloud, token["access_token"])
    assert app.renews(token["refresh_token"]).status_code == 400


def test_a_deleted_app_and_an_old_secret_are_worth_nothing(cloud: Cloud, ada: Visitor, app: App) -> None:
    owner = cloud.client(cloud.token("buddy"))
    token = app.redeems(app.code_from(ada)).json()
    owner.post(f"/v4/account/oauth-clients/{app.id}/reset-secret", json={})
    assert app.renews(token["refresh_token"]).status_code == 401
    owner.delete(f"/v4/account/oauth-clients/{app.id}")
    assert not works(cloud, token["access_token"])
    assert ada.http.get("/oauth/authorize", params=app.asks()).status_code == 400


def test_a_suspended_app_is_not_known(cloud: Cloud, ada: Visitor, app: App) -> None:
    code = app.code_from(ada)
    with cloud.runtime.database.write() as db:
        db.raw("UPDATE oauth_client SET status = 'suspended'")
    assert app.redeems(code).json()["error"] == "invalid_client"
    assert ada.http.get("/oauth/authorize", params=app.asks()).status_code == 400


def test_nothing_that_is_given_out_is_kept(cloud: Cloud, ada: Visitor, app: App) -> None:
    code = app.code_from(ada)
    token = app.redeems(code).json()
    secrets = [code, token["access_token"], token["refresh_token"], ada.http.cookies["crofter_session"], app.secret]
    with cloud.runtime.database.read() as db:
        for table in ("authorization_code", "refresh_token", "login_session", "token", "oauth_client", "audit"):
            rows = db.raw(f"SELECT * FROM {table}").fetchall()
            assert rows, table
            assert not [secret for secret in secrets for row in rows if secret in str(row)]


def test_all_of_it_is_on_the_audit_log(cloud: Cloud, ada: Visitor, app: App) -> None:
    ada.signs_in("ada", "wrong")
    code = app.code_from(ada)
    token = app.redeems(code).json()
    app.revokes(token["access_token"])
    with cloud.runtime.database.read() as db:
        audit_log: list[Any] = list(audit.entries(db, _account_of(cloud, "ada")))
        assert audit.verify(cloud.runtime.keyring, db) == []
    assert [entry.operation for entry in audit_log] == [
        "sign_in_refused",
        "sign_in",
        "allow_app",
        "issue_token",
        "revoke_app",
    ]
    assert {entry.username for entry in audit_log} == {"ada"}


def _account_of(cloud: Cloud, username: str) -> int:
    with cloud.runtime.database.read() as db:
        return int(db.raw(f"SELECT account_id FROM account_user WHERE username = '{username}'").fetchone()[0])
