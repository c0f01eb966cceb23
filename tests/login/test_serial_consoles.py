"""Serial consoles that an app has opened: they outlive its access token, and end with the consent."""

from __future__ import annotations

import pytest

from tests.cloud import Cloud
from tests.login.conftest import App
from tests.login.visitor import Visitor
from tests.resources.compute import deploy
from tests.resources.serial import Closed, joined, sign_in, token_of


@pytest.mark.both
def test_a_console_outlives_an_access_token_that_is_renewed_and_ends_with_the_consent(
    cloud: Cloud, ada: Visitor, app: App
) -> None:
    owner = cloud.client(cloud.token("ada"))
    own = deploy(cloud, owner)
    first = app.redeems(app.code_from(ada)).json()
    with joined(cloud, token_of(cloud.client(first["access_token"]), own)) as terminal:
        sign_in(terminal)
        renewed = app.renews(first["refresh_token"]).json()
        assert owner.post("/v4/tags", json={"label": "heard"}).status_code == 200  # triggers a check of the permission
        terminal.type("uname\r")
        assert "Linux" in terminal.expect("# ")
        assert app.revokes(renewed["refresh_token"]).json() == {}
        assert owner.post("/v4/tags", json={"label": "heard-2"}).status_code == 200
        assert terminal.end() == Closed(4401, "Invalid Token")


def test_a_console_ends_when_an_app_renews_for_less(cloud: Cloud, ada: Visitor, app: App) -> None:
    owner = cloud.client(cloud.token("ada"))
    own = deploy(cloud, owner)
    first = app.redeems(app.code_from(ada)).json()
    with joined(cloud, token_of(cloud.client(first["access_token"]), own)) as terminal:
        sign_in(terminal)
        assert app.renews(first["refresh_token"], scope="computes:read_only").status_code == 200
        assert owner.post("/v4/tags", json={"label": "heard"}).status_code == 200
        assert terminal.end() == Closed(4403, "Unauthorized")
