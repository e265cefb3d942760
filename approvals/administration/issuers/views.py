"""Pages of the issuers of tokens and of their mappings, in Administration > Token issuers."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.access.issuer_keys import UnreadableKeys, read_keys
from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.forms import form_page, refuse, sent
from approvals.administration.guards import administrators_only
from approvals.administration.issuers import actions
from approvals.administration.issuers.forms import IssuerForm, TokenMappingForm
from approvals.administration.keys.actions import revoke_key
from approvals.exceptions import Refusal
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import ApiKey, TokenIssuer
from approvals.states import Door


@administrators_only
@require_safe_or_POST
def issuers(request: SignedIn) -> HttpResponse:
    """The issuers, and the form for a new one."""
    form = IssuerForm(sent(request))
    if form.is_valid() and _saved(request, form, None):
        return redirect("approvals:token-issuers")
    context = _context(request) | {
        "form": form,
        "rows": TokenIssuer.objects.order_by("name", "pk"),
    }
    return form_page(request, "issuers/issuers.html", context)


@administrators_only
@require_safe_or_POST
def issuer(request: SignedIn, pk: int) -> HttpResponse:
    """An issuer with its mappings, and the form that changes it."""
    row = get_object_or_404(TokenIssuer, pk=pk)
    form = IssuerForm(sent(request), row)
    if form.is_valid() and _saved(request, form, row):
        return redirect("approvals:token-issuer", pk)
    return _issuer_page(request, row, form, TokenMappingForm(None))


@administrators_only
@require_POST
def switch(request: SignedIn, pk: int) -> HttpResponse:
    """Disable an issuer, so that its tokens end at once, or enable it again."""
    row = get_object_or_404(TokenIssuer, pk=pk)
    stored = actions.described_issuer(row.issuer) or {}
    stored["disabled"] = row.disabled_at is None
    waits = actions.save_issuer(stored, add=False, by=request.user)
    saved = _("The issuer is enabled.")
    if stored["disabled"]:
        saved = _("The issuer is disabled. Its tokens no longer work.")
    say_saved(request, waits=waits is not None, saved=saved)
    return redirect("approvals:token-issuer", pk)


@administrators_only
@require_POST
def add_mapping(request: SignedIn, pk: int) -> HttpResponse:
    """Map tokens of an issuer to a user."""
    row = get_object_or_404(TokenIssuer, pk=pk)
    form = TokenMappingForm(request.POST)
    if form.is_valid():
        try:
            waits = actions.add_mapping(pk, by=request.user, **form.cleaned_data)
        except Refusal as refusal:
            refuse(form, refusal)
        else:
            saved = _("The mapping works from the next call on.")
            say_saved(request, waits=waits is not None, saved=saved)
            return redirect("approvals:token-issuer", pk)
    return _issuer_page(request, row, IssuerForm(None, row), form)


@administrators_only
@require_POST
def remove_mapping(request: SignedIn, pk: int) -> HttpResponse:
    """Remove a mapping."""
    mapping = get_object_or_404(ApiKey, pk=pk, issuer__isnull=False)
    revoke_key(pk, by=request.user, via=Door.DASHBOARD)
    messages.success(request, _("The mapping is removed. Its tokens no longer work."))
    return redirect("approvals:token-issuer", mapping.issuer_id)


def _saved(request: SignedIn, form: IssuerForm, row: TokenIssuer | None) -> bool:
    """Save the issuer if its keys can be read; otherwise add the error to the form."""
    stored = form.cleaned_data | {"disabled": bool(row and row.disabled_at)}
    try:
        columns = {name: stored[name] for name in actions.COLUMNS}
        read_keys(TokenIssuer(**columns))
        waits = actions.save_issuer(stored, add=row is None, by=request.user)
    except UnreadableKeys as error:
        message = _("Pausepoint cannot read the keys of this issuer: %(problem)s")
        form.add_error("issuer", message % {"problem": error})
        return False
    except Refusal as refusal:
        refuse(form, refusal)
        return False
    say_saved(request, waits=waits is not None)
    return True


def _issuer_page(
    request: SignedIn,
    row: TokenIssuer,
    form: IssuerForm,
    mapping_form: TokenMappingForm,
) -> HttpResponse:
    mappings = row.mappings.filter(revoked_at=None).select_related("user")
    context = _context(request) | {
        "form": mapping_form if mapping_form.is_bound else form,
        "issuer_form": form,
        "mapping_form": mapping_form,
        "issuer": row,
        "mappings": mappings.order_by("claim", "claim_value"),
    }
    return form_page(request, "issuers/issuer.html", context)


def _context(request: SignedIn) -> dict[str, Any]:
    kinds = [Kind.TOKEN_ISSUER, Kind.TOKEN_MAPPING]
    waiting = pending_changes(request.user, kinds=kinds)
    return {"here": "token-issuers", "waiting": waiting}
