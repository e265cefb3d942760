"""The lists behind the figures: requests in the inbox, or what was recorded in the period on the audit page."""

from __future__ import annotations

from collections.abc import Mapping
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


def totals(insights: Insights, *, record: bool) -> Mapping[str, str]:
    """Return the address behind each total: for people who may read the audit log, exactly what the period counts."""
    if record:
        period = {"since": f"{insights.since:%Y-%m-%d}"}
        return {
            "decided": _address("approvals:audit", event="request.decided", **period),
            "approved": _address("approvals:audit", verdict="approve", **period),
            "edited": _address("approvals:audit", verdict="edit", **period),
            "expired": _address("approvals:audit", verdict="expire", **period),
            "cancelled": _address("approvals:audit", verdict="cancel", **period),
        }
    status = {"decided": "decided", "approved": "approved", "expired": "expired", "cancelled": "cancelled"}
    return {name: _address("approvals:requests", status=value) for name, value in status.items()}


def days(insights: Insights) -> Mapping[str, str]:
    """Return the address of what was decided on each day, by its name."""
    names = [measure.name for measure in insights.per_day]
    return {name: _address("approvals:audit", event="request.decided", since=name, until=name) for name in names}


def _address(name: str, **filters: str) -> str:
    return f"{reverse(name)}?{urlencode(filters)}"
