"""A request that a person has rejected is rejected again if repeated unchanged, if the policy says so."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import actions
from approvals.actions.policy import ask_about_everything
from approvals.api.mcp.results import outcome
from approvals.api.outcomes import ReadRequest
from approvals.asking.answers import Answer
from approvals.db.canonical_json import utc
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.states import Door, Kind, Verdict
from tests.approvals.actions.policy.granting import approve, ask, give, terms
from tests.support.desk.ruling import apply_policy
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def reject(request: ApprovalRequest, by, comment: str = "Not this one.") -> ApprovalRequest:
    actions.decide(request.pk, Answer(Verdict.REJECT, comment=comment), by=by, via=Door.DASHBOARD)
    return request


@pytest.fixture
def people():
    apply_policy(repeat_rejections=True)
    return alice(), bob()


def status(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.get(pk=request.pk).status


def test_the_earlier_no_answers_the_same_call_on_record(people):
    asker, decider = people
    first = reject(ask(asker), decider)
    again = ask(asker)
    made, earlier = Decision.objects.get(request=again), Decision.objects.get(request=first)
    assert (status(again), again.repeats, again.rule, again.policy_version) == ("rejected", first.pk, None, 1)
    assert (made.by_id, made.via) == (None, "rule")
    assert made.comment == f"bob rejected the same call on {utc(earlier.decided_at)}: Not this one."
    entries = AuditEntry.objects.filter(request_id=again.pk).order_by("pk")
    assert [(entry.event, entry.data["repeats"]) for entry in entries] == [
        ("request.created", str(first.pk)),
        ("request.decided", str(first.pk)),
    ]
    assert outcome(ReadRequest(again))["message"].startswith("A person rejected the same call before.")
    body = Machine(asker).get(f"/requests/{again.pk}").body
    assert (body["decision"]["repeats"], body["decision"]["rule"]) == (str(first.pk), None)


def test_it_is_off_unless_the_policy_says_so():
    asker, decider = alice(), bob()
    reject(ask(asker), decider)
    assert status(ask(asker)) == "pending"
    apply_policy({"name": "All", "then": "ask"})
    assert status(ask(asker)) == "pending"


def test_only_the_same_call_of_the_same_agent_for_the_same_user_is_answered(people):
    asker, decider = people
    reject(ask(asker), decider)
    others = [
        ask(make_person("eve")),
        ask(asker, agent="other"),
        ask(asker, tool="wire"),
        ask(asker, {"amount": 121}),
        ask(asker, kind=Kind.QUESTION),
    ]
    assert [status(each) for each in others] == ["pending"] * 5


def test_what_was_approved_since_is_asked(people):
    asker, decider = people
    waiting = ask(asker)
    reject(ask(asker), decider)
    approve(waiting, decider)
    again = ask(asker)
    assert status(again) == "pending"
    reject(again, decider)
    assert status(ask(asker)) == "rejected"


def test_after_seven_days_it_is_asked_however_often_it_was_repeated(people):
    asker, decider = people
    first = reject(ask(asker), decider)
    assert [status(ask(asker)) for _ in range(2)] == ["rejected"] * 2
    ApprovalRequest.objects.filter(pk=first.pk).update(changed_at=timezone.now() - timedelta(days=7, seconds=1))
    assert status(ask(asker)) == "pending"


def test_only_the_no_of_a_person_is_repeated(people):
    asker, decider = people
    deny = {"name": "Never", "then": "deny"}
    apply_policy(deny, repeat_rejections=True)
    ask(asker)
    apply_policy(repeat_rejections=True)
    waiting = ask(asker)
    assert status(waiting) == "pending"
    actions.cancel(waiting.pk, by=decider, via=Door.DASHBOARD)
    assert status(ask(asker)) == "pending"


def test_rules_come_first(people):
    asker, decider = people
    reject(ask(asker), decider)
    apply_policy({"name": "Small", "then": "allow"}, repeat_rejections=True)
    assert status(ask(asker)) == "approved"


def test_the_terms_of_a_rule_do_not_keep_the_earlier_no_from_answering(people):
    asker, decider = people
    apply_policy({"name": "All", "then": "ask", "ask": {"reason": "always"}}, repeat_rejections=True)
    first = reject(ask(asker), decider)
    again = ask(asker)
    assert (status(again), again.repeats, again.rule, again.terms) == ("rejected", first.pk, None, None)


def test_while_everything_is_asked_or_a_grant_is_alive_people_are_asked(people):
    asker, decider = people
    reject(ask(asker), decider)
    ask_about_everything(on=True, by=decider, via=Door.DASHBOARD)
    assert status(ask(asker)) == "pending"
    ask_about_everything(on=False, by=make_person("ada", "administer"), via=Door.DASHBOARD)
    assert status(ask(asker)) == "rejected"
    give(decider, asker, terms(), {"amount": 5})
    assert status(ask(asker)) == "pending"


def statements(work) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]


def test_the_switch_costs_an_ask_one_read_by_an_index_and_nothing_while_it_is_off():
    asker, decider = alice(), bob()
    apply_policy({"name": "Other", "match": {"tools": ["other"]}, "then": "ask"})
    ask(asker, {"amount": 1})
    off = statements(lambda: ask(asker, {"amount": 2}))
    apply_policy(repeat_rejections=True)
    reject(ask(asker), decider)
    ask(asker, {"amount": 3})
    on, repeated = statements(lambda: ask(asker, {"amount": 4})), statements(lambda: ask(asker))
    [read] = [sql for sql in on if "repeats" in sql and sql.startswith("SELECT")]
    # PostgreSQL takes the workflow, the request and the decision together.
    assert (len(on) - len(off), len(repeated)) == (1, 4 if connection.vendor == "postgresql" else 6)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {read}")
            plan = [row[3] for row in cursor.fetchall()]
        assert "USING INDEX request_same_decided" in plan[0], plan
        assert not any("SCAN" in line or "TEMP B-TREE" in line for line in plan), plan
