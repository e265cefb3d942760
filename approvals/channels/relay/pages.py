"""The pages of relays for administrators."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.actions.changes import Kind
from approvals.actions.channels.relays import new_secret, sealed
from approvals.administration.changes.queries import pending_changes
from approvals.administration.changes.views import say_saved
from approvals.administration.channels import actions
from approvals.administration.forms import form_page, sent
from approvals.administration.guards import administrators_only
from approvals.channels.relay.forms import NewRelayForm, RelayForm, TestMessageForm
from approvals.channels.relay.posting import NotDelivered, post_notice
from approvals.channels.relay.states import state_of, words_of
from approvals.exceptions import NotFound
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import Relay


@administrators_only
@require_safe_or_POST
def relays(request: SignedIn) -> HttpResponse:
    """The list of relays, and the form for a new one."""
    form = NewRelayForm(sent(request))
    if form.is_valid():
        name = form.cleaned_data["name"]
        if Relay.objects.filter(connection__team_id=name).exists():
            form.add_error("name", _("There is a relay with this name."))
        else:
            secret = new_secret()
            stored = form.stored(name) | {"secret": sealed(secret)}
            waits = actions.store_relay(stored, by=request.user) is not None
            say_saved(request, waits=waits, saved=_("The relay is added."))
            return _with_secret(request, name, secret, waits=waits)
    rows = Relay.objects.select_related("connection").order_by("connection__team_id")
    context = {
        "form": form,
        "rows": [(row, state_of(row.connection)) for row in rows],
        "waiting": pending_changes(request.user, kinds=[Kind.RELAY]),
        "here": "relays",
    }
    return form_page(request, "channels/relays.html", context)


@administrators_only
@require_safe_or_POST
def relay(request: SignedIn, name: str) -> HttpResponse:
    """One relay: its settings, its state and its linked accounts."""
    form = RelayForm(sent(request), instance=_relay(name))
    if form.is_valid():
        waits = actions.store_relay(form.stored(name), by=request.user)
        say_saved(request, waits=waits is not None)
        return redirect("relay:relay", name)
    return _page(request, name, form=form)


@administrators_only
@require_POST
def rotate(request: SignedIn, name: str) -> HttpResponse:
    secret = actions.rotate_relay_secret(name, by=request.user)
    return _with_secret(request, name, secret, waits=False)


@administrators_only
@require_POST
def send_test(request: SignedIn, name: str) -> HttpResponse:
    """Post a test notice for an account, and say how the relay has answered."""
    form = TestMessageForm(request.POST)
    if form.is_valid():
        text = _("This is a test from Pausepoint.")
        path = reverse("approvals:dashboard")
        try:
            post_notice(_relay(name), form.cleaned_data["account"], text, path)
        except NotDelivered as error:
            form.add_error("account", words_of(str(error)))
        else:
            messages.success(request, _("The relay has taken the test message."))
            return redirect("relay:relay", name)
    return _page(request, name, test=form)


@administrators_only
@require_POST
def remove(request: SignedIn, name: str) -> HttpResponse:
    actions.remove_relay(name, by=request.user)
    messages.success(request, _("The relay is removed, with its linked accounts."))
    return redirect("relay:setup")


def _relay(name: str) -> Relay:
    rows = Relay.objects.select_related("connection")
    relay = rows.filter(connection__team_id=name).first()
    if relay is None:
        raise NotFound(_("Relay not found. Someone may have removed it."))
    return relay


def _address(name: str) -> str:
    """Return the address below which a relay posts."""
    answers = reverse("relay:answers", args=[name])
    return settings.PUBLIC_URL + answers.removesuffix("/answers")


def _with_secret(
    request: SignedIn, name: str, secret: str, *, waits: bool
) -> HttpResponse:
    context = {
        "name": name,
        "lines": f"PAUSEPOINT_RELAY={_address(name)}\nPAUSEPOINT_RELAY_SECRET={secret}",
        "waits": waits,
        "here": "relays",
    }
    template = "approvals/administration/channels/relay_secret.html"
    return render(request, template, context)


def _page(
    request: SignedIn,
    name: str,
    *,
    form: RelayForm | None = None,
    test: TestMessageForm | None = None,
) -> HttpResponse:
    relay = _relay(name)
    accounts = relay.connection.accounts.select_related("user")
    settings_form = form or RelayForm(instance=_relay(name))
    context: dict[str, Any] = {
        "relay": relay,
        "address": _address(name),
        "state": state_of(relay.connection),
        "form": test if test is not None and test.errors else settings_form,
        "settings_form": settings_form,
        "test_form": test or TestMessageForm(),
        "accounts": accounts.order_by("user__username"),
        "waiting": pending_changes(request.user, kinds=[Kind.RELAY]),
        "here": "relays",
    }
    return form_page(request, "channels/relay.html", context)
