"""Administration of API keys."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.access.callers import DEFAULT_SCOPES
from approvals.access.tool_lists import lists_from
from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.first_run import first_question
from approvals.administration.forms import form_page, query_text, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.keys import actions, queries
from approvals.administration.keys.forms import KeyForm, ToolListsForm
from approvals.db.cursors import number_from
from approvals.exceptions import NotAllowed, NotFound, Refusal
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import PendingChange
from approvals.models.keys import ApiKey
from approvals.states import Door


@administrators_only
@require_safe_or_POST
def keys(request: SignedIn) -> HttpResponse:
    """The list of keys, and the form for a new one, whose text is shown once."""
    initial = {"user": request.user.get_username(), "scopes": list(DEFAULT_SCOPES)}
    form = KeyForm(sent(request), initial=initial)
    if form.is_valid():
        fields = form.cleaned_data
        life = form.life
        try:
            new = actions.NewKey(
                user=fields["user"],
                name=fields["name"],
                scopes=fields["scopes"],
                expires_at=timezone.now() + life if life else None,
            )
            made, text = actions.make_key(new, by=request.user, via=Door.DASHBOARD)
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            return _key_page(request, made, text)
    search = query_text(request, "q")
    rows, more = queries.keys(
        before=number_from(request.GET.get("before", "")), search=search
    )
    context = {
        "form": form,
        "rows": rows,
        "next": more,
        "search": search,
        "now": timezone.now(),
        "here": "keys",
    }
    context["waiting"] = pending_changes(request.user, kinds=[Kind.KEY, Kind.KEY_LISTS])
    return form_page(request, "keys/keys.html", context)


@administrators_only
@require_safe_or_POST
def key(request: SignedIn, pk: int) -> HttpResponse:
    """One key and its tool lists."""
    stored = queries.key(pk)
    if stored is None:
        raise NotFound(_("API key not found. It may be revoked already."))
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
    context = {
        "key": stored,
        "form": form,
        "now": timezone.now(),
        "here": "keys",
        "waiting": pending_changes(
            request.user, kinds=[Kind.KEY_LISTS], subject=str(pk)
        ),
    }
    return form_page(request, "keys/key.html", context)


@administrators_only
@require_POST
def replace(request: SignedIn, pk: int) -> HttpResponse:
    """Replace a key, and show the new one once."""
    made, text = actions.replace_key(pk, by=request.user, via=Door.DASHBOARD)
    return _key_page(request, made, text)


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


@administrators_only
@require_POST
def revoke(request: SignedIn, pk: int) -> HttpResponse:
    if not actions.revoke_key(pk, by=request.user, via=Door.DASHBOARD):
        raise NotFound(_("API key not found. It may be revoked already."))
    messages.success(request, _("The key is revoked and no longer works."))
    return redirect("approvals:keys")
