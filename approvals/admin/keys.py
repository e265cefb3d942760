"""The admin of API keys."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from approvals.access.tool_lists import lists_from
from approvals.actions import create_signing_secret, end_old_signing_secrets
from approvals.admin.base import OnRecord, ReadOnlyAdmin
from approvals.admin.subscriptions import SecretOwner
from approvals.administration.changeable import is_beyond_administrators
from approvals.administration.keys import actions
from approvals.administration.keys.forms import ToolListsForm
from approvals.models.keys import ApiKey
from approvals.states import Door

#: All fields of a key except its lists, which can be changed.
FIXED = (
    "user",
    "name",
    "prefix",
    "scopes",
    "created_at",
    "last_used_at",
    "last_used_from",
    "expires_at",
    "ranges",
    "revoked_at",
)


class KeyListsForm(ToolListsForm, forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """The lists of a key as fields of the admin."""

    class Meta:
        model = ApiKey
        fields: ClassVar[list[str]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.update(self.initial_of(lists_from(self.instance.tool_lists)))


@admin.register(ApiKey)
class ApiKeyAdmin(SecretOwner, OnRecord, ReadOnlyAdmin):
    """API keys, to revoke them, to change their lists, and to create the secret that signs the webhooks of their requests.

    Keys are created with `manage.py createkey`, which shows them once.
    """

    list_display = (
        "name",
        "prefix",
        "user",
        "scopes",
        "created_at",
        "last_used_at",
        "expires_at",
        "revoked_at",
    )
    list_select_related = ("user",)
    form = KeyListsForm
    ordering = ("-pk",)
    actions = ("revoke", "new_webhook_secret", "end_old_webhook_secrets")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the lists of a key may be changed; nothing else can be."""
        if not self.has_revoke_permission(request):
            return False
        return obj is None or (
            obj.revoked_at is None and self._may_change_person(request, obj.user)
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (
            *FIXED,
            *(
                ToolListsForm.base_fields
                if self.has_change_permission(request, obj)
                else ["tool_lists"]
            ),
        )

    def get_readonly_fields(
        self, request: HttpRequest, obj: Any = None
    ) -> tuple[str, ...]:
        return (*FIXED, "tool_lists")

    def save_model(
        self, request: HttpRequest, obj: ApiKey, form: Any, change: bool
    ) -> None:
        """Store the lists through the product's action, on record."""
        by: Any = request.user
        actions.change_tool_lists(obj.pk, form.lists, by=by, via=Door.ADMIN)

    def _may_change_person(self, request: HttpRequest, person: User) -> bool:
        own = person.pk == request.user.pk
        return (
            own
            or bool(request.user.is_superuser)
            or not is_beyond_administrators(person)
        )

    def may_make_secret(self, request: HttpRequest, owner: ApiKey) -> bool:
        return self._may_change_person(request, owner.user)

    def make_secret(self, request: HttpRequest, owner: ApiKey) -> str:
        return create_signing_secret(owner)

    def end_old_secrets(self, request: HttpRequest, owner: ApiKey) -> int:
        return end_old_signing_secrets(owner)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("approvals.change_apikey"))

    @admin.action(description=_("Revoke selected keys"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        by: Any = request.user
        revoked = sum(
            actions.revoke_key(key.pk, by=by, via=Door.ADMIN)
            for key in queryset.order_by("pk")
        )
        message = ngettext(
            "%(count)d key was revoked.", "%(count)d keys were revoked.", revoked
        )
        self.message_user(request, message % {"count": revoked}, messages.SUCCESS)
