"""People whom approver scopes limit, and their lists, over many requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import Permission, User
from django.utils import timezone

from approvals import queries
from approvals.models import ApproverScope, ScopeSet, ScopeSetMember
from approvals.queries import PAGE, request_list, sections
from approvals.queries.filters import OVER, Filters
from approvals.queries.insights.figures import ages_for
from approvals.queries.workflow_list import ENDED, SUSPENDED, page_of_workflows
from benchmarks.load.many_requests import fill

SCOPES = 200
#: How many scopes name each person.
PEOPLE = (0, 1, 10, 60, SCOPES)


def prepare(number: int) -> None:
    """Store the scopes, the people and the requests: each scope fits as many as the others."""
    scopes = [
        ApproverScope.objects.create(name=f"Scope {place}", match={"tools": [f"tool-{place}"]})
        for place in range(SCOPES)
    ]
    scope_sets = []
    for scope in scopes:
        scope_set = ScopeSet.objects.create(digest=f"scope set {scope.pk}")
        ScopeSetMember.objects.create(scope_set=scope_set, scope=scope)
        scope_sets.append(scope_set.pk)
    may = Permission.objects.filter(codename__in=["decide_approvalrequest", "view_approvalrequest"])
    for count in PEOPLE:
        person = User.objects.create_user(f"in-{count}")
        person.user_permissions.set(may)
        for scope in scopes[:count]:
            scope.people.add(person)
    fill(number, asker=User.objects.get(username="requester"), scope_sets=scope_sets)


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the times in ms of each list for each person, who is read anew each time as by each call."""
    found: dict[str, list[float]] = {}
    everyone = User.objects.get(username="approver")
    everyone.is_superuser = True
    everyone.save()
    for name in ("approver", *(f"in-{count}" for count in PEOPLE)):
        for label, work in _lists().items():
            times = found.setdefault(f"{name}: {label}", [])
            for _round in range(rounds):
                person = User.objects.get(username=name)
                began = time.perf_counter()
                work(person)
                times.append((time.perf_counter() - began) * 1000)
    return found


def _lists() -> dict[str, Callable[[User], Any]]:
    plain, over = Filters(), Filters(status=OVER)

    def second(person: User, filters: Filters) -> Any:
        _rows, after = request_list.page_of(person, filters)
        return request_list.page_of(person, replace(filters, after=after)) if after else None

    return {
        "inbox, first page": lambda person: sections.sections_of(person, plain),
        "inbox, two pages": lambda person: second(person, plain),
        "inbox, of one tool": lambda person: request_list.page_of(person, replace(plain, tool="tool-7")),
        "inbox, count": lambda person: request_list.count_of(person, plain),
        "decided, first page": lambda person: request_list.page_of(person, over),
        "decided, two pages": lambda person: second(person, over),
        "decided, count": lambda person: request_list.count_of(person, over),
        "REST, first page": lambda person: list(queries.matching_requests_for(person)[: PAGE + 1]),
        "REST, search": lambda person: list(queries.matching_requests_for(person, text="no777")[: PAGE + 1]),
        "workflows, suspended": lambda person: page_of_workflows(person, SUSPENDED),
        "workflows, suspended, count": lambda person: queries.capped_count(queries.suspended_workflows_for(person)),
        "workflows, ended": lambda person: page_of_workflows(person, ENDED),
        "insights, ages": lambda person: ages_for(person, now=timezone.now()),
    }
