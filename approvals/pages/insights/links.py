"""Links from figures to lists: requests in the inbox, or entries of the period on the audit page."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from approvals.queries.insights.values import Insights

#: The closest inbox filter for each age of waiting requests, youngest first.
AGES = ("under-1h", "under-1h", "over-1h", "over-1d", "over-7d")


def decided(**filters: str) -> str:
    """Return the address of the decided requests with these filters."""
    return _address("approvals:requests", status="decided", **filters)


def waiting(age: str) -> str:
    """Return the address of the requests of this age."""
    return _address("approvals:requests", age=age)


def cases(insights: Insights, **filters: str) -> str:
    """Return the prefix of the address of a figure's cases, to which its name is appended."""
    return f"{_address('approvals:insights-cases', days=str(insights.days), **filters)}&of="


def _address(name: str, **filters: str) -> str:
    return f"{reverse(name)}?{urlencode(filters)}"
