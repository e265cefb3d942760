"""URLs of the pages."""

from __future__ import annotations

from django.urls import include, path

from approvals.pages import (
    assignees,
    attachments,
    callbacks,
    confirm,
    difference,
    inbox,
    request,
    review,
    secrets,
    workflows,
)
from approvals.pages.attention import line, own_cases
from approvals.pages.audit import evidence, record
from approvals.pages.audit import views as audit
from approvals.pages.grants import give, ledger
from approvals.pages.insights import cases as insights_cases
from approvals.pages.insights import views as insights
from approvals.pages.lists import palette, saved_views, snoozes, suggestions

app_name = "approvals"

urlpatterns = [
    path("", inbox.requests_page, name="dashboard"),
    path("requests/", inbox.requests_page, name="requests"),
    path("requests/suggestions/", inbox.suggestions, name="suggestions"),
    path("requests/bulk/", inbox.bulk_page, name="bulk"),
    path("requests/<uuid:pk>/", request.request_page, name="request"),
    path(
        "requests/<uuid:pk>/difference/<uuid:other>/",
        difference.difference,
        name="difference",
    ),
    path("requests/<uuid:pk>/decide/", request.decide, name="decide"),
    path("requests/<uuid:pk>/check/", review.check, name="check"),
    path("requests/<uuid:pk>/review/", review.review, name="review"),
    path("requests/<uuid:pk>/grant/", give.grant, name="grant"),
    path("requests/<uuid:pk>/confirm/<str:token>/", confirm.confirm, name="confirm"),
    path("requests/<uuid:pk>/secret/", secrets.show_secret, name="secret"),
    path("requests/<uuid:pk>/cancel/", request.cancel, name="cancel"),
    path("requests/<uuid:pk>/callback/", callbacks.settle, name="settle-callback"),
    path("requests/<uuid:pk>/claim/", assignees.claim, name="claim"),
    path("requests/<uuid:pk>/release/", assignees.release, name="release"),
    path("requests/<uuid:pk>/assign/", assignees.assign, name="assign"),
    path("requests/<uuid:pk>/comments/", assignees.comment, name="comment"),
    path("requests/<uuid:pk>/mentions/", assignees.mentions, name="mentions"),
    path("requests/<uuid:pk>/people/", assignees.people, name="people"),
    path(
        "requests/<uuid:pk>/attachments/<uuid:attachment_id>/",
        attachments.attachment,
        name="attachment",
    ),
    path(
        "requests/<uuid:pk>/attachments/<uuid:attachment_id>/pdf/",
        attachments.pdf,
        name="pdf",
    ),
    path("requests/<uuid:pk>/record/", record.decision_record, name="record"),
    path("audit/", audit.audit, name="audit"),
    path("audit/export.csv", audit.audit_export, {"kind": "csv"}, name="audit-csv"),
    path(
        "audit/export.jsonl", audit.audit_export, {"kind": "jsonl"}, name="audit-jsonl"
    ),
    path("audit/export.ocsf", audit.audit_export, {"kind": "ocsf"}, name="audit-ocsf"),
    path("audit/evidence/", evidence.evidence, name="evidence"),
    path("audit/reports/", audit.save_report, name="save-report"),
    path("audit/reports/delete/", audit.delete_report, name="delete-report"),
    path("requests/<uuid:pk>/snooze/", snoozes.snooze, name="snooze"),
    path("views/", saved_views.save, name="save-view"),
    path("views/counts/", saved_views.counts, name="view-counts"),
    path("views/<int:pk>/delete/", saved_views.delete, name="delete-view"),
    path("suggestions/<str:kind>/", suggestions.suggested, name="suggested"),
    path("palette/", palette.palette, name="palette"),
    path("insights/", insights.insights, name="insights"),
    path("insights/cases/", insights_cases.insights_cases, name="insights-cases"),
    path("insights/csv/", insights.insights_csv, name="insights-csv"),
    path("settings/grants/", ledger.ledger, name="grants"),
    path("settings/grants/switch/", ledger.switch, name="switch-grants"),
    path("settings/grants/<uuid:pk>/", ledger.granted, name="granted"),
    path("settings/grants/<uuid:pk>/revoke/", ledger.revoke, name="revoke-grant"),
    path("attention/", line.line, name="attention-line"),
    path("attention/cases/", own_cases.own_cases, name="own-cases"),
    path("settings/", include("approvals.administration.urls")),
    path("workflows/", workflows.workflows, name="workflows"),
    path("workflows/<int:pk>/", workflows.workflow, name="workflow"),
]
