"""The admin of users, the audit log and its export, workflows, requests, decisions and events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from approvals import actions
from approvals.actions.locking import lock_standing
from approvals.actions.policy.standing_changes import standing_changed
from approvals.admin.base import DayFilter, OnRecord, OwnFilters, ReadOnlyAdmin, TextFilter, text_filter
from approvals.administration.changeable import is_beyond_administrators, is_protected
from approvals.administration.keys.actions import revoke_keys_of
from approvals.administration.people.actions import tell_of_new_address
from approvals.administration.webhooks.actions import resend_events
from approvals.asking.secrets import masked_decision, masked_request
from approvals.exceptions import Refusal
from approvals.http import SignedIn, actor_of, refusals_as_pages
from approvals.models import ApprovalRequest, AuditEntry, Decision, OutboxEvent, Workflow
from approvals.queries.audit import of_tool
from approvals.queries.policy.givers import powers_of_givers
from approvals.queries.search import with_words_of_requests
from approvals.record.audit import shown_body
from approvals.record.events import EVENTS
from approvals.record.export import TYPES, export
from approvals.states import Door, Verdict
from approvals.text.tables import pretty
from approvals.text.text import visible

admin.site.unregister([User, Group])


class ChangesStanding(OnRecord):
    """Changes who may do what: under the one lock for that, and with what follows from it, as the product does."""

    def changeform_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return self._changing(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return self._changing(super().delete_view, request, *args, **kwargs)

    def changelist_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return self._changing(super().changelist_view, request, *args, **kwargs)

    def _changing(self, view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        @refusals_as_pages
        def change(request: SignedIn) -> HttpResponse:
            with transaction.atomic():
                lock_standing(actor_of(request))
                powers = powers_of_givers()
                response: HttpResponse = view(request, *args, **kwargs)
                standing_changed(powers)
            return response

        return change(request) if request.method == "POST" else view(request, *args, **kwargs)


@admin.register(User)
class PersonAdmin(ChangesStanding, OwnFilters, UserAdmin):  # type: ignore[type-arg]  # generic to the type checker only
    """Django's admin of users, with only its own filters. Changes are on record.

    Only superusers give rights, and change people who have any: otherwise *Can change user* would be every right.
    """

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and _may_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_change(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        rights = () if _is_superuser(request) else ("is_staff", "is_superuser", "groups", "user_permissions")
        return (*super().get_readonly_fields(request, obj), *rights)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Revoke the keys of a person who is deactivated, and tell one whose address changes at both, as the product does."""
        super().save_model(request, obj, form, change)
        by: Any = request.user
        if change and "email" in form.changed_data:
            tell_of_new_address(obj, form.initial["email"], by=by)
        if "is_active" in form.changed_data and not obj.is_active:
            revoke_keys_of(obj, by=by, via=Door.ADMIN)


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


def _may_change(request: HttpRequest, person: User | None) -> bool:
    """Return whether a person has so few rights that someone who is no superuser may change them."""
    return person is None or _is_superuser(request) or not (is_beyond_administrators(person) or is_protected(person))


@admin.register(Group)
class TeamAdmin(ChangesStanding, OwnFilters, GroupAdmin):
    """Django's admin of groups, with only its own filters. Only superusers change the rights that groups give, on record."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)


class EventFilter(admin.SimpleListFilter):
    title, parameter_name = _("event"), "event"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(event, event) for event in EVENTS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter by event. An unknown event finds nothing, so that a typo does not export the whole log."""
        wanted = self.value()
        if wanted is None:
            return queryset
        return queryset.filter(event=wanted) if wanted in EVENTS else queryset.none()


class FromDay(DayFilter):
    title, parameter_name, column = _("from day (UTC)"), "from", "at__gte"


class UntilDay(DayFilter):
    title, parameter_name, column, shift = _("until day (UTC)"), "until", "at__lt", timedelta(days=1)


class VerdictFilter(admin.SimpleListFilter):
    title, parameter_name = _("verdict"), "verdict"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, str(label)) for value, label in Verdict.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter by verdict. An unknown one finds nothing, so that a typo does not export the whole log."""
        wanted = self.value()
        return queryset if wanted is None else queryset.filter(verdict=wanted or None)


class ToolFilter(TextFilter):
    """A filter by the name of a tool, however it is written."""

    parameter_name, title = "tool", _("tool")

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(of_tool(self.text)) if self.text else queryset


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "event", "subject", "shown_verdict", "tool_name", "person")
    list_filter = (
        ToolFilter,
        text_filter("chat", _("chat"), "thread_id"),
        text_filter("person", _("person"), "actor_name"),
        text_filter("run", _("run"), "run_id"),
        EventFilter,
        VerdictFilter,
        FromDay,
        UntilDay,
    )
    #: Shows the search field; `get_search_results` searches, by the words of the request.
    search_fields = ("request_id",)
    search_help_text = _("Words of the request: title, input, notes, decision and result.")
    ordering = ("-pk",)
    actions = None
    exclude = ("body",)
    readonly_fields = ("canonical_body",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        title = ApprovalRequest.objects.filter(pk=OuterRef("request_id")).values("title")
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        return entries.annotate(**{"request_title": Subquery(title)})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Filter by the words of a request, as the audit page does."""
        words = search_term.replace("\x00", "").strip()
        return (with_words_of_requests(queryset, words)[0] if words else queryset), False

    @admin.display(description=_("request"))
    def subject(self, entry: AuditEntry) -> SafeString | str:
        """Link to the page of the request that the entry is about."""
        if not entry.request_title or not entry.request_id:
            return "\N{EN DASH}"
        address = reverse("approvals:request", args=[entry.request_id])
        return format_html('<a href="{}">{}</a>', address, visible(entry.request_title))

    @admin.display(description=_("verdict"))
    def shown_verdict(self, entry: AuditEntry) -> str:
        return str(Verdict(entry.verdict).label) if entry.verdict in Verdict.values else "\N{EN DASH}"

    @admin.display(description=_("person"), ordering="actor_name")
    def person(self, entry: AuditEntry) -> SafeString | str:
        """Link to what this person did, on the audit page."""
        if not entry.actor_name:
            return "\N{EN DASH}"
        query = urlencode({"person": entry.actor_name})
        return format_html('<a href="{}?{}">{}</a>', reverse("approvals:audit"), query, visible(entry.actor_name))

    @admin.display(description="body")
    def canonical_body(self, entry: AuditEntry) -> SafeString:
        return format_html("<pre>{}</pre>", pretty(shown_body(entry)))

    def get_urls(self) -> list[URLPattern]:
        exports = [
            path(f"export.{kind}", self.admin_site.admin_view(self.export), {"kind": kind}, name=f"audit_export_{kind}")
            for kind in TYPES
        ]
        return exports + super().get_urls()

    def export(self, request: HttpRequest, kind: str) -> StreamingHttpResponse:
        """Export exactly the rows that the list shows for the same query string. Raise BadRequest if a filter is invalid."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            shown = self.get_changelist_instance(request)
        except IncorrectLookupParameters as error:
            raise BadRequest(gettext("Page not found. The list has fewer pages.")) from error
        if any(getattr(applied, "error", "") for applied in shown.filter_specs):
            raise BadRequest(gettext("A filter has an invalid date. Write it like 2026-11-21."))
        return export(shown.get_queryset(request), kind)


@admin.register(Workflow)
class WorkflowAdmin(ReadOnlyAdmin):
    list_display = ("title", "state", "agent", "owner", "open_count", "started_at", "ended_at")
    list_filter = ("state", text_filter("run", _("run"), "key"))
    list_select_related = ("owner",)
    ordering = ("-pk",)


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    list_display = ("title", "kind", "status", "tool_name", "priority", "requested_by", "created_at", "deadline_at")
    list_filter = ("status", "kind", "priority", text_filter("tool", _("tool"), "canonical_tool"))
    list_select_related = ("requested_by",)
    ordering = ("-created_at", "-id")
    readonly_fields = ("id",)  # read-only fields are shown only if they are listed
    # From these, hidden values could be found by trying all of them.
    exclude = ("ask_digest", "digest_salt", "input_fingerprint")
    actions = ("cancel_selected",)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> ApprovalRequest | None:
        """Return the request without its secrets, which only its own page shows, on record."""
        known: ApprovalRequest | None = super().get_object(request, object_id, from_field)
        return known and masked_request(known)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("approvals.decide_approvalrequest"))

    @admin.action(description=_("Cancel selected requests"), permissions=["decide"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[ApprovalRequest]) -> None:
        """Cancel each request in its own transaction, through the same decision path as all decisions."""
        for pending in queryset.order_by("created_at", "id"):
            try:
                actions.cancel(pending.pk, by=actor_of(cast("SignedIn", request)), via=Door.ADMIN)
            except Refusal as refusal:
                self.message_user(request, f"“{pending.title}”: {refusal}", messages.WARNING)
            else:
                message = gettext("“%(title)s” was cancelled.") % {"title": pending.title}
                self.message_user(request, message, messages.SUCCESS)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ("request", "verdict", "by_name", "via", "decided_at")
    list_filter = ("verdict", text_filter("person", _("person"), "by_name"))
    list_select_related = ("request",)
    ordering = ("-pk",)
    readonly_fields = ("request",)  # read-only fields are shown only if they are listed
    exclude = ("digest_salt",)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Decision | None:
        """Return the decision without the secrets of its request."""
        known: Decision | None = super().get_object(request, object_id, from_field)
        return known and masked_decision(known.request, known)


@admin.register(OutboxEvent)
class OutboxEventAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "target",
        "sequence",
        "created_at",
        "delivered_at",
        "attempts",
        "next_attempt_at",
        "dead_at",
        "last_error",
    )
    list_filter = (
        ("delivered_at", admin.EmptyFieldListFilter),
        ("dead_at", admin.EmptyFieldListFilter),
        "channel",
        "name",
    )
    ordering = ("-pk",)
    actions = ("send_again",)

    def has_send_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("approvals.change_outboxevent"))

    @admin.action(description=_("Send selected events now"), permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[OutboxEvent]) -> None:
        """Send events again, also delivered ones: receivers recognize a repeated event by its id."""
        sent = resend_events(queryset, by=request.user)  # type: ignore[arg-type]
        message = ngettext(
            "%(count)d event will be sent within a second.", "%(count)d events will be sent within a second.", sent
        )
        self.message_user(request, message % {"count": sent}, messages.SUCCESS)
