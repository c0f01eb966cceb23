"""Invoices as files, and cost of the current month."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from httpx2 import Client
from pypdf import PdfReader

from crofter.resources.billing import documents
from crofter.resources.billing.listings import Invoice, StoredInvoiceItem
from tests.cloud import Cloud
from tests.resources.money import done, instance, invoices, items, stand_at, until


@pytest.fixture
def late(cloud: Cloud) -> Client:
    """Return a user who is new three days before the end of a month."""
    stand_at(cloud, "2027-03-29T00:00:00")
    return cloud.person(username="alice")


def item(label: str, amount: int = 5_000_000) -> StoredInvoiceItem:
    first, last = "2027-03-01T00:00:00", "2027-04-01T00:00:00"
    return StoredInvoiceItem(1, 7, "compute", label, "hourly", 7_500, 744, amount, 0, amount, first, last)


def bill(seller: str = "", **address: str) -> Invoice:
    return Invoice(7, 1, "2027-04-01T00:00:00", "2027-03", 5_000_000, 0, 5_000_000, address, seller)


def words(pdf: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages)


def is_readable_aloud(pdf: bytes) -> bool:
    """True if the PDF declares itself accessible."""
    root: Any = PdfReader(io.BytesIO(pdf)).trailer["/Root"]
    return "pdfuaid" in root["/Metadata"].get_object().get_data().decode()


@pytest.mark.both
def test_an_invoice_can_be_had_as_a_pdf_and_as_a_table(cloud: Cloud, late: Client) -> None:
    done(late.put("/v4/account", json={"company": "Ärger & Söhne", "country": "DE", "city": "Köln", "zip": "50667"}))
    number = instance(late, label="web-1", backups_enabled=True)
    until(cloud, "2027-04-01T00:00:10")
    (invoice,) = invoices(late)
    url = f"/v4/account/invoices/{invoice['id']}"
    pdf = late.get(f"{url}/pdf")
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.headers["content-disposition"] == f'attachment; filename="invoice-{invoice["id"]}.pdf"'
    text = words(pdf.content)
    for phrase in (f"Invoice #{invoice['id']}", "Ärger & Söhne", "Köln 50667", "web-1", f"{invoice['total']:.2f} USD"):
        assert phrase in text
    table = late.get(f"{url}/csv")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    listed = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["label"] for row in listed] == [item["label"] for item in items(late, invoice["id"])]
    assert listed[0]["label"] == f"Nanode 1GB - web-1 ({number})"
    assert (listed[0]["quantity"], listed[0]["unit_price"], listed[0]["amount"]) == ("72", "0.0075", "0.54")


def test_an_invoice_is_the_same_to_the_last_byte_whenever_it_is_asked_for(cloud: Cloud, late: Client) -> None:
    instance(late)
    until(cloud, "2027-04-01T00:00:10")
    url = f"/v4/account/invoices/{invoices(late)[0]['id']}"
    first = [late.get(f"{url}/{kind}").content for kind in ("pdf", "csv")]
    done(late.put("/v4/account", json={"company": "Somebody else"}))
    cloud.advance(86400)
    assert [late.get(f"{url}/{kind}").content for kind in ("pdf", "csv")] == first


def test_a_pdf_can_be_read_aloud() -> None:
    made = documents.pdf(bill(company="Croft"), [item("Nanode 1GB - web (1)")] * 60)
    assert is_readable_aloud(made)
    reader = PdfReader(io.BytesIO(made))
    root: Any = reader.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert reader.metadata is not None
    assert reader.metadata.title == "Invoice #7"
    assert len(reader.pages) > 1


def test_a_long_invoice_shows_its_first_items_and_says_where_the_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST", 3)
    lines = [item(f"Nanode 1GB - web-{number}") for number in range(5)]
    made = documents.pdf(bill(), lines)
    text = " ".join(words(made).split())
    assert [number for number in range(5) if f"web-{number}" in text] == [0, 1, 2]
    assert "These are the first 3 of 5 items. The CSV file of this invoice has them all." in text
    assert "Total 5.00 USD" in text
    assert is_readable_aloud(made)
    assert "CSV" not in words(documents.pdf(bill(), lines[:3]))
    assert len(documents.csv(lines).splitlines()) == 6


def test_one_pdf_is_made_at_a_time_and_only_a_few_wait(
    cloud: Cloud, late: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance(late)
    until(cloud, "2027-04-01T00:00:10")
    url = f"/v4/account/invoices/{invoices(late)[0]['id']}"
    alone: list[bool] = []
    made = documents._made
    monkeypatch.setattr(documents, "_made", lambda content: alone.append(documents._turn.locked()) or made(content))
    places = 0
    while documents._places.acquire(blocking=False):
        places += 1
    try:
        refused = late.get(f"{url}/pdf")
        assert (refused.status_code, alone) == (503, [])
        assert late.get(f"{url}/csv").status_code == 200
    finally:
        documents._places.release(places)
    assert 1 < places < 8  # fewer places than threads
    assert late.get(f"{url}/pdf").status_code == 200
    assert (alone, documents._turn.locked()) == ([True], False)


def test_no_text_becomes_markup_or_a_formula() -> None:
    tricks = ["#set page(width: 1pt)", "*bold* $x^2$ `raw` #panic()", "=1+1", "@SUM(A1)", "+1", "-1", "\t=1", '"; =x']
    tricks += ["＝1+1", "\n=1"]
    text = words(documents.pdf(bill(company='#import "x": *'), [item(trick) for trick in tricks]))
    assert "#set page(width: 1pt)" in text
    assert "#panic()" in text
    cells = [row[0] for row in csv.reader(io.StringIO(documents.csv([item(trick) for trick in tricks]).decode()))][1:]
    assert cells == [f"'{trick}" if trick[0] in "=+-@\t\n＝" else trick for trick in tricks]


@pytest.mark.parametrize("name", ["Łukasz", "Nguyễn", "Ελένη", "Ирина", "שלום", "شركة"])
def test_a_name_is_written_whole_in_every_script_that_our_fonts_have(name: str) -> None:
    made = documents.pdf(bill(company=name), [item(f"Nanode 1GB - {name} (1)")])
    assert words(made).count(name) == 2
    assert is_readable_aloud(made)


@pytest.mark.parametrize("name", ["東京商店", "🚀", "\U000f0000"])
def test_a_name_in_a_script_that_no_font_has_leaves_holes_of_its_length_and_harms_nothing_else(name: str) -> None:
    """Fonts that a machine has beside ours may know the first two; none knows the last one."""
    made = documents.pdf(bill(company=name, city="Plain"), [item(name)])
    plain = words(documents.pdf(bill(company="Plain", city="Plain"), [item("Plain")]))
    holes = "\0" * len(name)
    assert words(made).replace(holes, name) == plain.replace("Plain", name, 1).replace("Plain 2027", f"{name} 2027")
    assert is_readable_aloud(made) == (holes not in words(made))
    assert holes in words(made) or name != "\U000f0000"
    assert documents.csv([item(name)]).decode().splitlines()[1].startswith(f"{name},hourly,")


def test_a_rich_invoice_can_be_read_aloud_too_and_keeps_its_columns() -> None:
    rich = bill(company="شركة الاختبار", last_name="Παπαδοπούλου", seller="Croft Cloud GmbH; Am Ufer 1; VAT DE1")
    lines = [item(f"Backup Service - Compute 16GB - {'a' * 64} (1)", 1_234_560_000), item("Promotion", -50_000_000)]
    made = documents.pdf(rich, lines * 30)
    assert documents.pdf(rich, lines * 30) == made
    reader = PdfReader(io.BytesIO(made))
    assert is_readable_aloud(made)
    text = words(made)
    for phrase in ("Croft Cloud GmbH", "VAT DE1", "1,234.56", "−50.00", f"Page 2 of {len(reader.pages)}"):
        assert phrase in text
    widest = "".join(text.split()).replace("\u200b", "")
    assert "a" * 64 in widest


# ---- costs ----------------------------------------------------------------------------------------------------------


def test_an_instance_says_what_it_costs_this_month(cloud: Cloud, late: Client) -> None:
    number = instance(late, label="web-1", backups_enabled=True)
    until(cloud, "2027-03-30T00:00:00")
    cost = done(late.get(f"/v4/compute/instances/{number}/cost"))
    assert cost == {
        "forecast": 0.76,
        "from": "2027-03-01T00:00:00",
        "hourly": 0.0105,
        "id": number,
        "items": [
            {
                "forecast": 0.54,
                "hourly": 0.0075,
                "label": f"Nanode 1GB - web-1 ({number})",
                "month_to_date": 0.18,
                "monthly": 5,
                "service": "compute",
            },
            {
                "forecast": 0.22,
                "hourly": 0.003,
                "label": f"Backup Service - Nanode 1GB - web-1 ({number})",
                "month_to_date": 0.07,
                "monthly": 2,
                "service": "backup",
            },
        ],
        "label": "web-1",
        "month_to_date": 0.25,
        "monthly": 7,
        "to": "2027-03-30T00:00:00",
    }
    assert cloud.person(username="mallory").get(f"/v4/compute/instances/{number}/cost").status_code == 404


def test_the_account_says_what_it_costs_by_service_and_by_tag(cloud: Cloud, late: Client) -> None:
    both = instance(late, tags=["prod", "web"])
    instance(late, "g6-standard-1", tags=["web"])
    gone = instance(late, backups_enabled=True)
    until(cloud, "2027-03-30T00:00:00")
    done(late.delete(f"/v4/compute/instances/{gone}"))
    cloud.settle()
    cost = done(late.get("/v4/account/cost"))
    assert (cost["month_to_date"], cost["forecast"]) == (0.79, 1.87)
    assert (cost["hourly"], cost["monthly"]) == (0.0225, 15)
    assert cost["services"] == [
        {"forecast": 0.07, "month_to_date": 0.07, "service": "backup"},
        {"forecast": 1.8, "month_to_date": 0.72, "service": "compute"},
    ]
    assert cost["tags"] == [
        {"forecast": 0.54, "month_to_date": 0.18, "tag": "prod"},
        {"forecast": 1.62, "month_to_date": 0.54, "tag": "web"},
        {"forecast": 0.25, "month_to_date": 0.25, "tag": None},
    ]
    assert done(late.get("/v4/account"))["balance_uninvoiced"] == cost["month_to_date"]
    of_one = done(late.get(f"/v4/compute/instances/{both}/cost"))
    assert of_one["month_to_date"] == 0.18
    of_each = done(late.get("/v4/account/cost/instances"))
    assert of_one in of_each["data"]
    assert of_each["results"] == len(done(late.get("/v4/compute/instances"))["data"])
    only = late.get("/v4/account/cost/instances", headers={"X-Filter": f'{{"label": "{of_one["label"]}"}}'})
    assert done(only)["data"] == [of_one]


def test_costs_of_the_account_need_access_to_it(cloud: Cloud, alice: Client) -> None:
    number = instance(alice)
    done(alice.post("/v4/account/users", json={"username": "rita", "email": "rita@example.com", "restricted": True}))
    rita = cloud.client(cloud.token("rita"))
    assert rita.get("/v4/account/cost").status_code == 403
    assert rita.get(f"/v4/compute/instances/{number}/cost").status_code == 403
    done(alice.put("/v4/account/users/rita/grants", json={"compute": [{"id": number, "permissions": "read_only"}]}))
    assert rita.get(f"/v4/compute/instances/{number}/cost").status_code == 200
    assert rita.get("/v4/account/cost/instances").status_code == 403


def test_of_costs_by_instance_a_restricted_user_sees_those_that_were_granted(cloud: Cloud, alice: Client) -> None:
    number, _hidden = instance(alice), instance(alice)
    done(alice.post("/v4/account/users", json={"username": "rita", "email": "rita@example.com", "restricted": True}))
    grants = {"global": {"account_access": "read_only"}, "compute": [{"id": number, "permissions": "read_only"}]}
    done(alice.put("/v4/account/users/rita/grants", json=grants))
    rita = cloud.client(cloud.token("rita"))
    assert [instance["id"] for instance in done(rita.get("/v4/account/cost/instances"))["data"]] == [number]
