"""Confirm and four eyes: the controls of a tool limit its deciders further."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals import actions
from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import create_key
from approvals.administration.tools.actions import store_tool_settings
from approvals.asking.answers import Answer
from approvals.exceptions import CannotBeAssigned, NotAllowed, Refusal
from approvals.models import ApprovalRequest
from approvals.models.actors import KeyActor
from approvals.states import Door, Kind, Priority, Verdict
from tests.support.desk.requests import decide, make_request, make_workflow, stored
from tests.support.desk.scopes import again, make_scope, people_allowed, people_found
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

SETTINGS = {"key_fields": [], "reason_required": False, "min_priority": "", "prepared_answers": []}


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


def controlled(control: str, root: User, owner: User, kind: Kind = Kind.APPROVAL, **changes: object) -> ApprovalRequest:
    """A new request of a tool with this control."""
    store_tool_settings("refund", SETTINGS | {"control": control}, by=root)
    return make_request(owner, kind, tool_name="refund", **changes)


@pytest.mark.parametrize("door", list(Door))
def test_with_four_eyes_the_person_who_runs_the_agent_decides_through_no_door(root, door):
    both = make_person("hal", "decide_approvalrequest")
    request = controlled("four_eyes", root, both)
    key = KeyActor(both, create_key(both, name="ci", scopes=SCOPES)[0])
    for by in (both, key):
        with pytest.raises(NotAllowed, match="two-person rule"):
            actions.decide(request.pk, Answer(Verdict.APPROVE), by=by, via=door)
    decide(request, bob(), Verdict.APPROVE)
    assert stored(request).status == "approved"


def test_with_four_eyes_not_even_a_superuser_decides_their_own(root):
    request = controlled("four_eyes", root, root)
    with pytest.raises(NotAllowed, match="two-person rule"):
        decide(request, root, Verdict.APPROVE)


def test_with_four_eyes_the_owner_of_the_work_decides_nothing_that_someone_else_asked_in_it(root):
    owner = make_person("hal", "decide_approvalrequest")
    store_tool_settings("refund", SETTINGS | {"control": "four_eyes"}, by=root)
    request = make_request(alice(), tool_name="refund", workflow=make_workflow(owner))
    with pytest.raises(NotAllowed, match="two-person rule"):
        decide(request, owner, Verdict.APPROVE)


def test_with_four_eyes_an_approval_is_not_assigned_to_the_person_who_runs_the_agent(root):
    both = make_person("hal", "decide_approvalrequest")
    request = controlled("four_eyes", root, both)
    with pytest.raises(CannotBeAssigned):
        actions.assign(request.pk, by=bob(), via=Door.DASHBOARD, to=both)


def test_with_four_eyes_the_person_who_runs_the_agent_still_answers_its_questions_and_cancels(root):
    owner = alice()
    question = controlled("four_eyes", root, owner, Kind.QUESTION)
    approval = controlled("four_eyes", root, owner)
    decide(question, owner, Verdict.RESPOND, answer={"text": "Yes"})
    actions.cancel(approval.pk, by=owner, via=Door.DASHBOARD)
    assert (stored(question).status, stored(approval).status) == ("answered", "cancelled")


def test_with_confirm_the_person_who_runs_the_agent_approves_without_the_right_to_decide(root):
    owner = alice()
    request = controlled("confirm", root, owner)
    decide(request, owner, Verdict.APPROVE)
    assert stored(request).status == "approved"


def test_confirm_is_for_no_one_else_and_for_no_key(root):
    owner = alice()
    request = controlled("confirm", root, owner)
    key = KeyActor(owner, create_key(owner, name="ci", scopes=SCOPES)[0])
    outcomes = []
    for by in (make_person("mallory"), key):
        with pytest.raises(Refusal) as refusal:
            actions.decide(request.pk, Answer(Verdict.APPROVE), by=by, via=Door.REST)
        outcomes.append(refusal.value.code)
    assert outcomes == ["not_found", "asked_by_own_key"]


def test_confirm_opens_no_recovery_and_no_critical_request_elsewhere_than_on_the_pages(root):
    owner = alice()
    recovery = controlled("confirm", root, owner, Kind.RECOVERY)
    with pytest.raises(NotAllowed):
        actions.decide(recovery.pk, Answer(Verdict.REJECT), by=owner, via=Door.DASHBOARD)
    critical = controlled("confirm", root, owner, priority=Priority.CRITICAL)
    with pytest.raises(Refusal) as refusal:
        actions.decide(critical.pk, Answer(Verdict.APPROVE), by=owner, via=Door.AI_SDK)
    assert refusal.value.code == "decide_on_page"


def test_a_control_counts_for_requests_that_are_made_after_it(root):
    both = make_person("hal", "decide_approvalrequest")
    earlier = make_request(both, tool_name="refund")
    controlled("four_eyes", root, both)
    decide(earlier, both, Verdict.APPROVE)
    assert stored(earlier).status == "approved"


@pytest.mark.parametrize("kind", [Kind.APPROVAL, Kind.RECOVERY])
@pytest.mark.parametrize("control", ["", "confirm", "four_eyes"])
def test_the_deciders_of_a_request_are_those_whom_the_rights_name(root, control, kind):
    people = [make_person("hal", "decide_approvalrequest"), alice(), bob(), root]
    make_scope(people[0], by=root)
    for owner in people:
        request = controlled(control, root, owner, kind)
        assert people_found(request) == people_allowed(request)


def test_with_confirm_the_person_who_runs_the_agent_is_among_the_deciders_of_its_approvals_alone(root):
    owner = alice()
    bob()
    deciders = [people_found(controlled("confirm", root, owner, kind))[1] for kind in (Kind.APPROVAL, Kind.RECOVERY)]
    assert deciders == [{"alice", "bob", "root"}, {"bob", "root"}]


def test_with_confirm_the_person_who_runs_the_agent_also_changes_the_input_that_scopes_leave_to_others(root):
    owner = alice()
    make_scope(bob(), by=root, limit=100)
    request = controlled("confirm", root, owner, input={"amount": 50})
    decide(request, again(owner), Verdict.EDIT, edited_input={"amount": 70})
    assert (stored(request).status, stored(request).decision.edited_input) == ("approved", {"amount": 70})
