"""The desk under real locks: the first wins, none waits forever, nothing is asked or decided twice."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from approvals import actions
from approvals.actions import AskOutcome, create_signing_secret, locking
from approvals.administration.keys.actions import create_key
from approvals.asking.asks import Ask
from approvals.asking.origins import Origin
from approvals.db.canonical_json import digest
from approvals.exceptions import AlreadyDecided, Conflict
from approvals.models import ApprovalRequest, AuditEntry, Decision, Workflow
from approvals.outbound import webhooks
from approvals.states import Door, Kind, Status, Verdict, WorkflowState
from tests.proofs.postgresql.racing import Act, failures, race
from tests.support.desk.requests import decide, make_request, make_workflow, waits
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def test_ending_a_workflow_and_deciding_its_requests_backwards_never_block_each_other():
    owner, decider = alice(), bob()
    for _ in range(10):
        workflow = make_workflow(owner)
        requests = [make_request(owner, workflow=workflow) for _ in range(12)]
        backwards = sorted(requests, key=lambda request: request.pk, reverse=True)

        def decide_all(backwards: list[ApprovalRequest] = backwards) -> list[Any]:
            found = []
            for request in backwards:
                try:
                    found.append(decide(request, decider, Verdict.APPROVE))
                except AlreadyDecided as refusal:
                    found.append(refusal)
            return found

        def close(workflow: Workflow = workflow) -> bool:
            return actions.close_workflow(workflow.pk, state=WorkflowState.CANCELLED, by=owner, via=Door.REST)

        ended, said = race(close, decide_all)
        assert (failures([ended, said]), ended) == ([], True)
        decisions = Decision.objects.filter(request__workflow=workflow)
        verdicts = Counter(decisions.values_list("verdict", flat=True))
        approved = sum(isinstance(one, actions.Outcome) for one in said)
        assert verdicts == +Counter(approve=approved, cancel=12 - approved)
        assert waits(workflow) == ("cancelled", 0, None, False)
        assert AuditEntry.objects.filter(run_id=workflow.key).count() == 24


def test_a_request_that_ends_while_a_statement_waits_for_it_is_recognized_as_torn():
    """PostgreSQL reads the locked rows again, but not the decision beside them."""
    request, decider = make_request(alice()), bob()

    def lock() -> tuple[str, bool]:
        with transaction.atomic():
            row = locking._locked_requests().get(pk=request.pk)
            return row.status, locking._is_torn(row)

    with transaction.atomic():
        decide(request, decider, Verdict.APPROVE)
        waiting = Act(lock).begun()
        waiting.until_it_waits()
    assert (waiting.ended(), lock()) == (("approved", True), ("approved", False))


def ask(
    owner: User, title: str, *, key: str | None = None, call: str | None = None, kind: Kind = Kind.APPROVAL
) -> AskOutcome:
    """Ask like a client, with a digest over the whole request."""
    origin = Origin(scope="key:1", digest=digest([title, kind.value]), idempotency_key=key)
    return actions.ask_for_client(Ask(kind=kind, title=title, tool_call_id=call), origin, by=owner)


@pytest.mark.parametrize("named", ["key", "call"])
def test_twenty_identical_asks_at_once_ask_once(named):
    owner = alice()
    for _ in range(5):
        name = {named: uuid4().hex}
        found = race(*([lambda name=name: ask(owner, "Pay?", **name)] * 20))
        assert failures(found) == []
        assert Counter(asked.replayed for asked in found) == {False: 1, True: 19}
        (request,) = {asked.request for asked in found}
        assert AuditEntry.objects.filter(request_id=request.pk).count() == 1
    # The loser has left nothing behind.
    assert (Workflow.objects.count(), ApprovalRequest.objects.count()) == (5, 5)


@pytest.mark.parametrize("named", ["key", "call"])
@pytest.mark.parametrize("kinds", [(Kind.APPROVAL, Kind.APPROVAL), (Kind.APPROVAL, Kind.QUESTION)])
def test_of_two_different_asks_under_one_name_at_once_one_is_asked_and_the_other_refused(named, kinds):
    owner = alice()
    for _ in range(10):
        name = {named: uuid4().hex}
        titles = ["Pay 5?", "Pay 500?"]
        works = [
            lambda t=title, k=kind, n=name: ask(owner, t, kind=k, **n)
            for title, kind in zip(titles, kinds, strict=True)
        ]
        found = race(*works * 10)
        assert failures(found, Conflict) == []
        asked = [one for one in found if isinstance(one, AskOutcome)]
        (request,) = {one.request for one in asked}
        assert (len(asked), {titles.index(one.request.title) for one in asked}) == (10, {titles.index(request.title)})
        assert sum(isinstance(one, Conflict) for one in found) == 10
    assert (Workflow.objects.count(), ApprovalRequest.objects.count()) == (10, 10)


def test_of_fifty_contrary_decisions_one_counts_and_forty_nine_are_told_whose():
    request = make_request(alice())
    people = [make_person(f"decider{place}", "decide_approvalrequest") for place in range(50)]
    verdicts = [Verdict.APPROVE, Verdict.REJECT] * 25
    works = [lambda p=p, v=v: decide(request, p, v) for p, v in zip(people, verdicts, strict=True)]
    found = race(*works)
    decision = Decision.objects.get()
    (winner,) = [place for place, one in enumerate(found) if isinstance(one, actions.Outcome)]
    assert (decision.by_id, decision.verdict) == (people[winner].pk, verdicts[winner].value)
    losers = found[:winner] + found[winner + 1 :]
    assert {(type(one), one.decision, f"just now by decider{winner}." in str(one)) for one in losers} == {
        (AlreadyDecided, decision, True)
    }
    request.refresh_from_db()
    assert request.status == (Status.APPROVED if verdicts[winner] == Verdict.APPROVE else Status.REJECTED)
    assert AuditEntry.objects.filter(request_id=request.pk, event="request.decided").count() == 1


def test_three_new_secrets_at_once_leave_two_that_sign_and_one_without_an_end():
    for name in ("ann", "ben", "cay"):
        key, _ = create_key(make_person(name), name="x")
        create_signing_secret(key)
        found = race(*([lambda key=key: create_signing_secret(key)] * 3))
        assert failures(found) == []
        assert len(set(webhooks.secrets_of(key)) & set(found)) == 2
        assert len(webhooks.secrets_of(key)) == 2
        assert key.webhook_secrets.filter(expires_at=None).count() == 1
