"""Invoices as files: a PDF with reproducible bytes, and a CSV."""

from __future__ import annotations

import csv as tables
import io
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from crofter.errors import Unavailable
from crofter.money import DOLLAR, to_the_cent
from crofter.resources.billing.listings import Invoice, StoredInvoiceItem

TEMPLATE = Path(__file__).with_name("invoice.typ")
STANDARD = "ua-1"
"""PDF/UA: what a screen reader needs."""
MOST = 1000
"""Items of a PDF, which takes milliseconds for each, up to three times over. Who has more reads them as a table."""
NO_PDF = (
    "PDF needs an extra that is not installed here: pip install 'crofter[pdf]'. The CSV of this invoice has every line."
)
_WAITING = 2
"""How many may wait while one is being made: each keeps a thread that others need."""
_places = threading.BoundedSemaphore(1 + _WAITING)
_turn = threading.Lock()
COLUMNS = ("label", "type", "from", "to", "quantity", "unit_price", "amount", "tax", "total")
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv(items: list[StoredInvoiceItem]) -> bytes:
    """Return the lines as CSV. Text cells never start a formula in a spreadsheet."""
    written = io.StringIO(newline="")
    rows = tables.writer(written, lineterminator="\r\n")
    rows.writerow(COLUMNS)
    for item in items:
        amounts = (_exactly(item.unit_price), *(to_the_cent(part) for part in (item.amount, item.tax, item.total)))
        rows.writerow((_harmless(item.label), item.type, item.from_, item.to_, item.quantity, *amounts))
    return written.getvalue().encode()


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULAS) else text


def pdf(invoice: Invoice, items: list[StoredInvoiceItem]) -> bytes:
    """Render the PDF. One at a time: it uses a whole processor, possibly for seconds."""
    if not _places.acquire(blocking=False):
        raise Unavailable
    try:
        with _turn:
            return _made(msgspec.json.encode(_document(invoice, items)).decode())
    finally:
        _places.release()


def _made(content: str) -> bytes:
    try:
        import typst  # noqa: PLC0415 - only who wants a PDF pays for it
    except ImportError:
        raise Unavailable(NO_PDF) from None
    given: dict[str, Any] = {"format": "pdf", "sys_inputs": {"invoice": content}}
    tries: tuple[dict[str, Any], ...] = (
        {"pdf_standards": STANDARD, "ignore_system_fonts": True},
        {"pdf_standards": STANDARD},  # system fonts may cover scripts that our fonts lack
        {},  # better missing characters in a name than no invoice
    )
    for way in tries[:-1]:
        try:
            return bytes(typst.compile(TEMPLATE.read_bytes(), **given, **way))
        except typst.TypstError:
            continue
    return bytes(typst.compile(TEMPLATE.read_bytes(), **given, **tries[-1]))


def _document(invoice: Invoice, items: list[StoredInvoiceItem]) -> dict[str, Any]:
    year, month, day = (int(part) for part in invoice.date[:10].split("-"))
    return {
        "title": f"Invoice #{invoice.id}",
        "year": year,
        "month": month,
        "day": day,
        "seller": [line.strip() for line in invoice.seller.split(";") if line.strip()],
        "address": _address(invoice.address),
        "details": _details(invoice),
        "items": [_line(item) for item in items[:MOST]],
        "note": _note(len(items)),
        "subtotal": _readable(invoice.subtotal),
        "tax": _readable(invoice.tax),
        "total": _readable(invoice.total),
    }


def _note(items: int) -> str | None:
    if items <= MOST:
        return None
    return f"These are the first {MOST:,} of {items:,} items. The CSV file of this invoice has them all."


def _line(item: StoredInvoiceItem) -> dict[str, Any]:
    return {
        "label": item.label,
        "from": item.from_.replace("T", " ")[:16],
        "to": item.to_.replace("T", " ")[:16],
        "quantity": f"{item.quantity:,}",
        "unit_price": _exactly(item.unit_price),
        "amount": _readable(item.amount),
        "tax": _readable(item.tax),
        "total": _readable(item.total),
    }


def _address(address: dict[str, str]) -> list[str]:
    """Return the lines of a postal address without empty ones."""
    lines = (
        address.get("company", ""),
        _joined(address, "first_name", "last_name"),
        address.get("address_1", ""),
        address.get("address_2", ""),
        _joined(address, "city", "state", "zip"),
        address.get("country", ""),
    )
    return [line for line in lines if line]


def _joined(address: dict[str, str], *names: str) -> str:
    return " ".join(address[name] for name in names if address.get(name))


def _details(invoice: Invoice) -> list[tuple[str, str]]:
    details = [("Invoice number", str(invoice.id)), ("Date", invoice.date[:10]), ("Currency", "US dollars")]
    if tax_id := invoice.address.get("tax_id"):
        details.append(("Your tax id", tax_id))
    return details


def _readable(amount: int) -> str:
    """For people, who count in thousands."""
    return to_the_cent(amount, separator=",")


def _exactly(amount: int) -> str:
    """A price per hour has more digits than money has; two at least."""
    text = f"{Decimal(amount) / DOLLAR:.6f}".rstrip("0")
    return text + "0" * max(0, 2 - len(text.partition(".")[2]))
