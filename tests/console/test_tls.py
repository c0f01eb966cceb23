"""The console over TLS, of a sandbox that wants a key: cookies, the stream and the sandbox page work there too."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from tests.console.site import WIDE, sign_in
from tests.login.visitor import PASSWORD
from tests.loopback import PATIENCE
from tests.served import serving
from tests.test_reloading import write_certificate

KEY = "the-key-of-this-sandbox"


@pytest.mark.usefixtures("built")
def test_over_tls_people_sign_in_see_what_happens_and_show_the_key_of_the_sandbox(
    chromium: Browser, tmp_path: Path
) -> None:
    write_certificate(tmp_path, 1)
    config = tmp_path / "crofter.toml"
    config.write_text(f'''
tls_certificate = "{tmp_path}/certificate.pem"
tls_key = "{tmp_path}/key.pem"
sandbox_key = "{KEY}"
''')
    with serving("--data", ":memory:", "--config", str(config)) as server:
        assert server.url.startswith("https://")
        with httpx2.Client(
            base_url=server.url, verify=False, headers={"X-Sandbox-Key": KEY}, timeout=PATIENCE
        ) as sandbox:
            person = {"username": "tess", "email": "tess@example.com", "password": PASSWORD}
            token = sandbox.post("/_sandbox/accounts", json=person).json()["token"]
        context = chromium.new_context(viewport=WIDE, ignore_https_errors=True, reduced_motion="reduce")
        page = context.new_page()
        page.goto(f"{server.url}/console/instances")
        sign_in(page, "tess")
        assert all(cookie["secure"] and cookie["httpOnly"] for cookie in context.cookies())
        page.reload()
        expect(page.locator("[data-signed-in]")).to_be_attached()  # silently
        expect(page.get_by_role("heading", name="No instances yet")).to_be_visible()
        with httpx2.Client(
            base_url=server.url, verify=False, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE
        ) as api:
            body = {"type": "g6-nanode-1", "region": "us-east", "label": "over-tls"}
            assert api.post("/v4/compute/instances", json=body).status_code == 200
        expect(page.get_by_role("row", name="over-tls")).to_be_visible()  # updated by the stream

        page.get_by_role("link", name="Sandbox").click()
        page.get_by_label("Key").fill("wrong")
        page.get_by_role("button", name="Show the key").click()
        expect(page.get_by_text("missing or wrong")).to_be_visible()
        page.get_by_label("Key").fill(KEY)
        page.get_by_role("button", name="Show the key").click()
        expect(page.get_by_role("button", name="Stop the clock")).to_be_visible()
        context.close()
