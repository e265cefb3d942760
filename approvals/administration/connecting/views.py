"""The page *Connect your agent*: a key, setup lines for each kind of agent, and the wait for the first request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from approvals.access.callers import DEFAULT_SCOPES
from approvals.administration.connecting.integrations import INTEGRATIONS
from approvals.administration.connecting.queries import first_request
from approvals.administration.first_run import PLACEHOLDER
from approvals.administration.forms import form_page, sent
from approvals.administration.guards import administrators_only
from approvals.administration.keys.actions import create_key
from approvals.db.cursors import number_from
from approvals.exceptions import NotFound
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models.keys import MAX_KEY_NAME, ApiKey
from approvals.states import Door


class NewKeyForm(forms.Form):
    """A new key for the user's own agent."""

    name = forms.CharField(
        label=gettext_lazy("Name of your agent"),
        max_length=MAX_KEY_NAME,
        help_text=gettext_lazy(
            "Shown with requests and in the audit log, such as “billing agent”."
        ),
    )


@administrators_only
@require_safe_or_POST
def connect(request: SignedIn) -> HttpResponse:
    """The setup lines: with a placeholder for the key, or after a POST with a new key, which is shown only once."""
    form = NewKeyForm(sent(request))
    context: dict[str, Any] = {"form": form, "here": "connect"}
    text = PLACEHOLDER
    if form.is_valid():
        key, text = create_key(
            request.user,
            name=form.cleaned_data["name"],
            scopes=DEFAULT_SCOPES,
            by=request.user,
            via=Door.DASHBOARD,
        )
        context |= {"key": key, "text": text}
    context["integrations"] = _integrations(text)
    return form_page(request, "connecting/connect.html", context)


@administrators_only
@require_GET
def waiting(request: SignedIn, pk: int) -> HttpResponse:
    """The page that waits for a key's first request. Its address has the start of the wait, so that a reload keeps it."""
    key, since, now = _read(request, pk)
    if since is None:
        return redirect(_waiting_address(key, now))
    context = _progress(request, key, since, now) | {
        "key": key,
        "here": "connect",
        "integrations": _integrations(PLACEHOLDER),
    }
    return render(request, "approvals/administration/connecting/connect.html", context)


@administrators_only
@require_GET
def progress(request: SignedIn, pk: int) -> HttpResponse:
    """The current progress, for the waiting page; 204 if nothing changed."""
    key, since, now = _read(request, pk)
    current = _progress(
        request, key, int(now.timestamp()) if since is None else since, now
    )
    if current["first"].progress == request.GET.get("shown"):
        return HttpResponse(status=204)
    response = render(
        request,
        "approvals/administration/connecting/_progress.html",
        {"key": key, "pressed": since is None} | current,
    )
    if since is None:
        # So that a reload goes on waiting instead of submitting the form for a key again.
        response.headers["HX-Push-Url"] = _waiting_address(key, now)
    return response


def _read(request: SignedIn, pk: int) -> tuple[ApiKey, int | None, datetime]:
    """Return the key in the address, the start of the wait (None before it starts), and the time. Raise NotFound."""
    key = ApiKey.objects.filter(pk=pk).first()
    if key is None:
        raise NotFound(_("API key not found."))
    return key, number_from(request.GET.get("since", ""), digits=10), timezone.now()


def _progress(
    request: SignedIn, key: ApiKey, since: int, now: datetime
) -> dict[str, Any]:
    waited = max(now - datetime.fromtimestamp(since, UTC), timedelta(0))
    return {
        "first": first_request(key, request.standing, waited=waited, now=now),
        "since": since,
        "public_url": settings.PUBLIC_URL,
    }


def _waiting_address(key: ApiKey, now: datetime) -> str:
    return f"{reverse('approvals:connect-key', args=[key.pk])}?since={int(now.timestamp())}"


def _integrations(key: str) -> list[dict[str, str]]:
    """Return the integrations with this key, as the page shows them."""
    return [
        {
            "title": str(each.title),
            "page": f"docs/how-to/{each.page}.md",
            "shell": each.shell(settings.PUBLIC_URL, key),
            "lines": each.lines,
            "unseen": str(each.unseen),
        }
        for each in INTEGRATIONS
    ]
