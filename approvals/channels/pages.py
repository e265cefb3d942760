"""The pages that channels share: test cards, the end of a connection, the links of accounts, and previews of cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from approvals.access.permissions import may_administer
from approvals.actions.changes import Kind
from approvals.actions.channels.links import link_account, offer_of, unlink_account
from approvals.administration.changes.queries import pending_changes
from approvals.administration.channels import actions
from approvals.administration.guards import administrators_only, with_fresh_log_in
from approvals.administration.notification_rules.queries import rules
from approvals.channels.content import content_of
from approvals.channels.messenger import ChannelError
from approvals.channels.messengers import MESSENGERS
from approvals.channels.states import words_of
from approvals.exceptions import NotFound
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import ChannelAccount, ChannelConnection, NotificationRule
from approvals.queries.requests import get_request_for, requests_for
from approvals.states import KIND_OF_ROUTE, Door
from approvals.text.names import fold


def setup_context(kind: ChannelConnection.Kind, user: User) -> dict[str, Any]:
    """Return the part of the page of a channel that all kinds share."""
    connection = ChannelConnection.objects.filter(kind=kind).first()
    accounts = ChannelAccount.objects.select_related("user").order_by("user__username")
    routes = [route for route, of in KIND_OF_ROUTE.items() if of == kind]
    return {
        "here": f"channel-{kind.value}",
        "kind": kind.value,
        "channel": kind.label,
        "connection": connection,
        "rules": rules().filter(route__in=routes),
        "accounts": accounts.filter(connection=connection) if connection else (),
        "waiting": pending_changes(user, kinds=[Kind.CHANNEL]),
    }


def post_test_card(
    request: SignedIn,
    kind: ChannelConnection.Kind,
    form: Form,
    page: Callable[[], HttpResponse],
) -> HttpResponse:
    """Post a test card, with the button that links accounts, to the channel of a form; show the page again with its errors."""
    connection = get_object_or_404(ChannelConnection, kind=kind)
    if not form.is_valid():
        return page()
    messenger = MESSENGERS[kind]
    try:
        messenger.post(
            connection, form.cleaned_data["channel_id"], messenger.test_card()
        )
    except ChannelError as error:
        form.add_error("channel_id", words_of(kind, error.code))
        return page()
    messages.success(request, _("The test card is in the channel."))
    return redirect(f"{kind}:setup")


@administrators_only
@require_POST
def disconnect(request: SignedIn, kind: str) -> HttpResponse:
    actions.disconnect(kind, by=request.user)
    words = _("%(channel)s is disconnected. Links of accounts are removed.")
    channel = ChannelConnection.Kind(kind).label
    messages.success(request, words % {"channel": channel})
    return redirect(f"{kind}:setup")


@with_fresh_log_in
@require_safe_or_POST
def link(request: SignedIn, token: str) -> HttpResponse:
    """Confirm a link that the bot has sent. Opening it changes nothing."""
    if request.method == "POST":
        channel = link_account(token, by=request.user).connection.label
        words = _(
            "Your account in %(channel)s is linked. Click the button there again."
        )
        messages.success(request, words % {"channel": channel})
        return redirect("approvals:settings")
    offer = offer_of(token)
    channel = offer.connection.label
    context = {"offer": offer, "channel": channel, "here": "profile"}
    return render(request, "approvals/administration/channels/link.html", context)


@with_fresh_log_in
@require_POST
def unlink(request: SignedIn, pk: int) -> HttpResponse:
    """Remove a link: your own, or anyone's as an administrator."""
    rows = ChannelAccount.objects.select_related("connection", "user")
    account = rows.filter(pk=pk).first()
    administers = may_administer(request.standing)
    if account is None or not (account.user_id == request.user.pk or administers):
        raise NotFound(_("This link does not exist. It may have been removed."))
    unlink_account(account, by=request.user, via=Door.DASHBOARD)
    channel = account.connection.label
    words = _("The account in %(channel)s is no longer linked.")
    messages.success(request, words % {"channel": channel})
    own = account.user_id == request.user.pk
    return redirect("approvals:settings" if own else f"{account.connection.kind}:setup")


@administrators_only
@require_safe
def preview(request: SignedIn, pk: int) -> HttpResponse:
    """The card of a rule, as it would be posted for the newest request that you may see."""
    rule = get_object_or_404(NotificationRule, pk=pk, route__in=KIND_OF_ROUTE)
    requests = requests_for(request.standing).order_by("-created_at")
    if rule.tool_name:
        requests = requests.filter(canonical_tool=fold(rule.tool_name))
    newest = requests.values_list("pk", flat=True).first()
    context = {
        "here": f"channel-{rule.kind}",
        "rule": rule,
        "setup": f"{rule.kind}:setup",
    }
    if newest is not None:
        shown = get_request_for(request.standing, newest)
        content = content_of(shown, rule.shows)
        message = MESSENGERS[rule.kind].card(shown, content)
        context |= {"content": content, "buttons": message.buttons}
    return render(request, "approvals/administration/channels/preview.html", context)
