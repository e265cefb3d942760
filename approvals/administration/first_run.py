"""The first-run checklist: the steps up to the first decided request."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.administration.guards import administrators_only
from approvals.administration.people.queries import other_deciders_exist
from approvals.administration.preferences.actions import store_preferences
from approvals.http import SignedIn
from approvals.models import ApprovalRequest, Decision, Preferences
from approvals.models.keys import ApiKey
from approvals.queries.preferences import preferences_of

#: htmx stops polling at this status.
STOP_POLLING = 286
#: Placeholder in the command for the reader's API key.
PLACEHOLDER = "YOUR_KEY"
QUESTION = {
    "kind": "question",
    "title": "Which size?",
    "options": [{"label": "S"}, {"label": "M"}],
}


@dataclass(frozen=True, slots=True)
class Checklist:
    """The completed steps, and a command that sends a first request."""

    approver: bool
    key: bool
    request: bool
    decision: bool
    command: str

    @property
    def complete(self) -> bool:
        return self.approver and self.key and self.request and self.decision


def first_question(key: str) -> str:
    """Return a one-line shell command that asks a question."""
    command = ["curl", f"{settings.PUBLIC_URL}/api/v1/requests"]
    for header in (f"Authorization: Bearer {key}", "Content-Type: application/json"):
        command += ["-H", header]
    return shlex.join([*command, "-d", json.dumps(QUESTION)])


def checklist_for(viewer: Standing, preferences: Preferences) -> Checklist | None:
    """Return the checklist for an administrator; None for everyone else, and once it was dismissed."""
    if preferences.setup_dismissed or not permissions.may_administer(viewer):
        return None
    return Checklist(
        approver=other_deciders_exist(viewer.pk),
        key=ApiKey.objects.filter(revoked_at=None).exists(),
        request=ApprovalRequest.objects.exists(),
        decision=Decision.objects.exists(),
        command=first_question(PLACEHOLDER),
    )


@administrators_only
@require_GET
def checklist(request: SignedIn) -> HttpResponse:
    """The current state of the steps, for a page that shows the checklist already."""
    current = checklist_for(request.standing, preferences_of(request.user))
    if current is None:
        return HttpResponse(status=STOP_POLLING)
    status = STOP_POLLING if current.complete else 200
    return render(
        request,
        "approvals/administration/_steps.html",
        {"checklist": current},
        status=status,
    )


@administrators_only
@require_POST
def dismiss(request: SignedIn) -> HttpResponse:
    """Hide the checklist for good."""
    store_preferences(request.user, {"setup_dismissed": True})
    return redirect("approvals:dashboard")
