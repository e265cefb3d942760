"""How a person gets in: invitations, links that set a password, and changes that wait for a second administrator."""

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
from django.views.decorators.http import require_POST

from approvals.access.administering import waits_for_second
from approvals.access.invitations import VALID_FOR, invitation_link
from approvals.actions import administration
from approvals.http import SignedIn
from approvals.models import Invitation, PendingChange
from approvals.outbound.invitations import mail_invitation
from approvals.pages.settings.guards import administrators_only
from approvals.text.text import visible


@administrators_only
@require_POST
def activate(request: SignedIn, pk: int) -> HttpResponse:
    """Deactivate a person, or activate them again."""
    active = request.POST.get("active") == "yes"
    found = administration.set_active(pk, active=active, by=request.user)
    if active:
        words = _("%(name)s is active again.")
    else:
        words = _("%(name)s is deactivated. All sessions have ended, and all API keys are revoked.")
    messages.success(request, words % {"name": found.get_username()})
    return redirect("approvals:person", pk)


@administrators_only
@require_POST
def new_link(request: SignedIn, pk: int) -> HttpResponse:
    """Show a link with which a person sets a password, or let it wait for another administrator."""
    if administration.allow_password_link(pk, by=request.user) is not None:
        say_that_it_waits(request)
        return redirect("approvals:person", pk)
    return _password_link(request, User.objects.get(pk=pk))


@administrators_only
@require_POST
def invite(request: SignedIn, pk: int) -> HttpResponse:
    """Invite a person who has no password yet, once more if they were invited already; or withdraw the invitation."""
    if request.POST.get("do") != "withdraw":
        return send_invitation(request, pk)
    found = administration.withdraw_invitation(pk, by=request.user)
    words = _("The invitation of %(name)s is cancelled. Its link no longer works.")
    messages.success(request, words % {"name": visible(found.get_username())})
    return redirect("approvals:person", pk)


@administrators_only
@require_POST
def pending_change(request: SignedIn, pk: int) -> HttpResponse:
    """Confirm a change that another administrator requested, or withdraw it."""
    if request.POST.get("do") != "confirm":
        change = administration.withdraw_change(pk, by=request.user)
        messages.success(request, _("The change is cancelled."))
        return redirect("approvals:person", change.person_id)
    change = administration.confirm_change(pk, by=request.user)
    if change.kind == PendingChange.Kind.LINK:
        return _password_link(request, change.person)
    messages.success(request, _("The change is confirmed."))
    return redirect("approvals:person", change.person_id)


def say_that_it_waits(request: SignedIn) -> None:
    """Say that a change needs a second administrator."""
    messages.info(request, _("Another administrator must confirm this. Until then, nothing changes."))


def send_invitation(request: SignedIn, pk: int) -> HttpResponse:
    """Mail an invitation; show its link instead if no mail can be sent."""
    address = User.objects.filter(pk=pk).values_list("email", flat=True).first()
    made = administration.invite_person(pk, mailed=bool(settings.HITL_MAIL and address), by=request.user)
    if not isinstance(made, Invitation):
        say_that_it_waits(request)
        return redirect("approvals:person", pk)
    if made.mailed and mail_invitation(made):
        words = _("An invitation is on its way to %(address)s.")
        messages.success(request, words % {"address": visible(made.person.email)})
        return redirect("approvals:people")
    if made.mailed and waits_for_second(made.person, request.user):
        words = _("The mail server did not accept the invitation. Check the mail settings and send it again.")
        messages.error(request, words)
        return redirect("approvals:person", pk)
    context = {
        "person": made.person,
        "link": invitation_link(made),
        "days": VALID_FOR.days,
        "failed": made.mailed,
        "here": "people",
    }
    return render(request, "approvals/settings/person_link.html", context)


def _password_link(request: SignedIn, person: User) -> HttpResponse:
    """Show a link with which a person sets a password. It works once, for an hour."""
    named = {"uidb36": int_to_base36(person.pk), "key": default_token_generator.make_token(person)}
    link = settings.PUBLIC_URL + reverse("account_reset_password_from_key", kwargs=named)
    return render(request, "approvals/settings/person_link.html", {"person": person, "link": link, "here": "people"})
