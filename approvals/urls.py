"""Addresses of the desk's pages."""

from __future__ import annotations

from django.urls import path

from approvals import reviews, views

app_name = "approvals"

urlpatterns = [
    path("", views.dashboard, name="dashboard"),
    path("requests/<uuid:pk>/", views.request_page, name="request"),
    path("requests/<uuid:pk>/decide/", views.decide, name="decide"),
    path("requests/<uuid:pk>/review/", reviews.review, name="review"),
    path("requests/<uuid:pk>/cancel/", views.cancel, name="cancel"),
    path("workflows/", views.workflows, name="workflows"),
    path("workflows/<int:pk>/", views.workflow, name="workflow"),
]
