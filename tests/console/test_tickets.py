"""Tickets in the console: open, attach, answer, close."""

from __future__ import annotations

from playwright.sync_api import FilePayload, expect

from crofter.context import Context
from crofter.resources.support import staff
from tests.console.site import Site, accessible, look

LOG = FilePayload(name="boot.txt", mimeType="text/plain", buffer=b"it stopped here")
PROGRAM = FilePayload(name="run.exe", mimeType="application/octet-stream", buffer=b"MZ")
LIE = FilePayload(name="picture.png", mimeType="image/png", buffer=b"not a picture")


def test_a_ticket_from_its_first_line_to_its_end(site: Site) -> None:
    with site.page("/tickets/new") as page:
        expect(page.get_by_text("at most 5 MB each")).to_be_visible()
        page.get_by_role("button", name="Open ticket").click()
        expect(page.locator("[data-path=summary][aria-invalid=true]")).to_be_visible()
        accessible(page)
        page.get_by_label("What it is about").fill("It does not boot")
        page.get_by_label("What the matter is").fill("Since <b>noon</b>.\nThe console says nothing.")
        page.locator("input[type=file]").set_input_files([LOG, PROGRAM])
        expect(page.get_by_text("run.exe: only pictures")).to_be_visible()
        look(page, "ticket-new")
        page.get_by_role("button", name="Open ticket").click()

        talk = page.get_by_role("list", name="Conversation")
        expect(talk.get_by_text("Since <b>noon</b>.")).to_be_visible()
        with page.expect_download() as started:
            talk.get_by_role("button", name="Save boot.txt").click()
        assert started.value.path().read_bytes() == LOG["buffer"]

        number = int(page.url.rsplit("/", 1)[1])
        _answer(site, number, "We have had a look: the host was full. It is moved now.")
        expect(talk.get_by_text("the host was full")).to_be_visible()  # updated by the stream, without a reload
        expect(talk.get_by_text("Support", exact=True)).to_be_visible()

        page.get_by_role("textbox", name="Your answer").fill("Thank you, it boots.")
        page.locator("input[type=file]").set_input_files([LIE])
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("The file is not what .png stands for")).to_be_visible()
        expect(page.get_by_role("textbox", name="Your answer")).to_have_value("Thank you, it boots.")
        page.get_by_role("button", name="Do not attach picture.png").click()
        page.get_by_role("button", name="Send").click()
        expect(talk.get_by_text("Thank you, it boots.")).to_be_visible()
        look(page, "ticket")

        page.get_by_role("button", name="Close ticket").click()
        accessible(page)
        page.get_by_role("dialog").get_by_role("button", name="Close it").click()
        expect(page.get_by_text("Open another one")).to_be_visible()


def test_open_tickets_come_first_and_the_state_is_in_the_address(site: Site) -> None:
    ids = []
    for summary in ("list-done", "list-open"):
        body = {"summary": summary, "description": "x"}
        ids.append(site.api.post("/v4/support/tickets", json=body).json()["id"])
    assert site.api.post(f"/v4/support/tickets/{ids[0]}/close").status_code == 200
    with site.page("/tickets") as page:
        names = page.locator("tbody th a")
        expect(names.filter(has_text="list-done")).to_be_visible()
        shown = names.all_text_contents()
        assert shown.index("list-open") < shown.index("list-done")
        look(page, "tickets")
        page.get_by_role("radiogroup", name="State of tickets").get_by_text("Closed").click()
        expect(names.filter(has_text="list-open")).to_have_count(0)
        assert "status=closed" in page.url


def _answer(site: Site, ticket_id: int, text: str) -> None:
    runtime = site.cloud.runtime
    with runtime.database.write() as db:
        staff.answer(Context(runtime, db), ticket_id, text)
