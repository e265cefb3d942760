"""Administration of people and teams."""

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
from django.views.decorators.http import require_http_methods, require_POST

from approvals.access.invitations import VALID_FOR, invitation_link
from approvals.actions import administration
from approvals.exceptions import NotFound, Refusal
from approvals.http import SignedIn
from approvals.models import Invitation
from approvals.models.keys import ApiKey
from approvals.models.people import ROLE_DESCRIPTIONS, RoleName
from approvals.outbound.invitations import mail_invitation
from approvals.pages.settings.forms import NewPersonForm, PersonForm, TeamForm
from approvals.pages.settings.guards import administrators_only, refuse, status_of
from approvals.queries.administration.people import people as people_by_name
from approvals.queries.administration.people import roles_of, teams, teams_with_sizes
from approvals.runtime.text import visible

MAX_SEARCH = 150


@administrators_only
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: SignedIn) -> HttpResponse:
    """The list of people, and the form for a new one."""
    form = NewPersonForm(request.POST if request.method == "POST" else None, initial={"roles": [RoleName.REQUESTER]})
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        try:
            person = administration.add_person(
                username=given["username"], email=given["email"], roles=given["roles"], by=request.user
            )
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            return _invite(request, person.pk)
    search = request.GET.get("q", "").replace("\0", "")[:MAX_SEARCH].strip()
    rows, more = people_by_name(search=search, after=request.GET.get("after", "").replace("\0", "")[:MAX_SEARCH])
    context = {
        "form": form,
        "rows": rows,
        "next": more,
        "search": search,
        "teams": teams_with_sizes(),
        "team_form": TeamForm(),
        "mail": settings.HITL_MAIL,
        "roles": [(name.label, ROLE_DESCRIPTIONS[name]) for name in RoleName],
        "here": "people",
    }
    return render(request, "approvals/settings/people.html", context, status=status_of(form))


@administrators_only
@require_http_methods(["GET", "HEAD", "POST"])
def person(request: SignedIn, pk: int) -> HttpResponse:
    """One person: mail address, roles and teams."""
    found = User.objects.filter(pk=pk).first()
    if found is None:
        raise NotFound(_("Page not found. It may not exist, or you may not have access."))
    own_teams = [str(key) for key in teams().filter(user=found).values_list("pk", flat=True)]
    initial = {"email": found.email, "roles": roles_of(found), "teams": own_teams}
    form = PersonForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        try:
            administration.change_person(
                pk,
                email=given["email"],
                roles=given["roles"],
                team_ids=[int(key) for key in given.get("teams", ())],
                by=request.user,
            )
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            messages.success(request, _("The changes are saved."))
            return redirect("approvals:person", pk)
    context = {
        "person": found,
        "form": form,
        "own": sorted(found.user_permissions.values_list("name", flat=True)),
        "keys": ApiKey.objects.filter(user=found, revoked_at=None).count(),
        "invitation": Invitation.objects.filter(person=found).first(),
        "mail": settings.HITL_MAIL and found.email,
        "changeable": request.user.is_superuser or not found.is_superuser,
        "here": "people",
    }
    return render(request, "approvals/settings/person.html", context, status=status_of(form))


@administrators_only
@require_POST
def activate(request: SignedIn, pk: int) -> HttpResponse:
    """Deactivate a person, or activate them again."""
    active = request.POST.get("active") == "yes"
    found = administration.set_active(pk, active=active, by=request.user)
    words = _("%(name)s is active again.") if active else _("%(name)s is deactivated, without sessions and API keys.")
    messages.success(request, words % {"name": found.get_username()})
    return redirect("approvals:person", pk)


@administrators_only
@require_POST
def new_link(request: SignedIn, pk: int) -> HttpResponse:
    """Show a link with which a person sets a password. It works once, for an hour."""
    found = administration.allow_password_link(pk, by=request.user)
    named = {"uidb36": int_to_base36(found.pk), "key": default_token_generator.make_token(found)}
    link = settings.PUBLIC_URL + reverse("account_reset_password_from_key", kwargs=named)
    return render(request, "approvals/settings/person_link.html", {"person": found, "link": link, "here": "people"})


@administrators_only
@require_POST
def invite(request: SignedIn, pk: int) -> HttpResponse:
    """Invite a person who has no password yet, once more if they were invited already; or withdraw the invitation."""
    if request.POST.get("do") != "withdraw":
        return _invite(request, pk)
    found = administration.withdraw_invitation(pk, by=request.user)
    words = _("The invitation of %(name)s is withdrawn. Its link no longer works.")
    messages.success(request, words % {"name": visible(found.get_username())})
    return redirect("approvals:person", pk)


def _invite(request: SignedIn, pk: int) -> HttpResponse:
    """Mail an invitation; show its link instead if no mail can be sent."""
    address = User.objects.filter(pk=pk).values_list("email", flat=True).first()
    invitation = administration.invite_person(pk, mailed=bool(settings.HITL_MAIL and address), by=request.user)
    if invitation.mailed and mail_invitation(invitation):
        words = _("An invitation is on its way to %(address)s.")
        messages.success(request, words % {"address": visible(invitation.person.email)})
        return redirect("approvals:people")
    context = {
        "person": invitation.person,
        "link": invitation_link(invitation),
        "days": VALID_FOR.days,
        "failed": invitation.mailed,
        "here": "people",
    }
    return render(request, "approvals/settings/person_link.html", context)


@administrators_only
@require_POST
def add_team(request: SignedIn) -> HttpResponse:
    form = TeamForm(request.POST)
    if form.is_valid():
        administration.add_team(form.cleaned_data["name"], by=request.user)
    else:
        messages.error(request, _("Enter a name of at most 150 characters."))
    return redirect(reverse("approvals:people") + "#teams")


@administrators_only
@require_POST
def change_team(request: SignedIn, pk: int) -> HttpResponse:
    """Rename a team, or remove it."""
    form = TeamForm(request.POST)
    if request.POST.get("do") == "remove":
        administration.remove_team(pk, by=request.user)
    elif form.is_valid():
        administration.change_team(pk, form.cleaned_data["name"], by=request.user)
    else:
        messages.error(request, _("Enter a name of at most 150 characters."))
    return redirect(reverse("approvals:people") + "#teams")
