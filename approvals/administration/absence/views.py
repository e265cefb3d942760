"""Pages for absences, of oneself and as set by administrators, and for team settings."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.actions.policy.absence import end_absence, set_absence
from approvals.administration.absence.actions import store_team_settings
from approvals.administration.absence.forms import AbsenceForm, TeamSettingsForm
from approvals.administration.forms import form_page, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.people.queries import find_team
from approvals.exceptions import Invalid, Refusal
from approvals.http import SignedIn, refusals_as_pages, require_safe_or_POST
from approvals.models import TeamSettings
from approvals.queries.policy.absence import absences_seen_by
from approvals.queries.policy.duty.on_call import duty_state
from approvals.states import Door
from approvals.text.text import visible


@require_safe_or_POST
@refusals_as_pages
def own(request: SignedIn) -> HttpResponse:
    """The absences of the logged-in user, and the people they stand in for."""
    return _page(request, request.user)


@administrators_only
@require_safe_or_POST
def of_person(request: SignedIn, pk: int) -> HttpResponse:
    """The absences of one person, for administrators."""
    return _page(request, get_object_or_404(User, pk=pk))


@require_POST
@refusals_as_pages
def end(request: SignedIn, pk: int) -> HttpResponse:
    """End an absence, or cancel one that has not started."""
    absence = end_absence(pk, by=request.user, via=Door.DASHBOARD)
    message = _("The absence of %(name)s has ended.") % {
        "name": visible(absence.person.get_username())
    }
    messages.success(request, message)
    return redirect(_address(request, absence.person))


def _page(request: SignedIn, person: User) -> HttpResponse:
    form = AbsenceForm(
        sent(request),
        person=person,
        by=request.user,
    )
    if form.is_valid():
        try:
            set_absence(person, form.away, by=request.user, via=Door.DASHBOARD)
        except Invalid as refusal:
            for name, problem in refusal.errors.items():
                field = form.fields.get(name)
                form.add_error(
                    name if field else None,
                    f"{field.label if field else name} {problem}.",
                )
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            messages.success(request, _("The absence is saved."))
            return redirect(_address(request, person))
    seen = absences_seen_by(request.standing)
    is_own = person.pk == request.user.pk
    context = {
        "person": person,
        "form": form,
        "is_own": is_own,
        "absences": seen.filter(person=person),
        "stands_in": seen.filter(delegate=person),
        "here": "absence" if is_own else "people",
    }
    return form_page(request, "absence/absence.html", context)


def _address(request: SignedIn, person: User) -> str:
    own = person.pk == request.user.pk
    return (
        reverse("approvals:absence")
        if own
        else reverse("approvals:person-absence", args=[person.pk])
    )


@administrators_only
@require_safe_or_POST
def team_settings(request: SignedIn, pk: int) -> HttpResponse:
    """The settings of a team: its hours, and deputies for absent members."""
    team = find_team(pk)
    row = TeamSettings.objects.filter(team=team).first() or TeamSettings(team=team)
    form = TeamSettingsForm(sent(request), instance=row)
    if form.is_valid():
        store_team_settings(pk, form.cleaned_data, by=request.user, via=Door.DASHBOARD)
        messages.success(request, _("The changes are saved."))
        return redirect("approvals:team-settings", pk)
    stored = TeamSettings.objects.filter(team=team).first()
    context = {
        "team": team,
        "form": form,
        "duty": duty_state(stored) if stored else None,
        "here": "people",
    }
    return form_page(request, "absence/team.html", context)
