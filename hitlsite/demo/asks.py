"""The requests of the demo's agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from approvals.asking.asks import Ask
from approvals.states import Kind

REMINDER = "Dear customer, invoice {invoice} is due. Please pay within seven days."


def approval(title: str, tool: str, value: Mapping[str, Any], **more: Any) -> Ask:
    return Ask(kind=Kind.APPROVAL, title=title, tool_name=tool, input=value, **more)


def label_mail(ticket: str, label: str) -> Ask:
    value = {"ticket": ticket, "label": label}
    return approval(f"Label {ticket} as {label}", "createLabel", value)


def reminder(number: int) -> Ask:
    bill = f"R-22{number:02}"
    value = {
        "to": f"accounts-{number % 4}@nordwind.example",
        "body": REMINDER.format(invoice=bill),
    }
    return approval(f"Remind Nordwind of invoice {bill}", "sendReminder", value)


def refund(order: int, amount: float, reason: str) -> Ask:
    value = {
        "order": f"#{order}",
        "amount": amount,
        "currency": "EUR",
        "reason": reason,
    }
    price = f"{amount:.2f}".removesuffix(".00")
    return approval(f"Refund {price} EUR for order #{order}", "refundOrder", value)
