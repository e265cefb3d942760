"""Administration of approver scopes, with a preview of each change."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.forms import form_page, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.scopes import actions, queries
from approvals.administration.scopes.forms import ScopeForm
from approvals.db.canonical_json import digest
from approvals.exceptions import NotAllowed
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import ApproverScope, PendingChange
from approvals.states import Door


@administrators_only
@require_safe_or_POST
def scopes(request: SignedIn) -> HttpResponse:
    """The list of scopes, and the form for a new one."""
    form = ScopeForm(sent(request))
    if _is_confirmed(request, form) and _saved(request, None, form):
        return redirect("approvals:scopes")
    context = _context(request, None, form) | {
        "rows": queries.scopes(),
        "undecidable": queries.preview(None, None).undecidable,
        "waiting": pending_changes(request.user, kinds=[Kind.SCOPE]),
    }
    return form_page(request, "scopes/scopes.html", context)


@administrators_only
@require_safe_or_POST
def scope(request: SignedIn, pk: int) -> HttpResponse:
    stored = get_object_or_404(ApproverScope, pk=pk)
    form = ScopeForm(request.POST) if request.method == "POST" else ScopeForm.of(stored)
    if _is_confirmed(request, form) and _saved(request, pk, form):
        return redirect("approvals:scopes")
    context = _context(request, pk, form) | {
        "name": stored.name,
        "pk": pk,
        "waiting": pending_changes(request.user, kinds=[Kind.SCOPE], subject=str(pk)),
    }
    return form_page(request, "scopes/scope.html", context)


@administrators_only
@require_safe_or_POST
def delete(request: SignedIn, pk: int) -> HttpResponse:
    """The effect of deleting a scope, and the button that deletes it."""
    stored = get_object_or_404(ApproverScope, pk=pk)
    refusal = ""
    if request.method == "POST":
        try:
            waits = actions.delete_scope(pk, by=request.user, via=Door.DASHBOARD)
        except NotAllowed as error:
            refusal = str(error)
        else:
            say_saved(
                request,
                waits=bool(waits),
                saved=_("The scope is deleted. This takes effect immediately."),
            )
            return redirect("approvals:scopes")
    context = {
        "name": stored.name,
        "pk": pk,
        "here": "scopes",
        "refusal": refusal,
        "preview": queries.preview(pk, None),
        "limited": request.standing.is_limited,
    }
    status = 403 if refusal else 200
    return render(
        request, "approvals/administration/scopes/delete.html", context, status=status
    )


def _is_confirmed(request: SignedIn, form: ScopeForm) -> bool:
    """Return whether the user saw a preview of exactly these terms."""
    return form.is_valid() and request.POST.get("previewed") == _digest_of(form)


def _saved(request: SignedIn, pk: int | None, form: ScopeForm) -> bool:
    terms = form.terms
    if ApproverScope.objects.filter(name=terms.name).exclude(pk=pk or 0).exists():
        form.add_error("name", _("Another scope has this name."))
        return False
    try:
        stored = actions.store_scope(pk, terms, by=request.user, via=Door.DASHBOARD)
    except NotAllowed as error:
        refuse(form, error)
        return False
    saved = _("The scope is in effect. Existing requests follow within moments.")
    say_saved(request, waits=isinstance(stored, PendingChange), saved=saved)
    return True


def _context(request: SignedIn, pk: int | None, form: ScopeForm) -> dict[str, object]:
    shown = form.is_valid()
    return {
        "form": form,
        "here": "scopes",
        "preview": queries.preview(pk, form.terms) if shown else None,
        "previewed": _digest_of(form) if shown else "",
        "limited": request.standing.is_limited,
    }


def _digest_of(form: ScopeForm) -> str:
    terms = form.terms
    people = [person.pk for person in terms.people]
    teams = [team.pk for team in terms.teams]
    return digest(
        [terms.name, dict(terms.match), terms.may, terms.limit, people, teams]
    )
