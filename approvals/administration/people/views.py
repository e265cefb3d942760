"""People, teams, invitations, and links that set a password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from approvals.access import permissions
from approvals.access.factors import has_factor
from approvals.access.rights import DECIDE
from approvals.access.standing import standing_of
from approvals.actions.changes import OF_PEOPLE
from approvals.administration.changeable import (
    is_beyond_administrators,
    waits_for_second,
)
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import (
    password_link,
    say_saved,
    say_that_it_waits,
)
from approvals.administration.forms import form_page, query_text, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.people import actions
from approvals.administration.people.forms import NewPersonForm, PersonForm, TeamForm
from approvals.administration.people.invitations import (
    VALID_FOR,
    invitation_link,
    mail_invitation,
)
from approvals.administration.people.queries import (
    other_permissions_of,
    rights_of,
    rights_through_teams,
    roles_of,
    teams,
    teams_with_sizes,
)
from approvals.administration.people.queries import people as people_by_name
from approvals.administration.scopes.queries import scopes_of_person
from approvals.exceptions import Refusal
from approvals.http import SignedIn
from approvals.models import Invitation
from approvals.models.keys import ApiKey
from approvals.models.people import ROLE_DESCRIPTIONS, RoleName
from approvals.queries.policy.rules.policy_versions import rules_naming
from approvals.text.text import visible


@administrators_only
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: SignedIn) -> HttpResponse:
    """The list of people, and the form for a new one."""
    form = NewPersonForm(
        sent(request),
        initial={"roles": [RoleName.REQUESTER]},
    )
    if form.is_valid():
        fields = form.cleaned_data
        try:
            person = actions.add_person(
                username=fields["username"],
                email=fields["email"],
                roles=fields["roles"],
                by=request.user,
            )
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            return send_invitation(request, person.pk)
    search = query_text(request, "q")
    rows, more = people_by_name(search=search, after=query_text(request, "after"))
    context = {
        "form": form,
        "rows": rows,
        "next": more,
        "search": search,
        "teams": teams_with_sizes(),
        "team_form": TeamForm(),
        "mail": settings.HITL_MAIL,
        "waiting": pending_changes(request.user, kinds=OF_PEOPLE),
        "roles": [(name.label, ROLE_DESCRIPTIONS[name]) for name in RoleName],
        "here": "people",
    }
    return form_page(request, "people/people.html", context)


@administrators_only
@require_http_methods(["GET", "HEAD", "POST"])
def person(request: SignedIn, pk: int) -> HttpResponse:
    """One person: mail address, roles, additional rights and teams."""
    user = get_object_or_404(User, pk=pk)
    own_teams = teams().filter(user=user).values_list("pk", flat=True)
    initial = {
        "email": user.email,
        "roles": roles_of(user),
        "rights": rights_of(user),
        "teams": [str(key) for key in own_teams],
    }
    data = sent(request)
    form = PersonForm(data, initial=initial)
    # People cannot change their own roles and rights.
    own = user.pk == request.user.pk
    form.fields["roles"].disabled = own
    form.fields["rights"].disabled = own
    if form.is_valid():
        fields = form.cleaned_data
        try:
            waiting = actions.change_person(
                pk,
                email=fields["email"],
                roles=fields["roles"],
                rights=fields["rights"],
                team_ids=[int(key) for key in fields.get("teams", ())],
                by=request.user,
            )
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            say_saved(request, waits=bool(waiting))
            return redirect("approvals:person", pk)
    context = _shown_person(request.user, user) | {"form": form, "here": "people"}
    return form_page(request, "people/person.html", context)


def _shown_person(viewer: User, user: User) -> dict[str, Any]:
    """Return what the page of a person shows beside the form."""
    standing = standing_of(user)
    return {
        "person": user,
        "own": other_permissions_of(user),
        "team_rights": rights_through_teams(user),
        "keys": ApiKey.objects.filter(user=user, revoked_at=None).count(),
        "invitation": Invitation.objects.filter(person=user).first(),
        "has_factor": has_factor(user.pk),
        "mail": settings.HITL_MAIL and user.email,
        "changeable": viewer.is_superuser or not is_beyond_administrators(user),
        "waiting": pending_changes(viewer, person=user),
        "scopes": scopes_of_person(user),
        "ruled": rules_naming(user),
        "limited": standing.is_limited,
        "decides": DECIDE in standing.rights,
        "sees": permissions.sees_more_than_own(standing),
    }


@administrators_only
@require_POST
def change_team(request: SignedIn, pk: int | None = None) -> HttpResponse:
    """Add, rename or remove a team."""
    form = TeamForm(request.POST)
    if pk is not None and request.POST.get("do") == "remove":
        actions.remove_team(pk, by=request.user)
    elif not form.is_valid():
        messages.error(request, _("Enter a name of at most 150 characters."))
    elif pk is None:
        actions.add_team(form.cleaned_data["name"], by=request.user)
    else:
        actions.change_team(pk, form.cleaned_data["name"], by=request.user)
    return redirect(reverse("approvals:people") + "#teams")


@administrators_only
@require_POST
def activate(request: SignedIn, pk: int) -> HttpResponse:
    """Deactivate or reactivate a person."""
    active = request.POST.get("active") == "yes"
    user = actions.set_active(pk, active=active, by=request.user)
    if active:
        message = _("%(name)s is active again.")
    else:
        message = _(
            "%(name)s is deactivated. All sessions have ended, and all API keys are revoked."
        )
    messages.success(request, message % {"name": user.get_username()})
    return redirect("approvals:person", pk)


@administrators_only
@require_POST
def new_link(request: SignedIn, pk: int) -> HttpResponse:
    """Show a link that sets the person's password, or request it from another administrator."""
    if actions.allow_password_link(pk, by=request.user) is not None:
        say_that_it_waits(request)
        return redirect("approvals:person", pk)
    return password_link(request, User.objects.get(pk=pk))


@administrators_only
@require_POST
def reset_factors(request: SignedIn, pk: int) -> HttpResponse:
    """Remove all second factors of a person, or request it from another administrator."""
    if actions.reset_factors(pk, by=request.user) is not None:
        say_that_it_waits(request)
    else:
        messages.success(
            request,
            _(
                "The second factors are removed. All sessions of this person have ended."
            ),
        )
    return redirect("approvals:person", pk)


@administrators_only
@require_POST
def invite(request: SignedIn, pk: int) -> HttpResponse:
    """Invite a person without a password, for the first time or again, or cancel their invitation."""
    if request.POST.get("do") != "withdraw":
        return send_invitation(request, pk)
    user = actions.withdraw_invitation(pk, by=request.user)
    message = _("The invitation of %(name)s is cancelled. Its link no longer works.")
    messages.success(request, message % {"name": visible(user.get_username())})
    return redirect("approvals:person", pk)


def send_invitation(request: SignedIn, pk: int) -> HttpResponse:
    """Mail an invitation, or show its link if mail is not available."""
    address = User.objects.filter(pk=pk).values_list("email", flat=True).first()
    made = actions.invite_person(
        pk, mailed=bool(settings.HITL_MAIL and address), by=request.user
    )
    if not isinstance(made, Invitation):
        say_that_it_waits(request)
        return redirect("approvals:person", pk)
    if made.mailed and mail_invitation(made):
        message = _("An invitation is on its way to %(address)s.")
        messages.success(request, message % {"address": visible(made.person.email)})
        return redirect("approvals:people")
    if made.mailed and waits_for_second(made.person, request.standing):
        message = _(
            "The mail server did not accept the invitation. Check the mail settings and send it again."
        )
        messages.error(request, message)
        return redirect("approvals:person", pk)
    context = {
        "person": made.person,
        "link": invitation_link(made),
        "days": VALID_FOR.days,
        "failed": made.mailed,
        "here": "people",
    }
    return render(request, "approvals/administration/people/person_link.html", context)
