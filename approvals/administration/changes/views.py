"""Pages on which a second administrator confirms changes."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import int_to_base36
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from approvals.administration.changes import actions
from approvals.administration.changes.nouns import NOUNS
from approvals.administration.changes.queries import pending_changes, pending_row
from approvals.administration.guards import administrators_only
from approvals.http import SignedIn
from approvals.models import PendingChange


@administrators_only
@require_safe
def changes(request: SignedIn) -> HttpResponse:
    """All changes that need a second administrator."""
    context = {"here": "changes", "waiting": pending_changes(request.user)}
    return render(request, "approvals/administration/changes/changes.html", context)


@administrators_only
@require_POST
def settle(request: SignedIn, pk: int) -> HttpResponse:
    """Confirm another administrator's change, or cancel a change."""
    if request.POST.get("do") != "confirm":
        change = actions.withdraw_change(pk, by=request.user)
        messages.success(request, _("The change is cancelled."))
        return redirect(_after(change))
    try:
        change = actions.confirm_change(
            pk, shown=request.POST.get("shown", ""), by=request.user
        )
    except actions.ShownOtherwise as refusal:
        waiting = PendingChange.objects.select_related("person", "requested_by").get(
            pk=pk
        )
        context = {
            "here": "changes",
            "refusal": str(refusal),
            "waiting": [pending_row(waiting, request.user)],
        }
        return render(
            request,
            "approvals/administration/changes/changes.html",
            context,
            status=refusal.status,
        )
    if change.kind == PendingChange.Kind.LINK and change.person is not None:
        return password_link(request, change.person)
    messages.success(request, _("The change is confirmed."))
    return redirect(_after(change))


def password_link(request: SignedIn, person: User) -> HttpResponse:
    """Show a link that sets a person's password. It works once, for an hour."""
    named = {
        "uidb36": int_to_base36(person.pk),
        "key": default_token_generator.make_token(person),
    }
    link = settings.PUBLIC_URL + reverse(
        "account_reset_password_from_key", kwargs=named
    )
    context = {"person": person, "link": link, "here": "people"}
    return render(request, "approvals/administration/people/person_link.html", context)


def say_that_it_waits(request: SignedIn) -> None:
    """Show a message that the change needs a second administrator."""
    messages.info(
        request,
        _("Another administrator must confirm this. Until then, nothing changes."),
    )


def say_saved(request: SignedIn, *, waits: bool, saved: str = "") -> None:
    """Show a message that the change is saved (`saved` replaces the standard text), or that it needs a second administrator."""
    if waits:
        say_that_it_waits(request)
    else:
        messages.success(request, saved or _("The changes are saved."))


def _after(change: PendingChange) -> str:
    return NOUNS[change.kind].address(change)
