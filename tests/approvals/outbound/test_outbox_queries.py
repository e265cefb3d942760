"""How many queries it costs to write an event, and to find due ones."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models.subscriptions import NotificationRule
from approvals.outbound import notifications, webhooks
from approvals.states import Verdict
from tests.support.desk.carrying import make_endpoint
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def cost(work) -> int:
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found)


def story(owner: User, decider: User) -> int:
    workflow = make_workflow(owner)
    return cost(lambda: decide(make_request(owner, workflow=workflow), User.objects.get(pk=decider.pk), Verdict.REJECT))


def test_notifying_many_costs_as_many_queries_as_notifying_one():
    owner, decider = alice(), bob()
    nobody = story(owner, decider)
    costs = []
    for how_many in (1, 30):
        for number in range(how_many):
            make_endpoint(f"https://app-{number}.example.org/")
            NotificationRule.objects.create(person=decider)
        costs.append(story(owner, decider))
    # The number of the stream and the rows, for each of two events; and the webhooks, which both then look up.
    assert (costs[1] - costs[0], costs[0] - nobody) == (0, 6)


def test_finding_due_events_costs_one_query_however_many_there_are():
    owner = alice()
    decider = bob()
    decider.email = "bob@example.org"
    decider.save()
    NotificationRule.objects.create(person=decider)
    costs = []
    for how_many in (1, 30):
        for number in range(how_many):
            make_endpoint(f"https://app-{number}.example.org/")
            make_request(owner)
        notifications.spread_due_notices()
        costs.append((cost(lambda: webhooks.due_jobs([])), cost(lambda: notifications.due_jobs(["slow.example"]))))
    assert costs == [(1, 1), (1, 1)]
