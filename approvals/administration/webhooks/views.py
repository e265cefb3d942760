"""Administration of webhooks and their deliveries."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.administration.forms import form_page, sent
from approvals.administration.guards import administrators_only
from approvals.administration.webhooks import actions, queries
from approvals.administration.webhooks.forms import WebhookForm
from approvals.db.cursors import number_from
from approvals.exceptions import NotFound
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import OutboxEvent
from approvals.models.subscriptions import WebhookEndpoint
from approvals.outbound.outbox import EVENTS, undelivered_events
from approvals.outbound.webhooks import secrets_of
from approvals.states import Channel, Door

#: Maximum count of waiting deliveries of a webhook.
COUNTED = 1000


@administrators_only
@require_safe_or_POST
def webhooks(request: SignedIn) -> HttpResponse:
    """The list of webhooks, and the form for a new one."""
    form = WebhookForm(
        sent(request),
        initial={"events": list(EVENTS[:4])},
    )
    if form.is_valid():
        endpoint = actions.store_endpoint(
            None, form.cleaned_data, by=request.user, via=Door.DASHBOARD
        )
        return _with_secret(request, endpoint, secrets_of(endpoint)[0])
    context = {"form": form, "rows": queries.endpoints(), "here": "webhooks"}
    return form_page(request, "webhooks/webhooks.html", context)


@administrators_only
@require_safe_or_POST
def webhook(request: SignedIn, pk: int) -> HttpResponse:
    """One webhook: its form, and its deliveries."""
    endpoint = get_object_or_404(WebhookEndpoint, pk=pk)
    form = WebhookForm(sent(request), instance=endpoint)
    if form.is_valid():
        actions.store_endpoint(
            pk, form.cleaned_data, by=request.user, via=Door.DASHBOARD
        )
        messages.success(request, _("The changes are saved."))
        return redirect("approvals:webhook", pk)
    # Discard the input of a refused form.
    stored = get_object_or_404(WebhookEndpoint, pk=pk)
    shown, more = queries.deliveries_to(
        stored, before=number_from(request.GET.get("before", ""))
    )
    waiting = undelivered_events(Channel.WEBHOOK).filter(target=f"endpoint:{pk}")
    context = {
        "endpoint": stored,
        "form": form,
        "deliveries": shown,
        "next": more,
        "waiting": waiting.order_by()[:COUNTED].count(),
        "here": "webhooks",
    }
    return form_page(request, "webhooks/webhook.html", context)


@administrators_only
@require_POST
def rotate(request: SignedIn, pk: int) -> HttpResponse:
    secret = actions.rotate_secret(pk, by=request.user, via=Door.DASHBOARD)
    return _with_secret(request, get_object_or_404(WebhookEndpoint, pk=pk), secret)


@administrators_only
@require_POST
def remove(request: SignedIn, pk: int) -> HttpResponse:
    actions.remove_endpoint(pk, by=request.user, via=Door.DASHBOARD)
    messages.success(request, _("The webhook is removed."))
    return redirect("approvals:webhooks")


@administrators_only
@require_POST
def resend(request: SignedIn, pk: int, event: int) -> HttpResponse:
    """Resend a delivery, even a received one: receivers recognize it by its id."""
    delivery = OutboxEvent.objects.filter(
        pk=event, target=f"endpoint:{get_object_or_404(WebhookEndpoint, pk=pk).pk}"
    )
    if not actions.resend_events(delivery, by=request.user, via=Door.DASHBOARD):
        raise NotFound(_("Delivery not found. Retention may have removed it."))
    messages.success(request, _("The event will be sent within a second."))
    return redirect("approvals:webhook", pk)


def _with_secret(
    request: SignedIn, endpoint: WebhookEndpoint, secret: str
) -> HttpResponse:
    context = {"endpoint": endpoint, "secret": secret, "here": "webhooks"}
    return render(
        request, "approvals/administration/webhooks/webhook_secret.html", context
    )
