"""A grant approves the calls it covers, within its uses and its time, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now

from approvals.administration.tools.actions import store_tool_settings
from approvals.db.append_only import maintenance
from approvals.models import AskAlways, AuditEntry, Decision, Grant, OutboxEvent, Workflow
from approvals.states import Audience, Priority, Width
from tests.approvals.actions.policy.granting import REFUND, ask, give, in_an_hour, terms
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db


def settings_of(tool: str, **fields: object) -> None:
    store_tool_settings(tool, fields, by=User.objects.create_superuser(f"root of {tool} {User.objects.count()}"))


def test_an_equal_call_is_approved_by_the_grant_and_says_so():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms())
    request = ask(asker)
    decision = Decision.objects.get(request=request)
    assert (request.status, decision.verdict, decision.via) == ("approved", "approve", "grant")
    assert (decision.by_id, decision.by_name, decision.grant, decision.grant_use) == (decider.pk, "bob", given, 1)
    assert decision.approved_digest == request.input_digest
    given.refresh_from_db()
    assert (given.used, given.ended_at, given.last_used_at is None) == (1, None, False)
    assert Workflow.objects.get(pk=request.workflow_id).state == "completed"
    entries = AuditEntry.objects.filter(request_id=request.pk).order_by("pk")
    assert [(entry.event, entry.actor_name, entry.via) for entry in entries] == [
        ("request.created", "alice", "api"),
        ("request.decided", "bob", "grant"),
        ("grant.used", "bob", "grant"),
    ]


@pytest.mark.parametrize(
    ("width", "value", "covered"),
    [
        (Width.INPUT, REFUND, True),
        (Width.INPUT, REFUND | {"amount": 120.0}, True),
        (Width.INPUT, REFUND | {"amount": 121}, False),
        (Width.INPUT, REFUND | {"note": ""}, False),
        (Width.FIELDS, REFUND | {"note": "other"}, True),
        (Width.FIELDS, REFUND | {"amount": 120.0}, True),
        (Width.FIELDS, REFUND | {"amount": "120"}, False),
        (Width.FIELDS, REFUND | {"amount": 121}, False),
        (Width.FIELDS, {"amount": 120}, False),
        (Width.FIELDS, {"amount": 120, "order": None}, False),
        (Width.FIELDS, {"order": 120, "amount": "4711"}, False),
        (Width.TOOL, {}, True),
    ],
)
def test_what_a_grant_covers(width, value, covered):
    settings_of("refund", key_fields=["/order", "/amount"])
    asker, decider = alice(), bob()
    give(decider, asker, terms(width))
    assert ask(asker, value).status == ("approved" if covered else "pending")


def test_a_grant_of_key_fields_holds_when_the_list_of_them_is_reordered():
    settings_of("refund", key_fields=["/order", "/amount"])
    asker, decider = alice(), bob()
    give(decider, asker, terms(Width.FIELDS))
    settings_of("refund", key_fields=["/amount", "/order"])
    assert ask(asker, REFUND | {"note": "other"}).status == "approved"


@pytest.mark.parametrize(
    ("audience", "other", "covered"),
    [
        (Audience.AGENT, {}, True),
        (Audience.AGENT, {"scope": "key:2", "workflow": "other", "thread": "other"}, True),
        (Audience.AGENT, {"agent": "support", "workflow": "other"}, False),
        (Audience.AGENT, {"agent": "Billing", "workflow": "other"}, False),
        (Audience.AGENT, {"agent": "", "workflow": "other"}, False),
        (Audience.KEY, {"agent": "", "workflow": "other", "thread": "other"}, True),
        (Audience.KEY, {"scope": "key:2"}, False),
        (Audience.WORKFLOW, {"agent": "support", "thread": "other"}, True),
        (Audience.WORKFLOW, {"workflow": "other"}, False),
        (Audience.WORKFLOW, {"scope": "key:2"}, False),
        (Audience.THREAD, {"workflow": "other"}, True),
        (Audience.THREAD, {"workflow": "other", "thread": "other"}, False),
        (Audience.THREAD, {"workflow": "other", "scope": "key:2"}, False),
    ],
)
def test_for_whose_calls_a_grant_is(audience, other, covered):
    asker, decider, origin = alice(), bob(), {"workflow": "run-1", "thread": "chat-1"}
    give(decider, asker, terms(audience=audience), **origin)
    assert ask(asker, **origin | other).status == ("approved" if covered else "pending")


@pytest.mark.parametrize("audience", list(Audience))
def test_a_grant_covers_no_calls_of_another_user(audience):
    origin = {"workflow": "run-1", "thread": "chat-1"}
    give(bob(), alice(), terms(Width.TOOL, audience), **origin)
    assert ask(mallory(), **origin).status == "pending"


@pytest.mark.parametrize("tool", ["refund ", "refund2", "refund*", "*"])
def test_a_grant_is_for_a_tool_by_its_whole_name(tool):
    asker, decider = alice(), bob()
    give(decider, asker, terms(Width.TOOL))
    request = ask(asker, tool=tool.strip())
    assert request.status == ("approved" if tool.strip() == "refund" else "pending")


def test_a_critical_call_is_always_asked_also_where_its_tool_became_critical_later():
    asker, decider = alice(), bob()
    give(decider, asker, terms(Width.TOOL))
    assert ask(asker, priority=Priority.CRITICAL).status == "pending"
    settings_of("refund", min_priority="critical")
    assert (ask(asker).status, Grant.objects.get().used) == ("pending", 0)


def test_the_last_use_ends_the_grant_and_the_next_call_waits():
    asker, decider = alice(), bob()
    give(decider, asker, terms(uses=2))
    assert [ask(asker).status for _ in range(3)] == ["approved", "approved", "pending"]
    given = Grant.objects.get()
    assert (given.used, given.ended_why, given.ended_by_name) == (2, "used_up", "")
    ended = AuditEntry.objects.get(event="grant.ended")
    assert (ended.data["why"], ended.data["used"], ended.actor_name) == ("used_up", 2, "")


def test_a_grant_lasts_until_its_time_by_the_clock_of_the_database():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms(until=in_an_hour()))
    assert ask(asker).status == "approved"
    with maintenance(connection, "test"):
        Grant.objects.filter(pk=given.pk).update(until=Now() - timedelta(milliseconds=1))
    assert ask(asker).status == "pending"


def test_the_narrowest_grant_is_used_first_and_of_two_alike_the_older_one():
    settings_of("refund", key_fields=["/order"])
    asker, decider = alice(), bob()
    # Each of these calls is asked while no grant covers it yet.
    exact, fields, anything = (give(decider, asker, terms(width, uses=2), {"order": width}) for width in Width)
    used = []
    for order in (0, 0, 0, 1, 0, 1, 1):
        request = ask(asker, {"order": order})
        decision = Decision.objects.filter(request=request).first()
        used.append(decision and decision.grant)
    assert used == [exact, exact, anything, fields, anything, fields, None]


def test_no_grant_is_used_while_everything_is_asked():
    asker, decider = alice(), bob()
    give(decider, asker, terms())
    AskAlways.objects.create(since=Now(), by_id=decider.pk, by_name="bob")
    assert (ask(asker).status, Grant.objects.get().used) == ("pending", 0)
    AskAlways.objects.all().delete()
    assert ask(asker).status == "approved"


def test_a_call_whose_deadline_has_passed_expires_and_uses_nothing():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms())
    request = ask(asker, deadline_at=given.given_at - timedelta(hours=1))
    assert (request.status, Grant.objects.get().used) == ("pending", 0)


def test_nobody_is_notified_of_what_a_grant_approves(settings):
    settings.HITL_MAIL = True
    settings.HITL_EVENT_HANDLERS = ["tests.support.receiver.nothing"]
    asker, decider = alice(), bob()
    give(decider, asker, terms())
    OutboxEvent.objects.all().delete()
    request = ask(asker, assigned_to=decider)
    assert request.status == "approved"
    sent = OutboxEvent.objects.order_by("pk").values_list("name", "channel")
    assert list(sent) == [(name, "handler") for name in ("request.created", "request.decided", "grant.used")]
