"""A grant that is used up between the reading of the facts and the write comes back as a fact; nothing was stored."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import transaction

from approvals.actions.asking import open_workflow
from approvals.actions.asks.facts import AskFacts, read_facts
from approvals.actions.asks.outcome import outcome_of
from approvals.actions.asks.writes import GrantLost, write
from approvals.asking.origins import Identity
from approvals.models import ApprovalRequest, AuditEntry, Grant, Workflow
from approvals.states import CLIENT, Width
from tests.approvals.actions.policy.granting import approve, ask, call, give, terms
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def facts_of_a_call(asker) -> AskFacts:
    workflow = open_workflow(
        scope="key:1", key="run-2", title="?", source=CLIENT, owner=asker, agent="billing", new=True
    )
    return read_facts(workflow, call(), Identity(), by=asker, key_made_by_id=None, alone=False)


def stored() -> tuple[int, int, int]:
    return ApprovalRequest.objects.count(), Workflow.objects.count(), AuditEntry.objects.count()


def test_a_lost_grant_leaves_nothing_behind_and_the_request_then_waits():
    asker = alice()
    give(bob(), asker, terms(uses=1))
    with transaction.atomic():
        facts = facts_of_a_call(asker)
        assert ask(asker).status == "approved"
        before = stored()
        lost = write(facts, outcome_of(facts))
        assert (lost, stored()) == (GrantLost(facts.policy.grants[0]), before)
        without = replace(facts, policy=facts.policy.without(lost.grant))
        request = write(without, outcome_of(without))
    request.refresh_from_db()
    assert (request.status, request.workflow.open_count, request.workflow.state) == ("pending", 1, "suspended")
    assert Grant.objects.get().used == 1


def test_the_next_grant_is_used_in_place_of_a_lost_one():
    asker, decider = alice(), bob()
    # Before there is a grant that covers them, both wait.
    exact, any_input = ask(asker), ask(asker, agent="billing")
    approve(exact, decider, terms(uses=1))
    approve(any_input, decider, terms(Width.TOOL, uses=1))
    with transaction.atomic():
        facts = facts_of_a_call(asker)
        assert ask(asker).status == "approved"
        lost = write(facts, outcome_of(facts))
        assert lost == GrantLost(Grant.objects.get(width=Width.INPUT))
        without = replace(facts, policy=facts.policy.without(lost.grant))
        request = write(without, outcome_of(without))
    assert (request.status, request.decision.grant) == ("approved", Grant.objects.get(width=Width.TOOL))
