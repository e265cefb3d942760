"""Create what the screenshots show in addition to the demo. `make.py` runs it; it prints the addresses as JSON."""

from __future__ import annotations

import json
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Priority, Status, Verdict
from chats.models import Chat

ROOM = {
    "type": "object",
    "required": ["hotel", "nights"],
    "properties": {
        "hotel": {"enum": ["Gare du Nord", "Bastille", "Montmartre"], "title": "Hotel"},
        "nights": {"type": "integer", "title": "Nights", "minimum": 1, "maximum": 14},
        "from": {"type": "string", "format": "date", "title": "From"},
        "late": {"type": "boolean", "title": "Arrives late"},
    },
}
INVOICE = {
    "invoice": "R-2291",
    "customer": "Nordwind GmbH",
    "amount": 1890,
    "reason": "delivered twice",
}


def show() -> dict[str, str]:
    """Return the address of each page."""
    alice, bob = (
        User.objects.get(username="requester"),
        User.objects.get(username="approver"),
    )
    flow = actions.open_workflow(
        scope="key:0",
        key="night-run",
        title="Night run",
        source="api",
        owner=alice,
        agent="billing",
    )

    def ask(**given: object) -> ApprovalRequest:
        return actions.request_approval(flow, Ask(**given), requested_by=alice)  # type: ignore[arg-type]

    soon = timezone.now() + timedelta(minutes=55)
    for number in range(4):
        old = ask(
            kind=Kind.APPROVAL,
            title=f"Refund invoice R-22{number}0?",
            tool_name="refundInvoice",
            input=INVOICE,
        )
        verdict = Verdict.REJECT if number == 2 else Verdict.APPROVE
        actions.decide(
            old.pk,
            Answer(verdict, comment="Checked with the warehouse."),
            by=bob,
            via=Door.DASHBOARD,
        )
    refund = ask(
        kind=Kind.APPROVAL,
        title="Refund invoice R-2291?",
        message="The customer says it was **delivered twice**.",
        tool_name="refundInvoice",
        input=INVOICE,
        context={"customer since": "2019", "open tickets": 1},
        deadline_at=soon,
        said_before=[{"role": "user", "text": "We got two parcels, we ordered one."}],
    )
    actions.comment(
        refund.pk,
        by=alice,
        via=Door.DASHBOARD,
        text="The second parcel is on its way back.",
    )
    drop = {"table": "orders_2019", "rows": 120_413}
    critical = ask(
        kind=Kind.APPROVAL,
        title="Drop the table?",
        tool_name="dropTable",
        input=drop,
        priority=Priority.CRITICAL,
    )
    room = ask(
        kind=Kind.FORM,
        title="Which room in Paris?",
        response_schema=ROOM,
        priority=Priority.HIGH,
    )
    chat = Chat.objects.filter(title__contains="4711").get()
    ended = ApprovalRequest.objects.get(
        status=Status.REJECTED, workflow__title__contains="4712"
    )
    talk = f"/chats/{chat.pk}/"
    found = {
        "request": refund,
        "critical": critical,
        "form": room,
        "decided": ended,
        "edit": refund,
    }
    addresses = {name: f"/requests/{one.pk}/" for name, one in found.items()}
    return addresses | {
        "chat": talk,
        "timeline": f"{talk}timeline/",
        "compare": f"{talk}compare/",
    }


print(json.dumps(show()))
