"""Calls that run without asking: the grants that a person may see, one grant with its uses, and ways to end them."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from approvals.actions.policy import ask_about_everything, revoke_grant
from approvals.db.cursors import number_from
from approvals.exceptions import Conflict
from approvals.http import SignedIn, actor_of, refusals_as_pages, sent_address
from approvals.policy.grants import MAX_REASON
from approvals.queries.policy.grants.covered import waiting_with
from approvals.queries.policy.grants.ledger import (
    GrantCursor,
    asking_always,
    find_grant,
    grants_for,
    may_end,
    may_stop_grants,
    shown_grants,
    uses_of,
)
from approvals.queries.policy.grants.unusable import why_unusable
from approvals.queries.policy.rules.policy_versions import (
    may_read_policy,
    rules_that_allow,
)
from approvals.states import Door

PAGE = 50
#: Filters of the list, with the maximum length of each.
FILTERS = {"tool": 100, "agent": 100, "key": 19}


@require_GET
@refusals_as_pages
def ledger(request: SignedIn) -> HttpResponse:
    """Active or ended grants, newest first, optionally filtered by `?tool=`, `agent` or `key`."""
    filters = _filters(request.GET)
    ended = request.GET.get("show") == "ended"
    key_id = number_from(filters.get("key", ""))
    rows = grants_for(
        request.standing,
        tool=filters.get("tool", ""),
        agent=filters.get("agent", ""),
        key_id=key_id,
    )
    rows = shown_grants(rows).filter(ended_at__isnull=not ended)
    before = GrantCursor.parse(request.GET.get("before", ""))
    shown = list((rows if before is None else rows.filter(before.older))[: PAGE + 1])
    last = shown[PAGE - 1] if len(shown) > PAGE else None
    chosen = filters | ({"show": "ended"} if ended else {})
    unusable = why_unusable(shown[:PAGE])
    context = {
        "rows": [
            (grant, may_end(request.standing, grant), unusable.get(grant.pk, ""))
            for grant in shown[:PAGE]
        ],
        "ended": ended,
        "filters": filters,
        "in_force": f"?{urlencode(filters)}",
        "of_ended": f"?{urlencode(filters | {'show': 'ended'})}",
        "next": f"?{urlencode(chosen | {'before': str(GrantCursor(last.given_at, last.pk))})}"
        if last
        else "",
        "rules": rules_that_allow() if not ended and not filters else (),
        "reads_policy": may_read_policy(request.standing),
        "may_stop": may_stop_grants(request.standing),
        "switched_on": asking_always(),
        "max_reason": MAX_REASON,
        "here": "grants",
    }
    return render(request, "approvals/policy/ledger.html", context)


def _filters(sent: QueryDict) -> dict[str, str]:
    texts = {
        name: sent.get(name, "").replace("\0", "")[:longest]
        for name, longest in FILTERS.items()
    }
    return {name: text for name, text in texts.items() if text}


@require_GET
@refusals_as_pages
def granted(request: SignedIn, pk: UUID) -> HttpResponse:
    """One grant with the requests that it has approved, latest first."""
    grant = find_grant(request.standing, pk)
    before = number_from(request.GET.get("before", ""))
    uses = uses_of(grant, request.standing)
    shown = list(
        (uses if before is None else uses.filter(decision__grant_use__lt=before))[
            : PAGE + 1
        ]
    )
    context = {
        "grant": grant,
        "uses": shown[:PAGE],
        "next": shown[PAGE - 1].decision.grant_use if len(shown) > PAGE else None,
        "unusable": why_unusable([grant]).get(grant.pk, ""),
        "waiting": waiting_with(request.standing, grant),
        "may_end": grant.ended_at is None and may_end(request.standing, grant),
        "max_reason": MAX_REASON,
        "here": "grants",
    }
    return render(request, "approvals/policy/granted.html", context)


@require_POST
@refusals_as_pages
def revoke(request: SignedIn, pk: UUID) -> HttpResponse:
    """End a grant, and return to the page of the form."""
    revoke_grant(
        pk,
        reason=request.POST.get("reason", ""),
        by=actor_of(request),
        via=Door.DASHBOARD,
    )
    messages.success(
        request,
        _("The grant is revoked. The calls that it covered need a person again."),
    )
    return redirect(sent_address(request, "next") or "approvals:grants")


@require_POST
@refusals_as_pages
def switch(request: SignedIn) -> HttpResponse:
    """Switch *Ask about everything* on or off; a switch already in that state stays."""
    on = request.POST.get("on") == "yes"
    try:
        ask_about_everything(
            on=on,
            reason=request.POST.get("reason", ""),
            by=actor_of(request),
            via=Door.DASHBOARD,
        )
    except Conflict as refusal:
        messages.info(request, str(refusal))
    else:
        messages.success(
            request,
            _("People are now asked about every call.")
            if on
            else _("Grants apply again."),
        )
    return redirect("approvals:grants")
