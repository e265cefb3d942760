"""The admin of webhook endpoints and their secrets, and of notification rules."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.admin.base import Base, RecordedAdmin
from approvals.administration.notification_rules import actions as rules
from approvals.administration.webhooks import actions as webhooks
from approvals.administration.webhooks.forms import WebhookForm
from approvals.models.subscriptions import NotificationRule, WebhookEndpoint
from approvals.outbound.webhooks import Owner, secrets_of
from approvals.states import Door


class SecretOwner(Base):
    """Admin actions for models with a signing secret. The new secret is shown only once, on the page after the action."""

    def has_secret_permission(self, request: HttpRequest) -> bool:
        return bool(
            request.user.has_perm(
                f"{self.opts.app_label}.change_{self.opts.model_name}"
            )
        )

    def may_make_secret(self, request: HttpRequest, owner: Any) -> bool:
        """Return whether a person who may create secrets may create one for this row."""
        return True

    def make_secret(self, request: HttpRequest, owner: Any) -> str:
        """Create a secret for this row, and return it."""
        raise NotImplementedError

    def end_old_secrets(self, request: HttpRequest, owner: Any) -> int:
        """End all secrets of this row but the newest; return how many were ended."""
        raise NotImplementedError

    def _refuse(self, request: HttpRequest) -> None:
        message = _(
            "Only a superuser can change the secrets of superusers, staff, and people who may change users."
        )
        self.message_user(request, message, messages.ERROR)

    @admin.action(
        description=gettext_lazy(
            "Create a new webhook secret (the previous one stays valid for a day)"
        ),
        permissions=["secret"],
    )
    def new_webhook_secret(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse | None:
        """Create a secret for one row at a time: two secrets on one page could be mixed up."""
        owner = queryset.first()
        if owner is None or queryset.count() != 1:
            self.message_user(request, _("Select exactly one item."), messages.WARNING)
            return None
        if not self.may_make_secret(request, owner):
            self._refuse(request)
            return None
        text = self.make_secret(request, owner)
        self.log_change(request, owner, _("Created a new webhook secret."))
        return self.secret_page(request, owner, text)

    @admin.action(
        description=gettext_lazy("Revoke old webhook secrets now"),
        permissions=["secret"],
    )
    def end_old_webhook_secrets(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> None:
        if not all(self.may_make_secret(request, owner) for owner in queryset):
            self._refuse(request)
            return
        ended = 0
        for owner in queryset:
            ended += self.end_old_secrets(request, owner)
            self.log_change(request, owner, _("Revoked old webhook secrets."))
        message = ngettext(
            "%(count)d secret was revoked.", "%(count)d secrets were revoked.", ended
        )
        self.message_user(request, message % {"count": ended}, messages.SUCCESS)

    def secret_page(
        self, request: HttpRequest, owner: Owner, text: str
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": _("Webhook secret"),
            "owner": owner,
            "secret": text,
        }
        response = TemplateResponse(
            request,
            "admin/approvals/webhook_secret.html",
            context | {"opts": self.opts},
        )
        add_never_cache_headers(response)
        return response


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(SecretOwner, RecordedAdmin):
    list_display = ("name", "url", "events", "include_payload", "active", "created_at")
    list_filter = ("active",)
    form = WebhookForm
    ordering = ("-pk",)
    actions = ("new_webhook_secret", "end_old_webhook_secrets")
    store = staticmethod(webhooks.store_endpoint)
    remove = staticmethod(webhooks.remove_endpoint)

    def make_secret(self, request: HttpRequest, owner: WebhookEndpoint) -> str:
        by: Any = request.user
        return webhooks.rotate_secret(owner.pk, by=by, via=Door.ADMIN)

    def end_old_secrets(self, request: HttpRequest, owner: WebhookEndpoint) -> int:
        by: Any = request.user
        return webhooks.end_old_secrets(owner.pk, by=by, via=Door.ADMIN)

    def response_add(
        self,
        request: HttpRequest,
        obj: WebhookEndpoint,
        post_url_continue: str | None = None,
    ) -> Any:
        """Show the first secret of a new endpoint."""
        return self.secret_page(request, obj, secrets_of(obj)[0])


@admin.register(NotificationRule)
class NotificationRuleAdmin(RecordedAdmin):
    """Notification rules. The Slack URL is shown only to people who may change them, because it allows posting."""

    list_display = ("__str__", "min_priority", "tool_name", "active")
    list_filter = ("active", "route")
    list_select_related = ("person", "group")
    raw_id_fields = ("person",)
    ordering = ("-pk",)
    store = staticmethod(rules.store_rule)
    remove = staticmethod(rules.remove_rule)

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        may = self.has_change_permission(request, obj) or self.has_add_permission(
            request
        )
        return () if may else ("slack_url",)
