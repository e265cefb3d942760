"""Pages of the engines that get decisions, in Administration > Engines."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import http_post
from approvals.access.providers import encrypt_secret
from approvals.actions.callbacks.calls import UnreadableSecret, send, target_of
from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.engines import actions, queries
from approvals.administration.engines.forms import EngineForm
from approvals.administration.forms import form_page, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.db.cursors import number_from
from approvals.engines.calls import message_of
from approvals.engines.kinds import ENGINES
from approvals.exceptions import Refusal
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import EngineConnection


@administrators_only
@require_safe_or_POST
def engines(request: SignedIn) -> HttpResponse:
    """The engines, and the form for a new one."""
    form = EngineForm(sent(request))
    if form.is_valid() and _saved(request, form, None):
        return redirect("approvals:engines")
    rows = EngineConnection.objects.order_by("name")
    context = _context(request) | {
        "form": form,
        "rows": [queries.shown_engine(row) for row in rows],
    }
    return form_page(request, "engines/engines.html", context)


@administrators_only
@require_safe_or_POST
def engine(request: SignedIn, pk: int) -> HttpResponse:
    """An engine with a preview of its call and its deliveries, and the form that changes it."""
    row = get_object_or_404(EngineConnection, pk=pk)
    form = EngineForm(sent(request), row)
    if form.is_valid() and _saved(request, form, row):
        return redirect("approvals:engine", pk)
    # Discard the input of a refused form.
    stored = get_object_or_404(EngineConnection, pk=pk)
    before = number_from(request.GET.get("before", ""))
    deliveries, more = queries.deliveries_to(stored, before=before)
    context = _context(request) | {
        "form": form,
        "engine": queries.shown_engine(stored),
        "preview": queries.preview_of(stored),
        "deliveries": deliveries,
        "next": more,
    }
    return form_page(request, "engines/engine.html", context)


@administrators_only
@require_POST
def switch(request: SignedIn, pk: int) -> HttpResponse:
    """Disable an engine, so that it gets no decisions, or enable it again."""
    row = get_object_or_404(EngineConnection, pk=pk)
    stored = actions.described_engine(row.name) or {}
    stored["disabled"] = row.disabled_at is None
    waits = actions.save_engine(stored, add=False, by=request.user)
    saved = _("The engine is enabled.")
    if stored["disabled"]:
        saved = _("The engine is disabled. Decisions wait until you enable it.")
    say_saved(request, waits=waits is not None, saved=saved)
    return redirect("approvals:engine", pk)


@administrators_only
@require_POST
def try_it(request: SignedIn, pk: int) -> HttpResponse:
    """Call the engine once, without a decision, and show whether address and credential are right."""
    row = get_object_or_404(EngineConnection, pk=pk)
    try:
        target = target_of(row)
        probe = ENGINES[row.kind].probe(target)
        reply = send(probe, target, private=row.private)
    except (http_post.Undelivered, UnreadableSecret) as error:
        message = _("The engine could not be called: %(problem)s")
        messages.error(request, message % {"problem": error})
        return redirect("approvals:engine", pk)
    if 200 <= reply.status < 300:
        messages.success(request, _("The engine answers."))
    else:
        answered = _("answered %(status)s") % {"status": reply.status}
        problem = f"{answered} {message_of(reply)}".strip()
        message = _("The engine refused the call: %(problem)s")
        messages.error(request, message % {"problem": problem})
    return redirect("approvals:engine", pk)


def _saved(request: SignedIn, form: EngineForm, row: EngineConnection | None) -> bool:
    """Save the engine; otherwise add the error to the form."""
    fields = form.cleaned_data
    stored = {name: fields[name] for name in actions.COLUMNS}
    stored["disabled"] = bool(row and row.disabled_at)
    if fields["secret"]:
        stored["secret"] = encrypt_secret(fields["secret"])
    try:
        waits = actions.save_engine(stored, add=row is None, by=request.user)
    except Refusal as refusal:
        refuse(form, refusal)
        return False
    say_saved(request, waits=waits is not None)
    return True


def _context(request: SignedIn) -> dict[str, Any]:
    waiting = pending_changes(request.user, kinds=[Kind.ENGINE])
    return {"here": "engines", "waiting": waiting}
