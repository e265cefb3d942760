"""The live policy allows, denies, or asks on its terms, in the transaction of the ask."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import actions
from approvals.actions.policy import ask_about_everything
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, AuditEntry, Decision, OutboxEvent, SearchText, Workflow
from approvals.policy.terms import terms_of
from approvals.queries.policy.rules.policy_versions import rules_asked_under
from approvals.states import Door, Kind, Priority, Verdict
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.support.desk.ruling import apply_policy
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

ALLOW = {"name": "Small", "match": {"tools": ["refund"]}, "when": "input.amount < 500", "then": "allow"}
DENY = {"name": "Never", "match": {"tools": ["wire"]}, "then": "deny", "message": "Ask finance."}


def ended(request: ApprovalRequest) -> tuple[str, str | None, int | None]:
    found = ApprovalRequest.objects.get(pk=request.pk)
    return found.status, found.rule, found.policy_version


def test_a_rule_allows_on_record():
    apply_policy(ALLOW, DENY)
    request = ask(alice(), {"amount": 120})
    assert ended(request) == ("approved", "Small", 1)
    decision = Decision.objects.get(request=request)
    assert (decision.verdict, decision.by_id, decision.by_name, decision.via) == ("approve", None, "", "rule")
    assert decision.approved_digest == request.input_digest
    workflow = Workflow.objects.get()
    assert (workflow.state, workflow.open_count, workflow.urgency) == ("completed", 0, None)
    entries = list(AuditEntry.objects.filter(event__startswith="request.").order_by("pk"))
    assert [(entry.event, entry.actor_name, entry.via, entry.data["rule"]) for entry in entries] == [
        ("request.created", "alice", "api", "Small"),
        ("request.decided", "", "rule", "Small"),
    ]
    assert not SearchText.objects.exists()


def test_a_rule_denies_with_its_message():
    apply_policy(ALLOW, DENY, {"name": "Rest", "then": "deny"})
    asker = alice()
    first, second = ask(asker, tool="wire"), ask(asker, tool="other")
    assert [ended(each)[:2] for each in (first, second)] == [("rejected", "Never"), ("rejected", "Rest")]
    comments = [Decision.objects.get(request=each).comment for each in (first, second)]
    assert comments == ["Ask finance.", "The policy rule “Rest” denies this."]
    assert not Decision.objects.exclude(approved_digest="").exists()


def test_what_no_rule_fits_waits_under_the_version_without_a_rule():
    apply_policy(DENY)
    request = ask(alice())
    assert (ended(request), request.control, request.terms) == (("pending", None, 1), None, None)


def test_an_error_asks_and_says_why_on_record():
    apply_policy(ALLOW, {"name": "All", "then": "allow"})
    request = ask(alice(), {"sum": 3})
    assert ended(request) == ("pending", "Small", 1)
    assert AuditEntry.objects.get(event="request.created").data["why_asked"] == "condition"


def test_a_rule_asks_on_its_terms():
    said = {
        "stages": [{"groups": [{"people": ["bob"]}]}], "reason": "always", "typed_name": True,
        "deadline": {"after": 600, "then": "halt"}, "priority": "high", "key_fields": ["/order"],
    }  # fmt: skip
    decider = bob()
    apply_policy({"name": "Refunds", "then": "ask", "ask": said})
    request = ask(alice(), {"order": 7, "amount": 1})
    assert ended(request) == ("pending", "Refunds", 1)
    kept = terms_of(ApprovalRequest.objects.get(pk=request.pk).terms)
    assert (kept.stages[0].groups[0].people, kept.reason, kept.on_expire) == ((decider.pk,), "always", "halt")
    assert (request.priority, request.asked_priority, request.control) == ("high", "normal", "four_eyes")
    assert (request.deadline_at - request.created_at, request.amount) == (timedelta(seconds=600), 7)
    assert [rule.ask.key_fields for rule in rules_asked_under(request)] == [("/order",)]


def test_the_earlier_deadline_counts():
    apply_policy({"name": "Soon", "then": "ask", "ask": {"deadline": {"after": 600, "then": "reject"}}})
    asker, soon, late = alice(), timezone.now() + timedelta(seconds=60), timezone.now() + timedelta(days=1)
    first, second = ask(asker, deadline_at=soon), ask(asker, deadline_at=late)
    assert (first.deadline_at, second.deadline_at < late) == (soon, True)


def test_a_default_answers_only_where_the_rule_leaves_it():
    rule = {"name": "Soon", "match": {"kinds": ["question"]}, "then": "ask"}
    asker, found = alice(), []
    for then in ("reject", "default", "halt"):
        apply_policy(rule | {"ask": {"deadline": {"after": 600, "then": then}}})
        request = ask(asker, kind=Kind.QUESTION, default_response={"size": 1})
        found.append((request.has_default, request.default_response, request.control))
    assert found == [(False, None, None), (True, {"size": 1}, None), (False, None, None)]


def test_the_controls_of_tool_and_rule_together_are_the_stricter_one():
    asker = alice()
    apply_policy(four_eyes=True)
    assert ask(asker).control == "four_eyes"
    apply_policy({"name": "All", "then": "ask", "ask": {"with_requester": True}}, four_eyes=True)
    assert ask(asker).control is None


def test_a_change_changes_nothing_that_waits():
    apply_policy({"name": "All", "then": "ask", "ask": {"veto": True}})
    request = ask(alice())
    apply_policy({"name": "All", "then": "allow"})
    waiting = ApprovalRequest.objects.get(pk=request.pk)
    assert (ended(request), waiting.terms) == (("pending", "All", 1), {"veto": True})
    assert [rule.then for rule in rules_asked_under(waiting)] == ["ask"]
    actions.decide(request.pk, Answer(Verdict.REJECT), by=bob(), via=Door.DASHBOARD)
    assert ended(request) == ("rejected", "All", 1)


def test_while_everything_is_asked_nothing_is_allowed_but_it_is_still_denied():
    apply_policy(ALLOW, DENY)
    asker = alice()
    ask_about_everything(on=True, by=bob(), via=Door.DASHBOARD)
    assert [ended(each)[0] for each in (ask(asker), ask(asker, tool="wire"))] == ["pending", "rejected"]


def test_a_call_whose_deadline_has_passed_is_not_allowed():
    apply_policy(ALLOW)
    assert ended(ask(alice(), deadline_at=timezone.now() - timedelta(seconds=1)))[0] == "pending"


def test_a_denial_wins_over_a_grant_and_so_do_the_terms_of_a_rule():
    asker, decider = alice(), bob()
    give(decider, asker, terms())
    assert ended(ask(asker))[0] == "approved"
    apply_policy({"name": "All", "then": "ask", "ask": {"typed_name": True}})
    assert ended(ask(asker))[0] == "pending"
    apply_policy({"name": "All", "then": "ask"})
    assert ended(ask(asker))[0] == "approved"
    apply_policy({"name": "All", "then": "deny"})
    assert ended(ask(asker))[0] == "rejected"


def test_requests_of_other_kinds_and_critical_ones_are_asked():
    apply_policy({"name": "All", "then": "allow"})
    asker = alice()
    kept = [ask(asker, kind=Kind.QUESTION), ask(asker, kind=Kind.FORM), ask(asker, priority=Priority.CRITICAL)]
    assert [ended(each)[:2] for each in kept] == [("pending", None), ("pending", None), ("pending", "All")]


def test_a_condition_can_ask_for_the_teams_of_who_asks():
    asker = alice()
    apply_policy({"name": "Support", "when": '"support" in requester.teams', "then": "allow"})
    assert ended(ask(asker))[0] == "pending"
    asker.groups.create(name="support")
    assert ended(ask(asker))[0] == "approved"


def test_a_workflow_that_its_client_named_goes_on():
    apply_policy(ALLOW)
    asker = alice()
    ask(asker, workflow="run-1")
    waiting = ask(asker, {"amount": 900}, workflow="run-1")
    ask(asker, workflow="run-1")
    workflow = Workflow.objects.get()
    assert (workflow.state, workflow.open_count, workflow.requests.count()) == ("suspended", 1, 3)
    actions.decide(waiting.pk, Answer(Verdict.APPROVE), by=bob(), via=Door.DASHBOARD)
    workflow.refresh_from_db()
    assert (workflow.state, workflow.open_count) == ("running", 0)


def test_handlers_and_callbacks_hear_of_it_and_no_person_does(settings):
    settings.HITL_EVENT_HANDLERS = ["tests.approvals.actions.policy.test_judging.hear"]
    apply_policy(ALLOW)
    ask(alice(), callback_url="https://app.example.org/done")
    rows = OutboxEvent.objects.order_by("pk")
    assert [(row.name, row.channel, row.payload["status"], row.payload["via"]) for row in rows] == [
        ("request.created", "handler", "approved", "api"),
        ("request.decided", "handler", "approved", "rule"),
        ("request.decided", "webhook", "approved", "rule"),
    ]


def hear(_event: object) -> None:
    """Handle nothing: events are stored only if someone hears them."""


def test_an_automatic_outcome_takes_five_statements_at_most():
    asker = alice()
    apply_policy(DENY, ALLOW, {"name": "Rest", "then": "deny"})
    ask(asker)
    found = []
    for tool in ("refund", "wire", "other"):
        with CaptureQueriesContext(connection) as statements:
            ask(asker, tool=tool)
        found.append([query["sql"] for query in statements if "SAVEPOINT" not in query["sql"]])
    # PostgreSQL takes the workflow, the request and the decision together.
    expected = 3 if connection.vendor == "postgresql" else 5
    assert [len(each) for each in found] == [expected] * 3
