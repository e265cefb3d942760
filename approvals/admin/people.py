"""Django's admin of users and groups. Changes are on record, with their consequences."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from approvals.actions.locking import lock_standing
from approvals.actions.logins import EndReason, continue_session, end_sessions
from approvals.actions.policy.standing_changes import standing_before, standing_changed
from approvals.admin.base import OnRecord, OwnFilters
from approvals.administration.changeable import is_beyond_administrators, is_protected
from approvals.administration.keys.actions import revoke_keys_of
from approvals.administration.people.actions import tell_of_new_address
from approvals.http import SignedIn, actor_of, refusals_as_pages
from approvals.states import Door

admin.site.unregister([User, Group])


class ChangesStanding(OnRecord):
    """Change people's rights under the one lock for that, and with its consequences, as the product does."""

    def changeform_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return self._changing(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return self._changing(super().delete_view, request, *args, **kwargs)

    def changelist_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return self._changing(super().changelist_view, request, *args, **kwargs)

    def _changing(
        self, view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any
    ) -> Any:
        @refusals_as_pages
        def change(request: SignedIn) -> HttpResponse:
            with transaction.atomic():
                lock_standing(actor_of(request))
                everyone = User.objects.values_list("pk", flat=True)
                before = standing_before(list(everyone))
                response: HttpResponse = view(request, *args, **kwargs)
                standing_changed(before)
            return response

        return (
            change(request)
            if request.method == "POST"
            else view(request, *args, **kwargs)
        )


@admin.register(User)
class PersonAdmin(ChangesStanding, OwnFilters, UserAdmin):  # type: ignore[type-arg]  # generic to the type checker only
    """Django's admin of users, with only its own filters. Changes are on record.

    Only superusers may give rights or change people with any: otherwise *Can change user* would amount to every right.
    """

    def has_change_permission(
        self, request: HttpRequest, obj: User | None = None
    ) -> bool:
        return super().has_change_permission(request, obj) and _may_change(request, obj)

    def has_delete_permission(
        self, request: HttpRequest, obj: User | None = None
    ) -> bool:
        return super().has_delete_permission(request, obj) and _may_change(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        rights = (
            ()
            if _is_superuser(request)
            else ("is_staff", "is_superuser", "groups", "user_permissions")
        )
        return (*super().get_readonly_fields(request, obj), *rights)

    def save_model(
        self, request: HttpRequest, obj: User, form: Any, change: bool
    ) -> None:
        """Revoke the keys of a deactivated person, and mail a changed address at both addresses, as the product does."""
        super().save_model(request, obj, form, change)
        by: Any = request.user
        if change and "email" in form.changed_data:
            tell_of_new_address(obj, form.initial["email"], by=by)
        if "is_active" in form.changed_data and not obj.is_active:
            revoke_keys_of(obj, by=by, via=Door.ADMIN)

    def user_change_password(
        self, request: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """End the person's other sessions, and close their pages, once their password was changed or taken."""
        before = request.session.session_key or ""
        response = super().user_change_password(request, *args, **kwargs)
        if response.status_code == HTTPStatus.FOUND:
            kept = request.session.session_key or ""
            continue_session(before, under=kept)
            end_sessions(int(kwargs["id"]), EndReason.PASSWORD, kept=kept)
        return response


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


def _may_change(request: HttpRequest, person: User | None) -> bool:
    """Return whether a person has so few rights that a non-superuser may change them."""
    return (
        person is None
        or _is_superuser(request)
        or not (is_beyond_administrators(person) or is_protected(person))
    )


@admin.register(Group)
class TeamAdmin(ChangesStanding, OwnFilters, GroupAdmin):
    """Django's admin of groups, with only its own filters. Only superusers may change the rights of groups, on record."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(
        self, request: HttpRequest, obj: Group | None = None
    ) -> bool:
        return _is_superuser(request)

    def has_delete_permission(
        self, request: HttpRequest, obj: Group | None = None
    ) -> bool:
        return _is_superuser(request)
