"""The URL of the MCP endpoint."""

from __future__ import annotations

from django.urls import path

from approvals.api.mcp.endpoint import endpoint

app_name = "mcp"

urlpatterns = [path("", endpoint, name="endpoint")]
