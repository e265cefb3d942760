"""People whom approver scopes limit, and their lists, over many requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from approvals import queries
from approvals.access.callers import SCOPES as SCOPES_OF_KEYS
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.models import ApproverScope, ScopeSet, ScopeSetMember
from approvals.queries import PAGE, request_list, sections
from approvals.queries.filters import OVER, Filters
from approvals.queries.insights.figures import ages_for
from approvals.queries.workflow_list import ENDED, SUSPENDED, page_of_workflows
from benchmarks.load.in_process import call
from benchmarks.load.many_requests import fill
from benchmarks.load.program import ASK

SCOPES = 200
#: How many scopes name each person.
PEOPLE = (0, 1, 10, 60, SCOPES)
#: Who is measured: first someone who sees all.
NAMES = ("approver", *(f"in-{count}" for count in PEOPLE))


def prepare(number: int) -> None:
    """Store the scopes, the people and the requests: each scope fits as many as the others."""
    scopes = _store_scopes()
    scope_sets = []
    for scope in scopes:
        scope_set = ScopeSet.objects.create(digest=f"scope set {scope.pk}")
        ScopeSetMember.objects.create(scope_set=scope_set, scope=scope)
        scope_sets.append(scope_set.pk)
    may = Permission.objects.filter(
        codename__in=["decide_approvalrequest", "view_approvalrequest"]
    )
    for count in PEOPLE:
        person = User.objects.create_user(f"in-{count}")
        person.user_permissions.set(may)
        for scope in scopes[:count]:
            scope.people.add(person)
    fill(number, asker=User.objects.get(username="requester"), scope_sets=scope_sets)


def _store_scopes() -> list[ApproverScope]:
    return [
        ApproverScope.objects.create(
            name=f"Scope {place}", match={"tools": [f"tool-{place}"]}
        )
        for place in range(SCOPES)
    ]


def measure(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return the times in ms of each list for each person, and CPU in ms of the first page of the Inbox and of asking."""
    return {
        "lists": _measure_lists(rounds),
        "CPU": _measure_pages(rounds),
        "asks": asyncio.run(_measure_asks(rounds)),
    }


def _measure_lists(rounds: int) -> dict[str, list[float]]:
    """Measure everyone in each round, so that what else the machine does slows all of them down."""
    everyone = User.objects.get(username="approver")
    everyone.is_superuser = True
    everyone.save()
    found: dict[str, list[float]] = {
        f"{name}: {label}": [] for name in NAMES for label in _lists()
    }
    for label, work in _lists().items():
        for _round in range(rounds):
            for name in NAMES:
                found[f"{name}: {label}"].append(_timed(name, work, time.perf_counter))
    return found


def _measure_pages(rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for _round in range(rounds):
        for name in NAMES:
            found[name].append(
                _timed(
                    name,
                    lambda person: sections.sections_of(standing_of(person), Filters()),
                    time.process_time,
                )
            )
    return found


def _timed(name: str, work: Callable[[User], Any], clock: Callable[[], float]) -> float:
    """Return how many ms a list takes for a person, who is read anew as by each call."""
    person = User.objects.get(username=name)
    began = clock()
    work(person)
    return (clock() - began) * 1000


async def _measure_asks(rounds: int) -> dict[str, list[float]]:
    """Measure asks over REST, in turns without scopes, with one and with 200. Deletes the scopes."""
    _, key = await sync_to_async(create_key)(
        await User.objects.aget(username="requester"),
        name="a program",
        scopes=SCOPES_OF_KEYS,
    )
    found: dict[str, list[float]] = {
        f"ask, {count} scopes": [] for count in (0, 1, SCOPES)
    }
    for _round in range(max(rounds // 10, 1)):
        for name, times in found.items():
            await ApproverScope.objects.all().adelete()
            scopes = (await sync_to_async(_store_scopes)())[: int(name.split()[1])]
            await ApproverScope.objects.exclude(
                pk__in=[scope.pk for scope in scopes]
            ).adelete()
            for number in range(13):
                ask = ASK | {"tool_call_id": uuid4().hex, "tool_name": "tool-0"}
                began = time.process_time()
                await call(
                    "POST", "/api/v1/requests", ask, authorization=f"Bearer {key}"
                )
                if number > 2:
                    # The process has read the scopes, and made the scope set.
                    times.append((time.process_time() - began) * 1000)
    return found


def _lists() -> dict[str, Callable[[User], Any]]:
    plain, over = Filters(), Filters(status=OVER)

    def second(person: User, filters: Filters) -> Any:
        _rows, after = request_list.page_of(standing_of(person), filters)
        return (
            request_list.page_of(standing_of(person), replace(filters, after=after))
            if after
            else None
        )

    return {
        "inbox, first page": lambda person: sections.sections_of(
            standing_of(person), plain
        ),
        "inbox, two pages": lambda person: second(person, plain),
        "inbox, of one tool": lambda person: request_list.page_of(
            standing_of(person), replace(plain, tool="tool-7")
        ),
        "inbox, count": lambda person: request_list.count_of(
            standing_of(person), plain
        ),
        "decided, first page": lambda person: request_list.page_of(
            standing_of(person), over
        ),
        "decided, two pages": lambda person: second(person, over),
        "decided, count": lambda person: request_list.count_of(
            standing_of(person), over
        ),
        "REST, first page": lambda person: list(
            queries.matching_requests_for(standing_of(person))[: PAGE + 1]
        ),
        "REST, search": lambda person: list(
            queries.matching_requests_for(standing_of(person), text="no777")[: PAGE + 1]
        ),
        "workflows, suspended": lambda person: page_of_workflows(
            standing_of(person), SUSPENDED
        ),
        "workflows, suspended, count": lambda person: queries.capped_count(
            queries.suspended_workflows_for(standing_of(person))
        ),
        "workflows, ended": lambda person: page_of_workflows(
            standing_of(person), ENDED
        ),
        "insights, ages": lambda person: ages_for(
            standing_of(person), now=timezone.now()
        ),
    }
