"""Administration of people and teams."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from approvals.access.administering import is_beyond_administrators
from approvals.actions import administration
from approvals.exceptions import NotFound, Refusal
from approvals.http import SignedIn
from approvals.models import Invitation
from approvals.models.keys import ApiKey
from approvals.models.people import ROLE_DESCRIPTIONS, RoleName
from approvals.pages.settings.forms import NewPersonForm, PersonForm, TeamForm
from approvals.pages.settings.guards import administrators_only, refuse, status_of
from approvals.pages.settings.person_access import say_that_it_waits, send_invitation
from approvals.queries.administration.people import pending_changes, roles_of, teams, teams_with_sizes
from approvals.queries.administration.people import people as people_by_name

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
            return send_invitation(request, person.pk)
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
        "waiting": pending_changes(None, request.user),
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
    # No one changes their own roles.
    form.fields["roles"].disabled = found.pk == request.user.pk
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        try:
            waiting = administration.change_person(
                pk,
                email=given["email"],
                roles=given["roles"],
                team_ids=[int(key) for key in given.get("teams", ())],
                by=request.user,
            )
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            if waiting:
                say_that_it_waits(request)
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
        "changeable": request.user.is_superuser or not is_beyond_administrators(found),
        "waiting": pending_changes(found, request.user),
        "here": "people",
    }
    return render(request, "approvals/settings/person.html", context, status=status_of(form))


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
