"""The admin of the audit log and its export, workflows, requests, decisions and events."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from approvals import actions
from approvals.admin.base import DayFilter, ReadOnlyAdmin, TextFilter, text_filter
from approvals.administration.webhooks.actions import resend_events
from approvals.asking.secrets import (
    OF_DECISION,
    VALUES,
    masked_column,
    masked_input,
)
from approvals.exceptions import Refusal
from approvals.http import SignedIn, actor_of
from approvals.models import (
    ApprovalRequest,
    AuditEntry,
    Decision,
    OutboxEvent,
    Workflow,
)
from approvals.queries.audit import of_tool
from approvals.queries.search import with_words_of_requests
from approvals.record.audit import shown_body
from approvals.record.events import EVENTS
from approvals.record.export import TYPES, export
from approvals.states import Door, Verdict
from approvals.text.tables import pretty
from approvals.text.text import visible


class EventFilter(admin.SimpleListFilter):
    title = _("event")
    parameter_name = "event"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(event, event) for event in EVENTS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter by event. An unknown event matches nothing, so that a typo does not export the whole log."""
        wanted = self.value()
        if wanted is None:
            return queryset
        return queryset.filter(event=wanted) if wanted in EVENTS else queryset.none()


class FromDay(DayFilter):
    title = _("from day (UTC)")
    parameter_name = "from"
    column = "at__gte"


class UntilDay(DayFilter):
    title = _("until day (UTC)")
    parameter_name = "until"
    column = "at__lt"
    shift = timedelta(days=1)


class VerdictFilter(admin.SimpleListFilter):
    title = _("verdict")
    parameter_name = "verdict"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, str(label)) for value, label in Verdict.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter by verdict. An unknown one matches nothing, so that a typo does not export the whole log."""
        wanted = self.value()
        return queryset if wanted is None else queryset.filter(verdict=wanted or None)


class ToolFilter(TextFilter):
    """A filter by the name of a tool, in any spelling."""

    parameter_name = "tool"
    title = _("tool")

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
    #: Shows the search field; `get_search_results` searches by the words of the request.
    search_fields = ("request_id",)
    search_help_text = _(
        "Words of the request: title, input, notes, decision and result."
    )
    ordering = ("-pk",)
    actions = None
    exclude = ("body",)
    readonly_fields = ("canonical_body",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        title = ApprovalRequest.objects.filter(pk=OuterRef("request_id")).values(
            "title"
        )
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        return entries.annotate(**{"request_title": Subquery(title)})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Filter by the words of a request, like the audit page."""
        words = search_term.replace("\x00", "").strip()
        return (
            with_words_of_requests(queryset, words)[0] if words else queryset
        ), False

    @admin.display(description=_("request"))
    def subject(self, entry: AuditEntry) -> SafeString | str:
        """Link to the page of the entry's request."""
        if not entry.request_title or not entry.request_id:
            return "\N{EN DASH}"
        address = reverse("approvals:request", args=[entry.request_id])
        return format_html('<a href="{}">{}</a>', address, visible(entry.request_title))

    @admin.display(description=_("verdict"))
    def shown_verdict(self, entry: AuditEntry) -> str:
        return (
            str(Verdict(entry.verdict).label)
            if entry.verdict in Verdict.values
            else "\N{EN DASH}"
        )

    @admin.display(description=_("person"), ordering="actor_name")
    def person(self, entry: AuditEntry) -> SafeString | str:
        """Link to this person's actions, on the audit page."""
        if not entry.actor_name:
            return "\N{EN DASH}"
        query = urlencode({"person": entry.actor_name})
        return format_html(
            '<a href="{}?{}">{}</a>',
            reverse("approvals:audit"),
            query,
            visible(entry.actor_name),
        )

    @admin.display(description="body")
    def canonical_body(self, entry: AuditEntry) -> SafeString:
        return format_html("<pre>{}</pre>", pretty(json.loads(entry.body)))

    def shown_value(self, row: AuditEntry, name: str) -> Any:
        return (
            json.dumps(shown_body(row))
            if name == "body"
            else super().shown_value(row, name)
        )

    def get_urls(self) -> list[URLPattern]:
        exports = [
            path(
                f"export.{kind}",
                self.admin_site.admin_view(self.export),
                {"kind": kind},
                name=f"audit_export_{kind}",
            )
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
            raise BadRequest(
                gettext("Page not found. The list has fewer pages.")
            ) from error
        if any(getattr(applied, "error", "") for applied in shown.filter_specs):
            raise BadRequest(
                gettext("A filter has an invalid date. Write it like 2026-11-21.")
            )
        return export(shown.get_queryset(request), kind)


@admin.register(Workflow)
class WorkflowAdmin(ReadOnlyAdmin):
    list_display = (
        "title",
        "state",
        "agent",
        "owner",
        "open_count",
        "started_at",
        "ended_at",
    )
    list_filter = ("state", text_filter("run", _("run"), "key"))
    list_select_related = ("owner",)
    ordering = ("-pk",)


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    list_display = (
        "title",
        "kind",
        "status",
        "tool_name",
        "priority",
        "requested_by",
        "created_at",
        "deadline_at",
    )
    list_filter = (
        "status",
        "kind",
        "priority",
        text_filter("tool", _("tool"), "canonical_tool"),
    )
    list_select_related = ("requested_by",)
    ordering = ("-created_at", "-id")
    readonly_fields = ("id",)  # read-only fields are shown only if they are listed
    # From these, hidden values could be found by brute force.
    exclude = ("ask_digest", "digest_salt", "input_fingerprint")
    actions = ("cancel_selected",)

    def shown_value(self, row: ApprovalRequest, name: str) -> Any:
        """Return a column without the secrets of the request, which only its own page reveals, on record."""
        if name == "proposal" and row.proposal:
            return {**row.proposal, "input": masked_input(row, row.proposal["input"])}
        return (
            masked_column(row, name)
            if name in VALUES
            else super().shown_value(row, name)
        )

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("approvals.decide_approvalrequest"))

    @admin.action(description=_("Cancel selected requests"), permissions=["decide"])
    def cancel_selected(
        self, request: HttpRequest, queryset: QuerySet[ApprovalRequest]
    ) -> None:
        """Cancel each request in its own transaction, through the same decision path as all decisions."""
        for pending in queryset.order_by("created_at", "id"):
            try:
                actions.cancel(
                    pending.pk, by=actor_of(cast("SignedIn", request)), via=Door.ADMIN
                )
            except Refusal as refusal:
                self.message_user(
                    request, f"“{pending.title}”: {refusal}", messages.WARNING
                )
            else:
                message = gettext("“%(title)s” was cancelled.") % {
                    "title": pending.title
                }
                self.message_user(request, message, messages.SUCCESS)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ("request", "verdict", "by_name", "via", "decided_at")
    list_filter = ("verdict", text_filter("person", _("person"), "by_name"))
    list_select_related = ("request",)
    ordering = ("-pk",)
    readonly_fields = ("request",)  # read-only fields are shown only if they are listed
    exclude = ("digest_salt",)

    def shown_value(self, row: Decision, name: str) -> Any:
        """Return a column without the secrets of the request."""
        return (
            masked_column(row.request, name, row)
            if name in OF_DECISION
            else super().shown_value(row, name)
        )


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
        """Resend events, even delivered ones: receivers recognize a repeated event by its id."""
        sent = resend_events(queryset, by=request.user)  # type: ignore[arg-type]
        message = ngettext(
            "%(count)d event will be sent within a second.",
            "%(count)d events will be sent within a second.",
            sent,
        )
        self.message_user(request, message % {"count": sent}, messages.SUCCESS)
