"""The lists behind the figures: requests in the inbox, or what was recorded in the period on the audit page."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from approvals.queries.insights.values import Insights

#: For each age of waiting requests, the youngest first, the filter of the inbox that comes nearest.
AGES = ("under-1h", "under-1h", "over-1h", "over-1d", "over-7d")


def decided(**filters: str) -> str:
    """Return the address of the decided requests with these filters."""
    return _address("approvals:requests", status="decided", **filters)


def waiting(age: str) -> str:
    """Return the address of the requests that have waited for so long."""
    return _address("approvals:requests", age=age)


def cases(insights: Insights, **filters: str) -> str:
    """Return the beginning of the address of the cases of a figure, to which its name is added."""
    return f"{_address('approvals:insights-cases', days=str(insights.days), **filters)}&of="


def _address(name: str, **filters: str) -> str:
    return f"{reverse(name)}?{urlencode(filters)}"
