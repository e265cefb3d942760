"""Pages of API keys: administrators see all of them, other people their own."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.access.callers import DEFAULT_SCOPES
from approvals.access.permissions import may_administer
from approvals.access.tool_lists import lists_from
from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.first_run import first_question
from approvals.administration.forms import form_page, query_text, refuse, sent
from approvals.administration.guards import with_fresh_log_in
from approvals.administration.keys import actions, queries
from approvals.administration.keys.forms import KeyForm, RotateForm, ToolListsForm
from approvals.db.cursors import number_from
from approvals.exceptions import NotAllowed, NotFound, Refusal
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import PendingChange
from approvals.models.keys import WARNINGS, ApiKey
from approvals.states import Door


@with_fresh_log_in
@require_safe_or_POST
def keys(request: SignedIn) -> HttpResponse:
    """The list of keys, and the form for a new one, whose text is shown once."""
    initial = {"user": request.user.get_username(), "scopes": list(DEFAULT_SCOPES)}
    form = KeyForm(
        sent(request), initial=initial, own=not may_administer(request.standing)
    )
    if form.is_valid():
        fields = form.cleaned_data
        try:
            new = actions.NewKey(
                user=fields.get("user", request.user),
                name=fields["name"],
                scopes=fields["scopes"],
                expires_at=form.expires_at,
                ranges=fields["ranges"],
            )
            made, text = actions.make_key(new, by=request.user, via=Door.DASHBOARD)
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            return _key_page(request, made, text)
    search = query_text(request, "q")
    rows, more = queries.keys(
        request.standing,
        before=number_from(request.GET.get("before", "")),
        search=search,
    )
    kinds = [Kind.KEY, Kind.KEY_LISTS]
    context = _moments() | {
        "form": form,
        "rows": rows,
        "next": more,
        "search": search,
        "waiting": pending_changes(request.user, kinds=kinds),
    }
    return form_page(request, "keys/keys.html", context)


@with_fresh_log_in
@require_safe_or_POST
def key(request: SignedIn, pk: int) -> HttpResponse:
    """One key, and for administrators its tool lists."""
    stored = _seen(request, pk)
    if request.method == "POST" and not may_administer(request.standing):
        raise Http404
    initial = ToolListsForm.initial_of(lists_from(stored.tool_lists))
    form = ToolListsForm(sent(request), initial=initial)
    if form.is_valid():
        try:
            waits = actions.change_tool_lists(
                pk, form.lists, by=request.user, via=Door.DASHBOARD
            )
        except NotAllowed as refusal:
            refuse(form, refusal)
        else:
            say_saved(request, waits=bool(waits))
            return redirect("approvals:key", pk)
    kinds = [Kind.KEY_LISTS]
    waiting = pending_changes(request.user, kinds=kinds, subject=str(pk))
    context = _moments() | {
        "key": stored,
        "form": form,
        "waiting": waiting,
    }
    return form_page(request, "keys/key.html", context)


@with_fresh_log_in
@require_safe_or_POST
def rotate(request: SignedIn, pk: int) -> HttpResponse:
    """The form that replaces a key, and then the new key, once."""
    stored = _seen(request, pk)
    form = RotateForm(sent(request))
    if form.is_valid():
        try:
            made, text = actions.rotate_key(
                pk,
                expires_at=form.expires_at,
                overlap=form.cleaned_data["overlap"],
                by=request.user,
                via=Door.DASHBOARD,
            )
        except NotAllowed as refusal:
            refuse(form, refusal)
        else:
            return _key_page(request, made, text)
    context = {"key": stored, "form": form, "here": "keys"}
    return form_page(request, "keys/rotate.html", context)


def _moments() -> dict[str, Any]:
    """Return the context of pages that show when keys expire."""
    now = timezone.now()
    return {"now": now, "soon": now + max(WARNINGS), "here": "keys"}


def _seen(request: SignedIn, pk: int) -> ApiKey:
    """Return a key that the person may see and change. Raise NotFound."""
    stored = queries.key(pk, request.standing)
    if stored is None:
        raise NotFound(_("API key not found. It may be revoked already."))
    return stored


def _key_page(
    request: SignedIn, made: ApiKey | PendingChange, text: str
) -> HttpResponse:
    """Show the text of a new key, which works at once or after another administrator confirms it."""
    waits = isinstance(made, PendingChange)
    scopes = made.value["scopes"] if isinstance(made, PendingChange) else made.scopes
    context = {
        "scopes": scopes,
        "text": text,
        "waits": waits,
        "command": first_question(text),
        "here": "keys",
    }
    return render(request, "approvals/administration/keys/key_made.html", context)


@with_fresh_log_in
@require_POST
def revoke(request: SignedIn, pk: int) -> HttpResponse:
    _seen(request, pk)
    actions.revoke_key(pk, by=request.user, via=Door.DASHBOARD)
    messages.success(request, _("The key is revoked and no longer works."))
    return redirect("approvals:keys")
