"""Evidence for external obligations: the EU AI Act, article 14, and controls of SOC 2. It promises no compliance.

`docs/reference/evidence.md` has the same list; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from approvals.access import permissions
from approvals.http import SignedIn
from approvals.pages.audit.labels import EVENT_LABELS
from approvals.pages.audit.views import for_readers


@dataclass(frozen=True, slots=True)
class DutyEvidence:
    """An obligation or control: its demand, the evidence, and where it is kept: audit events, and pages by URL name."""

    number: str
    asks: Any
    kept: Any
    events: Sequence[str] = ()
    pages: Sequence[str] = ()


#: The pages named as evidence; the second member says whether they are for administrators only.
PAGES = {
    "approvals:insights": (_("Insights"), False),
    "approvals:requests": (_("Requests"), False),
    "approvals:grants": (_("Grants"), False),
    "approvals:policy": (_("Policy"), True),
    "approvals:scopes": (_("Approver scopes"), True),
    "approvals:tools": (_("Tools and agents"), True),
    "approvals:people": (_("People and teams"), True),
    "approvals:keys": (_("API keys"), True),
}

AI_ACT = (
    DutyEvidence(
        "14(1)",
        _("People can effectively oversee the system while it is in use."),
        _(
            "Each request with its input, who decided it, when, and how, with a decision record to print."
        ),
        ("request.created", "request.decided", "request.expired"),
        ("approvals:requests", "approvals:insights"),
    ),
    DutyEvidence(
        "14(3)",
        _(
            "The oversight is commensurate with the risk and the autonomy of the system."
        ),
        _(
            "Priorities, policy rules, the two-person rule, approver scopes with amounts, and limits of "
            "grants, with each change and its author."
        ),
        (
            "policy.applied",
            "tool.changed",
            "priority.changed",
            "scope.created",
            "scope.changed",
            "scope.deleted",
        ),
        ("approvals:policy", "approvals:tools", "approvals:scopes"),
    ),
    DutyEvidence(
        "14(4)(a)",
        _(
            "People understand what the system can do, monitor it, and notice anomalies."
        ),
        _(
            "Results of calls beside what was approved, calls that ran with another input, failed turns, and floods."
        ),
        ("tool.result", "tool.other_input", "turn.failed", "agent.flooded"),
        ("approvals:insights",),
    ),
    DutyEvidence(
        "14(4)(b)",
        _(
            "People stay aware that they may rely too much on the system (automation bias)."
        ),
        _(
            "For each approval, how many parts were never in view (unseen); totals of decisions faster than "
            "reading; advice from programs, which people see only after looking themselves."
        ),
        ("request.decided", "request.advised"),
        ("approvals:insights",),
    ),
    DutyEvidence(
        "14(4)(c)",
        _("People can interpret the output of the system."),
        _(
            "What was shown: input, message and conversation of each request, with the digest that the decision names."
        ),
        ("request.created",),
        ("approvals:requests",),
    ),
    DutyEvidence(
        "14(4)(d)",
        _(
            "People can decide not to use the system, or disregard, override or reverse its output."
        ),
        _(
            "Rejections, changed inputs before and after, and cancelled requests, with the person and the reason."
        ),
        ("request.decided", "request.cancelled"),
        ("approvals:requests",),
    ),
    DutyEvidence(
        "14(4)(e)",
        _("People can intervene in the operation or stop it."),
        _(
            "Stopped turns, revoked grants and keys, and the switch Ask about everything."
        ),
        ("turn.stopped", "grant.revoked", "grant.stopped", "key.revoked"),
        ("approvals:grants",),
    ),
    DutyEvidence(
        "14(5)",
        _(
            "Two people verify certain identifications separately (Annex III, point 1(a))."
        ),
        _(
            "Rules that ask several people, with each vote and its voter; the two-person rule, under which "
            "the requester cannot decide."
        ),
        ("policy.applied", "request.voted", "tool.changed", "request.decided"),
        ("approvals:policy", "approvals:tools"),
    ),
)

SOC_2 = (
    DutyEvidence(
        "CC4.1",
        _("The organization evaluates whether controls are present and working."),
        _(
            "The audit log, which the database refuses to change, with a digest of each entry to check; Insights."
        ),
        ("retention.pruned",),
        ("approvals:insights",),
    ),
    DutyEvidence(
        "CC6.1",
        _("Logical access is restricted to authorized users."),
        _(
            "Log-ins and failed log-ins; API keys with their scopes, and when they ended."
        ),
        (
            "login.succeeded",
            "login.failed",
            "key.created",
            "key.changed",
            "key.revoked",
        ),
        ("approvals:keys",),
    ),
    DutyEvidence(
        "CC6.2",
        _(
            "Users are registered and authorized before they get access, and removed afterwards."
        ),
        _(
            "Who added, invited or deactivated whom, and who confirmed it where a second administrator is needed."
        ),
        ("person.created", "person.invited", "invitation.accepted", "person.changed"),
        ("approvals:people",),
    ),
    DutyEvidence(
        "CC6.3",
        _("Access follows roles, least privilege and segregation of duties."),
        _(
            "Roles, teams and approver scopes with each change; no key can decide a request made with a key "
            "of the same user."
        ),
        (
            *(
                "person.changed",
                "team.changed",
                "group.changed",
                "sign_in.changed",
                "token_issuer.changed",
                "engine.changed",
                "scope.created",
                "scope.changed",
                "scope.deleted",
            ),
            *("change.waiting", "change.alone"),
        ),
        ("approvals:people", "approvals:scopes"),
    ),
    DutyEvidence(
        "CC7.2",
        _("The system is monitored for anomalies."),
        _(
            "Calls that ran with another input, denied calls, failed log-ins, and floods of similar requests."
        ),
        ("tool.other_input", "tool.denied", "login.failed", "agent.flooded"),
        ("approvals:insights",),
    ),
    DutyEvidence(
        "CC8.1",
        _("Changes are authorized and approved before they are made."),
        _(
            "The approval of each call before it ran, the digest of what was approved, and that of what ran."
        ),
        ("request.decided", "tool.result"),
        ("approvals:requests",),
    ),
    DutyEvidence(
        "C1.1",
        _("Confidential information is identified and protected."),
        _(
            "Hidden values, and each time that someone revealed one; the entry does not contain the value itself."
        ),
        ("request.secret_shown",),
    ),
    DutyEvidence(
        "PI1.4",
        _("Output is complete, accurate and delivered as intended."),
        _(
            "One result per call, whether it ran exactly what was approved, and events that were sent again."
        ),
        (
            *("tool.result", "event.resent", "callback.not_taken"),
            *("callback.unknown", "callback.settled"),
        ),
    ),
)


@require_GET
@for_readers
def evidence(request: SignedIn) -> HttpResponse:
    """Show the evidence for each obligation, with links; administrator pages are linked only for administrators."""
    administers = permissions.may_administer(request.standing)
    context = {
        "ai_act": _lines(AI_ACT, administers=administers),
        "soc_2": _lines(SOC_2, administers=administers),
    }
    return render(request, "approvals/audit/evidence.html", context)


def _lines(items: Sequence[DutyEvidence], *, administers: bool) -> list[dict[str, Any]]:
    return [
        {
            "number": item.number,
            "asks": item.asks,
            "kept": item.kept,
            "events": [(event, EVENT_LABELS[event]) for event in item.events],
            "pages": [
                (name, PAGES[name][0])
                for name in item.pages
                if administers or not PAGES[name][1]
            ],
        }
        for item in items
    ]
