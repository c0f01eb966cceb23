"""Billing: invoices, cards, payments, promotions, costs."""

from __future__ import annotations

from typing import Annotated

from crofter.context import Context
from crofter.edge.endpoint import Header, Lookup, NoEvents, endpoint
from crofter.edge.listing import Listing
from crofter.resources.billing import cost_forecast, documents, listings, paypal, promotions, rules, store
from crofter.resources.billing.listings import Invoice, Payment
from crofter.resources.billing.shapes import (
    AccountCost,
    CardBody,
    InvoiceItemView,
    InvoiceView,
    PaymentCreate,
    PaymentMethodCreate,
    PaymentMethodView,
    PaymentView,
    PayPalCreate,
    PayPalExecute,
    PayPalView,
    PromoCode,
    Promotion,
)
from crofter.results import Reply, TwoPhaseWrite
from crofter.shapes import Page

TheInvoice = Annotated[Invoice, Lookup(listings.get_invoice, "invoice_id")]
ThePayment = Annotated[Payment, Lookup(listings.get_payment, "payment_id")]
TheMethod = Annotated[store.Method, Lookup(store.method, "payment_method_id")]
Key = Annotated[str | None, Header("idempotency-key")]


# ---- invoices -------------------------------------------------------------------------------------------------------


@endpoint("GET /v4/account/invoices", scope="account:read_only", grant="account:read_only")
def list_invoices(ctx: Context, listing: Listing) -> Page[InvoiceView]:
    """List the invoices of the account, newest first."""
    return listing.of(ctx, listings.INVOICES, lambda rows: [row.view() for row in rows], account_id=ctx.account_id)


@endpoint("GET /v4/account/invoices/{invoice_id}", scope="account:read_only", grant="account:read_only")
def view_invoice(ctx: Context, invoice: TheInvoice) -> InvoiceView:
    """View an invoice."""
    return invoice.view()


@endpoint(
    "GET /v4/account/invoices/{invoice_id}/items", scope="account:read_only", grant="account:read_only", slow=True
)
def list_invoice_items(ctx: Context, invoice: TheInvoice, listing: Listing) -> Page[InvoiceItemView]:
    """List the lines of an invoice."""
    return listing.of(ctx, listings.ITEMS, lambda rows: [row.view() for row in rows], invoice_id=invoice.id)


@endpoint(
    "GET /v4/account/invoices/{invoice_id}/pdf",
    scope="account:read_only",
    grant="account:read_only",
    replies=("application/pdf",),
    slow=True,
    weight=20,
)
def view_invoice_pdf(ctx: Context, invoice: TheInvoice) -> Reply:
    """View an invoice as a PDF document."""
    return _file(documents.pdf(invoice, listings.items(ctx, invoice.id)), "application/pdf", invoice, "pdf")


@endpoint(
    "GET /v4/account/invoices/{invoice_id}/csv",
    scope="account:read_only",
    grant="account:read_only",
    replies=("text/csv; charset=utf-8",),
    slow=True,
    weight=5,
)
def view_invoice_csv(ctx: Context, invoice: TheInvoice) -> Reply:
    """View the lines of an invoice as a table for spreadsheets."""
    return _file(documents.csv(listings.items(ctx, invoice.id)), "text/csv; charset=utf-8", invoice, "csv")


def _file(content: bytes, kind: str, invoice: Invoice, ending: str) -> Reply:
    disposition = f'attachment; filename="invoice-{invoice.id}.{ending}"'
    return Reply(content, kind, (("content-disposition", disposition),))


# ---- cards ----------------------------------------------------------------------------------------------------------


@endpoint(
    "POST /v4/account/credit-card",
    scope="account:read_write",
    grant="account:read_write",
    deprecated="POST /v4/account/payment-methods",
    events=("credit_card_updated",),
    also=rules.card_complaints,
)
def update_credit_card(ctx: Context, body: CardBody) -> TwoPhaseWrite[None]:
    """Add or replace the card on file."""
    return rules.replace_card(ctx, body)


@endpoint("GET /v4/account/payment-methods", scope="account:read_only", grant="account:read_only")
def list_payment_methods(ctx: Context, listing: Listing) -> Page[PaymentMethodView]:
    """List the payment methods of the account."""
    return listing.of(
        ctx, listings.PAYMENT_METHODS, lambda rows: [rules.view(row) for row in rows], account_id=ctx.account_id
    )


@endpoint(
    "POST /v4/account/payment-methods",
    scope="account:read_write",
    grant="account:read_write",
    events=("payment_method_add",),
    also=rules.method_complaints,
)
def create_payment_method(ctx: Context, body: PaymentMethodCreate) -> TwoPhaseWrite[None]:
    """Add a card."""
    return rules.create_method(ctx, body)


@endpoint("GET /v4/account/payment-methods/{payment_method_id}", scope="account:read_only", grant="account:read_only")
def view_payment_method(ctx: Context, method: TheMethod) -> PaymentMethodView:
    """View a payment method."""
    return rules.view(method)


@endpoint(
    "DELETE /v4/account/payment-methods/{payment_method_id}",
    scope="account:read_write",
    grant="account:read_write",
    events=NoEvents("the interface has no action for the removal of a payment method"),
)
def delete_payment_method(ctx: Context, method: TheMethod) -> None:
    """Forget a payment method that is not the default one."""
    rules.delete_method(ctx, method)


@endpoint(
    "POST /v4/account/payment-methods/{payment_method_id}/make-default",
    scope="account:read_write",
    grant="account:read_write",
    events=NoEvents("the interface has no action for the choice of a payment method"),
)
def make_payment_method_default(ctx: Context, method: TheMethod) -> None:
    """Make a payment method the default."""
    rules.make_default(ctx, method)


# ---- payments, promotions, costs ------------------------------------------------------------------------------------


@endpoint("GET /v4/account/payments", scope="account:read_only", grant="account:read_only")
def list_payments(ctx: Context, listing: Listing) -> Page[PaymentView]:
    """List the payments of the account, newest first."""
    return listing.of(ctx, listings.PAYMENTS, lambda rows: [row.view() for row in rows], account_id=ctx.account_id)


@endpoint(
    "POST /v4/account/payments",
    scope="account:read_write",
    grant="account:read_write",
    events=("payment_submitted",),
)
def create_payment(ctx: Context, body: PaymentCreate, key: Key = None) -> TwoPhaseWrite[PaymentView]:
    """Pay from a card on file."""
    return rules.pay(ctx, body, key)


@endpoint("GET /v4/account/payments/{payment_id}", scope="account:read_only", grant="account:read_only")
def view_payment(ctx: Context, payment: ThePayment) -> PaymentView:
    """View a payment."""
    return payment.view()


@endpoint(
    "POST /v4/account/payments/paypal",
    scope="account:read_write",
    grant="account:read_only",
    deprecated="POST /v4/account/payments",
    events=NoEvents("the execution of the staged payment leaves the event"),
)
def stage_paypal_payment(ctx: Context, body: PayPalCreate) -> TwoPhaseWrite[PayPalView]:
    """Prepare a payment through PayPal, for its payer to approve there."""
    return paypal.stage(ctx, body)


@endpoint(
    "POST /v4/account/payments/paypal/execute",
    scope="account:read_write",
    grant="account:read_write",
    deprecated="POST /v4/account/payments",
    events=("payment_submitted",),
)
def execute_paypal_payment(ctx: Context, body: PayPalExecute, key: Key = None) -> TwoPhaseWrite[None]:
    """Make a payment through PayPal that its payer has approved."""
    return paypal.execute(ctx, body, key)


@endpoint("POST /v4/account/promo-codes", scope="account:read_write", grant="unrestricted", events=("account_update",))
def redeem_promo_code(ctx: Context, body: PromoCode) -> Promotion:
    """Use a code that gives the account credit."""
    return promotions.redeem(ctx, body.promo_code)


@endpoint("GET /v4/account/cost", scope="account:read_only", grant="account:read_only", slow=True, weight=10)
def view_account_cost(ctx: Context) -> AccountCost:
    """View what the account costs this month, by service and by tag, with a forecast."""
    return cost_forecast.of_account(ctx)
