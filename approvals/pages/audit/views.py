"""The audit page, its exports and saved reports, for people who may read the audit log."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from approvals.access import permissions
from approvals.actions.lists.saved_views import delete_view, save_view
from approvals.db.cursors import number_from
from approvals.exceptions import Invalid, NotFound
from approvals.http import SignedIn, refusals_as_pages, sent_address
from approvals.models.preferences import ListPage
from approvals.pages.audit.csv_export import csv_for_people
from approvals.pages.audit.labels import EVENT_LABELS
from approvals.pages.audit.lines import lines
from approvals.queries.audit import (
    AuditPage,
    entries_for,
    page_of,
    reports_for,
    subjects_of,
)
from approvals.queries.audit_filters import (
    AuditFilters,
    audit_filters_from,
    valid_audit_filters_in,
)
from approvals.record.export import export
from approvals.states import Verdict

P = ParamSpec("P")
View = Callable[Concatenate[SignedIn, P], HttpResponseBase]


def for_readers(view: View[P]) -> Callable[..., HttpResponseBase]:
    """Respond as if the page did not exist, unless the person may read the audit log."""

    @wraps(view)
    def wrapped(
        request: SignedIn, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        if not permissions.reads_record(request.standing):
            raise NotFound(
                _("Page not found. It may not exist, or you may not have access.")
            )
        return view(request, *args, **kwargs)

    return refusals_as_pages(wrapped)  # type: ignore[arg-type]  # a download is a response too


@require_GET
@for_readers
def audit(request: SignedIn) -> HttpResponse:
    """Show one page of the entries that match the filters in the address; if a filter is invalid, only the errors."""
    try:
        return _page(request, audit_filters_from(request.GET), {})
    except Invalid as refusal:
        return _page(request, valid_audit_filters_in(request.GET), refusal.errors)


def _page(
    request: SignedIn, filters: AuditFilters, errors: dict[str, str]
) -> HttpResponse:
    page = AuditPage([], None) if errors else page_of(filters)
    context = {
        "filters": filters,
        "errors": errors,
        "lines": lines(page.entries, subjects_of(page.entries)) if page.entries else [],
        "next": filters.at(page.next).query if page.next else "",
        "searched_until": page.searched_until,
        "chips": [
            (label, value, filters.without(name).query)
            for name, label, value in _chips(filters)
        ],
        "kept": [
            (name, filters.parameters[name])
            for name in ("request", "workflow", "run", "chat")
            if name in filters.parameters
        ],
        "typed_search": request.GET.get("q", "").replace("\0", ""),
        "events": EVENT_LABELS,
        "verdicts": Verdict.choices,
        "reports": reports_for(request.user),
        "report_query": filters.at(None).query.removeprefix("?"),
        "sees_everything": permissions.sees_everything(request.standing),
        "time_zone": timezone.get_current_timezone_name(),
        "days_in": settings.TIME_ZONE,
    }
    status = HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK
    return render(request, "approvals/audit/page.html", context, status=status)


def _chips(filters: AuditFilters) -> list[tuple[str, str, str]]:
    """Return the set filters besides the search, as (parameter, label, value)."""
    labels = {
        "event": _("Event"),
        "verdict": _("Verdict"),
        "person": _("Person"),
        "tool": _("Tool"),
        "amount_from": _("Amount from"),
        "amount_to": _("Amount to"),
        "since": _("From"),
        "until": _("Until"),
        "request": _("Request"),
        "workflow": _("Workflow"),
        "run": _("Run"),
        "chat": _("Chat"),
    }
    values = filters.parameters | filters.typed_amounts
    values["event"] = str(EVENT_LABELS.get(filters.event, ""))
    values["verdict"] = str(dict(Verdict.choices).get(filters.verdict, ""))
    return [
        (name, label, values[name])
        for name, label in labels.items()
        if values.get(name)
    ]


@require_GET
@for_readers
def audit_export(request: SignedIn, kind: str) -> HttpResponseBase:
    """Download every entry that matches the same filters, streamed, in the order of events."""
    entries = entries_for(audit_filters_from(request.GET).at(None))
    return csv_for_people(entries) if kind == "csv" else export(entries, kind)


@require_POST
@for_readers
def save_report(request: SignedIn) -> HttpResponse:
    """Store the filters of the page under a name, and show them."""
    query = request.POST.get("query", "")
    filters = audit_filters_from(QueryDict(query)).at(None)
    name = request.POST.get("name", "")
    shared = request.POST.get("shared") == "1"
    save_view(
        request.user,
        ListPage.AUDIT,
        name=name,
        query=filters.query.removeprefix("?"),
        shared=shared,
    )
    return HttpResponseRedirect(reverse("approvals:audit") + filters.query)


@require_POST
@for_readers
def delete_report(request: SignedIn) -> HttpResponse:
    """Delete one of the person's own reports."""
    delete_view(
        request.user, ListPage.AUDIT, number_from(request.POST.get("report", "")) or 0
    )
    return HttpResponseRedirect(
        sent_address(request, "next") or reverse("approvals:audit")
    )
