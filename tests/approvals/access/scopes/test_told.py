"""Nothing outside a person's scopes reaches them by page, mail or channel."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.models import OutboxEvent
from approvals.models.subscriptions import NotificationRule
from approvals.outbound import notifications
from approvals.outbound.messages import UNDECIDABLE
from approvals.pages import consumers
from approvals.pages.lists import inbox_consumer, workflows_consumer
from approvals.queries.filters import Filters
from approvals.states import Route
from tests.support.desk.requests import make_request
from tests.support.desk.scopes import again, make_scope
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def test_open_pages_are_pushed_only_what_a_scope_fits():
    root, decider, asker = User.objects.create_superuser("root"), bob(), alice()
    make_scope(decider, by=root, tools=["refund"])
    told = {}
    for tool in ("refund", "payroll"):
        request = make_request(asker, tool_name=tool)
        told[tool] = [
            bool(
                consumers._workflow_changed(
                    standing_of(again(decider)), BatchCache(), request.workflow_id, str(request.pk)
                )
            ),
            bool(inbox_consumer._changed(standing_of(again(decider)), BatchCache(), Filters(), str(request.pk), True)),
            bool(workflows_consumer._changed(standing_of(again(decider)), BatchCache(), "", request.workflow_id)),
        ]
    assert told == {"refund": [True] * 3, "payroll": [False] * 3}


def test_mails_and_channels_go_only_to_those_whom_a_scope_lets_see_the_request():
    root, inside, outside = User.objects.create_superuser("root"), bob(), make_person("erin", "decide_approvalrequest")
    User.objects.update(email="someone@example.com")
    both, alone = Group.objects.create(name="both"), Group.objects.create(name="alone")
    inside.groups.add(both, alone)
    outside.groups.add(both)
    for group in (both, alone):
        NotificationRule.objects.create(group=group, route=Route.MAIL)
        NotificationRule.objects.create(group=group, route=Route.SLACK, slack_url="https://hooks.example.com/x")
    make_scope(inside, by=root, tools=["refund"])
    for tool in ("refund", "payroll"):
        make_request(alice() if tool == "refund" else User.objects.get(username="alice"), tool_name=tool)
    notifications.spread_due_notices()
    told = OutboxEvent.objects.filter(channel__in=["mail", "slack"])
    # That no one may decide the other request is said to the administrator.
    targets = told.exclude(name=UNDECIDABLE).values_list("target", flat=True)
    of_alone = NotificationRule.objects.get(group=alone, route=Route.SLACK)
    assert sorted(targets) == sorted([f"mail:{inside.pk}", f"slack:{of_alone.pk}"])
