"""Addresses of the desk's pages."""

from __future__ import annotations

from django.urls import path

from approvals import hands, reviews, triageviews, views
from approvals.insights import pages as insights

app_name = "approvals"

urlpatterns = [
    path("", views.dashboard, name="dashboard"),
    path("requests/", triageviews.requests_page, name="requests"),
    path("requests/bulk/", triageviews.bulk_page, name="bulk"),
    path("requests/<uuid:pk>/", views.request_page, name="request"),
    path("requests/<uuid:pk>/decide/", views.decide, name="decide"),
    path("requests/<uuid:pk>/review/", reviews.review, name="review"),
    path("requests/<uuid:pk>/cancel/", views.cancel, name="cancel"),
    path("requests/<uuid:pk>/claim/", hands.claim, name="claim"),
    path("requests/<uuid:pk>/release/", hands.release, name="release"),
    path("requests/<uuid:pk>/assign/", hands.assign, name="assign"),
    path("requests/<uuid:pk>/comments/", hands.comment, name="comment"),
    path("insights/", insights.insights, name="insights"),
    path("insights/csv/", insights.insights_csv, name="insights-csv"),
    path("workflows/", views.workflows, name="workflows"),
    path("workflows/<int:pk>/", views.workflow, name="workflow"),
]
