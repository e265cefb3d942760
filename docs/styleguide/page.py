"""The styleguide: every component in all its states, rendered with the templates and styles of the pages.

It shows unsaved rows, so it works with an empty database.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from approvals.access.assignees import NOBODY, Holder
from approvals.models import ApprovalRequest, Decision
from approvals.pages.card_forms import Answering, Review
from approvals.pages.cards import About, Card, shown_outcome
from approvals.pages.insights import charts
from approvals.pages.key_fields import key_values
from approvals.pages.lists.inbox_rows import InboxRow, ShownRow
from approvals.queries.insights.values import Measure
from approvals.shown.requests import shown_decision, shown_request
from approvals.states import Door, Kind, Priority, Status, Verdict, WorkflowState
from approvals.templatetags.desk import TONES
from approvals.text.differences import changes

#: Custom properties of tokens.css; each ink is shown on every ground that it is used on.
GROUNDS = ("ground", "surface", "raised", "sunken")
INKS = ("ink", "ink-soft", "accent", "danger", "warn", "good", "info")
SOFT = (
    "accent",
    "danger",
    "warn",
    "good",
    "info",
    *(f"tone-{number}" for number in range(TONES)),
)
BARE = ("line", "line-strong", "focus")
SIZES = ("small", "body", "large", "heading", "title")
SPACES = ("1", "2", "3", "4", "5", "6", "7")
SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {
            "type": "string",
            "title": "Name",
            "maxLength": 40,
            "description": "As in the passport.",
        },
        "nights": {"type": "integer", "title": "Nights", "minimum": 1, "maximum": 14},
        "from": {"type": "string", "format": "date", "title": "From"},
        "board": {"enum": ["breakfast", "half board"], "title": "Board"},
        "pets": {"type": "boolean", "title": "With pets"},
        "guests": {
            "type": "array",
            "items": {"type": "string"},
            "title": "Guests",
            "maxItems": 3,
        },
    },
}
REFUND = {"orderId": "4711", "amount": 250, "items": [{"sku": "A-1", "count": 2}]}


def unsaved(number: int, **fields: Any) -> ApprovalRequest:
    """Return an unsaved request; `number` makes its id."""
    shape: dict[str, Any] = {
        "kind": Kind.APPROVAL,
        "title": "Refund order 4711?",
        "tool_name": "refund",
    }
    shape |= {
        "input": REFUND,
        "input_digest": "sha256:" + "0" * 64,
        "created_at": timezone.now() - timedelta(minutes=4),
    }
    request = ApprovalRequest(pk=UUID(int=number), **shape | fields)
    request.requested_by = User(username="requester")
    return request


def card_of(
    request: ApprovalRequest,
    decision: Decision | None = None,
    *,
    may_decide: bool = False,
    holder: Holder = NOBODY,
    **answering: Any,
) -> Card:
    """Return the card of an unsaved request; `answering` are fields of its forms."""
    shown = shown_request(request)
    outcome = None
    if decision is not None:
        outcome = shown_outcome(shown, shown_decision(request, decision))
    return Card(
        request=shown,
        about=About(shown, shown),
        answering=Answering(request=shown, may_close=may_decide, **answering),
        outcome=outcome,
        may_close=may_decide,
        may_cancel=may_decide,
        holder=holder,
    )


def ended(number: int, verdict: Verdict, status: Status, **fields: Any) -> Card:
    """The card of a request that this verdict ended."""
    by = "" if verdict == Verdict.EXPIRE else "approver"
    at = timezone.now() - timedelta(minutes=2)
    decision = Decision(
        verdict=verdict, by_name=by, via=Door.DASHBOARD, decided_at=at, **fields
    )
    return card_of(unsaved(number, status=status), decision)


def waiting(
    number: int, fields: dict[str, Any], *, holder: Holder = NOBODY, **shown: Any
) -> Card:
    """The card of a request that waits for who looks at it."""
    return card_of(unsaved(number, **fields), may_decide=True, holder=holder, **shown)


def cards() -> list[tuple[str, Card]]:
    """Every state of a card, with its name."""
    soon = timezone.now() + timedelta(minutes=4)
    question = {
        "kind": Kind.QUESTION,
        "title": "Which size?",
        "tool_name": "",
        "input": {},
    }
    form = {
        "kind": Kind.FORM,
        "title": "Book the room",
        "tool_name": "",
        "input": {},
        "response_schema": SCHEMA,
    }
    options = [{"label": "S"}, {"label": "M", "description": "Fits most."}]
    critical = {
        "priority": Priority.CRITICAL,
        "title": "Drop the table?",
        "tool_name": "dropTable",
    }
    edited = {**REFUND, "amount": 200}
    sent = QueryDict("verdict=respond&value.nights=99")
    wrong = {"answer.name": "is missing", "answer.nights": "is more than 14"}
    held = Holder(name="carol", may_take=True, assigned="carol", version="1")
    review = Review(
        changes=changes(REFUND, edited), fields=[], comment="Two came back."
    )
    return [
        (
            "An approval, with context and a deadline",
            waiting(1, {"context": {"customer": "since 2019"}, "deadline_at": soon}),
        ),
        (
            "High, assigned to someone",
            waiting(2, {"priority": Priority.HIGH}, holder=held),
        ),
        ("Critical", waiting(3, critical)),
        ("A question with options", waiting(4, {**question, "options": options})),
        (
            "A question with several answers",
            waiting(5, {**question, "options": options, "multiple": True}),
        ),
        (
            "A question answered in your own words",
            waiting(
                6, {**question, "suggestions": ["Small", "Large"], "allow_text": True}
            ),
        ),
        ("A form", waiting(7, form)),
        (
            "A form with errors",
            waiting(
                8, form, refusal="The answer is not valid.", errors=wrong, typed=sent
            ),
        ),
        (
            "Outcome unknown",
            waiting(9, {"kind": Kind.RECOVERY, "title": "Did the refund go out?"}),
        ),
        ("Changes under review", waiting(10, {}, review=review)),
        ("For someone who may not decide", card_of(unsaved(11))),
        (
            "Approved",
            ended(
                12, Verdict.APPROVE, Status.APPROVED, comment="The parcel came back."
            ),
        ),
        (
            "Approved with changes",
            ended(13, Verdict.EDIT, Status.APPROVED, edited_input=edited),
        ),
        (
            "Rejected",
            ended(
                14,
                Verdict.REJECT,
                Status.REJECTED,
                comment="Only half of it came back.",
            ),
        ),
        ("Answered", ended(15, Verdict.RESPOND, Status.ANSWERED, answer="M")),
        ("Cancelled", ended(16, Verdict.CANCEL, Status.CANCELLED)),
        ("Expired", ended(17, Verdict.EXPIRE, Status.EXPIRED)),
    ]


def rows() -> list[ShownRow]:
    """Rows of the Inbox: an approval, a question, one that someone else decides, and one that has ended."""
    question = {
        "kind": Kind.QUESTION,
        "title": "Which size?",
        "tool_name": "",
        "input": {},
    }
    soon = timezone.now() + timedelta(minutes=4)
    cancelled = Decision(
        verdict=Verdict.CANCEL,
        by_name="approver",
        via=Door.DASHBOARD,
        decided_at=timezone.now(),
    )
    shapes: tuple[tuple[dict[str, Any], Decision | None, bool], ...] = (
        ({"deadline_at": soon}, None, True),
        (question, None, True),
        ({}, None, False),
        ({"status": Status.CANCELLED}, cancelled, False),
    )
    requests = [
        unsaved(number, **fields) for number, (fields, _, _) in enumerate(shapes, 101)
    ]
    return [
        InboxRow(
            request=request,
            decision=decision,
            pickable=pickable,
            section="waiting",
            values=key_values(request.input, ()),
            address=request.get_absolute_url(),
        ).shown
        for request, (_, decision, pickable) in zip(requests, shapes, strict=True)
    ]


@require_GET
def styleguide(request: HttpRequest) -> HttpResponse:
    return render(request, "styleguide/page.html", context())


def context() -> dict[str, Any]:
    shown = cards()
    now = timezone.now()
    measures = [
        Measure(
            name=f"2026-01-{day:02}", ended=day + 3, approved=day, rejected=2, expired=1
        )
        for day in range(1, 15)
    ]
    ages = [("under 1 hour", 9, 100, "?"), ("hours", 4, 44, "?"), ("a day", 1, 11, "?")]
    return {
        "grounds": GROUNDS,
        "inks": INKS,
        "soft": SOFT,
        "bare": BARE,
        "sizes": SIZES,
        "spaces": SPACES,
        "cards": shown,
        "rows": rows(),
        "days": charts.days_chart(measures),
        "insights": {"since": now - timedelta(days=13), "until": now},
        "ages": ages,
        "waiting": {"total": 14, "oldest": now - timedelta(days=1)},
        "total": {"median": "4 min", "p95": "2 h", "measure": measures[-1]},
        "kinds": Kind,
        "statuses": Status,
        "priorities": Priority,
        "states": WorkflowState,
    }
