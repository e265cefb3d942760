"""The requests that wait on the demo's desk today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from approvals.asking.asks import Ask
from approvals.states import Kind, Priority
from hitlsite.demo.asks import approval, refund
from hitlsite.demo.files import invoice, photo

EMAIL = """Dear Ms Meyer,

we are sorry that your parcel arrived two days late and that one lamp was broken.
A new lamp is on its way to you, and you should have it on Thursday.

You do not have to send the broken one back. As an apology, the delivery was free:
we have returned 14.90 EUR to your card.

Kind regards
Your team at Lumen Shop
"""
OLD_CODE = """def price_of(order):
    total = sum(line.price for line in order.lines)
    if order.customer.is_regular:
        total = total * 0.9
    return total
"""
NEW_CODE = """def price_of(order):
    total = sum(line.price * line.count for line in order.lines)
    if order.customer.is_regular:
        total = total * Decimal("0.9")
    return total.quantize(CENT)
"""
INVOICE = (
    "Baltic Packaging",
    "Invoice R-2290 of 20 November 2026",
    "",
    "600 boxes, 40 x 30 x 20 cm          1,500.00 EUR",
    "Tape, 50 rolls                        390.00 EUR",
    "",
    "Total                               1,890.00 EUR",
)
TRIP = {
    "type": "object",
    "required": ["hotel", "nights"],
    "properties": {
        "hotel": {"title": "Hotel", "enum": ["Am Hafen", "Speicherstadt", "Altona"]},
        "nights": {"title": "Nights", "type": "integer", "minimum": 1, "maximum": 7},
        "arrival": {"title": "Arrival", "type": "string", "format": "date"},
        "train": {"title": "Train tickets are needed", "type": "boolean"},
    },
}


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request of an agent that has waited for some minutes."""

    minutes: int
    agent: str
    ask: Ask


def open_requests(now: datetime) -> list[OpenRequest]:
    """Return the waiting requests, oldest first."""
    requests = [*_of_billing(), *_of_support(now), *_of_coder(), *_of_others()]
    return sorted(requests, key=lambda request: -request.minutes)


def _of_billing() -> Iterator[OpenRequest]:
    freight = {
        "recipient": "Hansen Logistics GmbH",
        "iban": "DE02120300000000202051",
        "amount": 12400,
        "currency": "EUR",
        "reference": "Invoice 2026-1108",
    }
    yield OpenRequest(
        95,
        "billing",
        approval(
            "Pay the freight for October",
            "sendPayment",
            freight,
            message="Freight for October, due on Friday.",
        ),
    )
    boxes = {
        "invoice": "R-2290",
        "supplier": "Baltic Packaging",
        "amount": 1890,
        "currency": "EUR",
    }
    files = [invoice(INVOICE), photo()]
    yield OpenRequest(
        48,
        "billing",
        approval("Pay invoice R-2290", "payInvoice", boxes, attachments=files),
    )


def _of_support(now: datetime) -> Iterator[OpenRequest]:
    mail = {
        "to": "j.meyer@nordwind.example",
        "subject": "Your delivery of 12 November",
        "body": EMAIL,
    }
    yield OpenRequest(
        80,
        "support",
        approval(
            "Apologise for the late delivery",
            "sendEmail",
            mail,
            message="The customer has asked twice.",
        ),
    )
    voucher = {
        "customer": "C-1077",
        "amount": 40,
        "currency": "EUR",
        "valid": "2027-06-30",
    }
    yield OpenRequest(
        40,
        "support",
        approval(
            "Voucher of 40 EUR for C-1077",
            "issueVoucher",
            voucher,
            message="The chat with the customer ends soon.",
            deadline_at=now + timedelta(minutes=50),
        ),
    )
    yield OpenRequest(21, "support", _which_parcel())
    yield OpenRequest(12, "support", refund(4719, 640, "Charged twice"))


def _which_parcel() -> Ask:
    return Ask(
        kind=Kind.QUESTION,
        title="Which parcel should be sent first?",
        message="Both customers paid for express delivery, and one van is left today.",
        options=[
            {"label": "Order #4721", "description": "Medical supplies, 14 km away"},
            {"label": "Order #4722", "description": "A birthday present, 3 km away"},
        ],
        allow_text=True,
    )


def _of_coder() -> Iterator[OpenRequest]:
    context = {"directory": "/srv/shop"}
    edit = {
        "file_path": "/srv/shop/pricing.py",
        "old_string": OLD_CODE,
        "new_string": NEW_CODE,
    }
    yield OpenRequest(
        62,
        "coder",
        approval(
            "Multiply prices by the number of items", "Edit", edit, context=context
        ),
    )
    command = {
        "command": "python manage.py migrate --database orders",
        "description": "Add the column for the new discount",
    }
    yield OpenRequest(
        55,
        "coder",
        approval("Add the column for the discount", "Bash", command, context=context),
    )


def _of_others() -> Iterator[OpenRequest]:
    yield OpenRequest(
        33,
        "travel",
        Ask(
            kind=Kind.FORM,
            title="Book the trip to Hamburg",
            message="Two people visit the trade fair. Which hotel, and for how long?",
            response_schema=TRIP,
        ),
    )
    yield OpenRequest(
        27,
        "ops",
        approval(
            "Drop the orders of 2019",
            "dropTable",
            {"database": "orders", "table": "orders_2019", "rows": 120_413},
            message="The table was archived in March.",
            priority=Priority.CRITICAL,
        ),
    )
    post = {"channel": "news", "text": "Free delivery this weekend, on every order."}
    yield OpenRequest(
        6, "marketing", approval("Announce free delivery", "publishPost", post)
    )
