"""The admin of webhook endpoints and their secrets, and of notification rules."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals import actions
from approvals.admin.base import DeskAdmin, OnRecord
from approvals.models.subscriptions import NotificationRule, WebhookEndpoint
from approvals.outbound import signing
from approvals.outbound.outbox import EVENTS


class SecretOwner(OnRecord):
    """Admin actions for models with a signing secret. The new secret is shown only once, on the page after the action."""

    def has_secret_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}"))

    def may_make_secret(self, request: HttpRequest, owner: Any) -> bool:
        """Return whether a person who may make secrets may make that of this row."""
        return True

    def _refuse(self, request: HttpRequest) -> None:
        words = _("Only a superuser can change the secrets of superusers, staff, and people who may change users.")
        self.message_user(request, words, messages.ERROR)

    @admin.action(
        description=gettext_lazy("Create a new webhook secret (the previous one stays valid for a day)"),
        permissions=["secret"],
    )
    def new_webhook_secret(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Create a secret for one row at a time: two secrets on one page could be mixed up."""
        owner = queryset.first()
        if owner is None or queryset.count() != 1:
            self.message_user(request, _("Select exactly one item."), messages.WARNING)
            return None
        if not self.may_make_secret(request, owner):
            self._refuse(request)
            return None
        return self.secret_page(request, owner)

    @admin.action(description=gettext_lazy("Revoke old webhook secrets now"), permissions=["secret"])
    def end_old_webhook_secrets(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        if not all(self.may_make_secret(request, owner) for owner in queryset):
            self._refuse(request)
            return
        ended = 0
        for owner in queryset:
            ended += actions.end_old_signing_secrets(owner)
            self.log_change(request, owner, _("Revoked old webhook secrets."))
        words = ngettext("%(count)d secret was revoked.", "%(count)d secrets were revoked.", ended)
        self.message_user(request, words % {"count": ended}, messages.SUCCESS)

    def secret_page(self, request: HttpRequest, owner: signing.Owner) -> HttpResponse:
        text = actions.create_signing_secret(owner)
        self.log_change(request, owner, _("Created a new webhook secret."))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Webhook secret"),
            "owner": owner,
            "secret": text,
        }
        response = TemplateResponse(request, "admin/approvals/webhook_secret.html", context | {"opts": self.opts})
        add_never_cache_headers(response)
        return response


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(SecretOwner, DeskAdmin):
    list_display = ("name", "url", "events", "include_payload", "active", "created_at")
    list_filter = ("active",)
    ordering = ("-pk",)
    actions = ("new_webhook_secret", "end_old_webhook_secrets")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Show the events as checkboxes."""
        if db_field.name != "events":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        known = [(event, event) for event in EVENTS]
        label = capfirst(db_field.verbose_name)
        return forms.MultipleChoiceField(choices=known, label=label, widget=forms.CheckboxSelectMultiple)

    def response_add(self, request: HttpRequest, obj: WebhookEndpoint, post_url_continue: str | None = None) -> Any:
        """Show the first secret of a new endpoint."""
        return self.secret_page(request, obj)


@admin.register(NotificationRule)
class NotificationRuleAdmin(OnRecord, DeskAdmin):
    """Notification rules. The Slack URL is shown only to people who may change them, because it allows posting."""

    list_display = ("__str__", "min_priority", "tool_name", "active")
    list_filter = ("active", "route")
    list_select_related = ("person", "group")
    raw_id_fields = ("person",)
    ordering = ("-pk",)

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        may = self.has_change_permission(request, obj) or self.has_add_permission(request)
        return () if may else ("slack_url",)
