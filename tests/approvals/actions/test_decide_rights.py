"""The rights to decide and cancel, and when they are checked."""

from __future__ import annotations

from uuid import uuid4

import pytest

from approvals import actions, queries
from approvals.access import permissions
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided, NotAllowed, NotFound
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict
from tests.approvals.actions.test_decide import refused
from tests.support.desk.requests import cancel, decide, decisions, make_request, stored
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def test_every_action_refuses_absent_and_invisible_requests_alike():
    hers, stranger = make_request(alice()).pk, mallory()
    found = []
    for request_id in (hers, uuid4()):
        who = {"by": stranger, "via": Door.DASHBOARD}
        found.append(refused(NotFound, actions.decide, request_id, Answer(Verdict.APPROVE), **who))
        found.append(refused(NotFound, actions.cancel, request_id, **who))
        found.append(refused(NotFound, queries.get_request_for, standing_of(stranger), request_id))
    assert {(str(refusal), refusal.code, refusal.status) for refusal in found} == {
        ("Request not found. It may not exist, or you may not have access.", "not_found", 404)
    }
    assert actions.expire(uuid4()) is False


YES, NO = "yes", NotAllowed
#: Role, kind, the outcome of deciding, the outcome of cancelling (docs/reference/permissions.md).
RIGHTS = [
    ("owner", Kind.APPROVAL, NO, YES),
    ("owner", Kind.RECOVERY, NO, YES),
    ("owner", Kind.QUESTION, YES, YES),
    ("owner", Kind.FORM, YES, YES),
    ("owner and assignee", Kind.APPROVAL, NO, YES),
    ("owner and assignee", Kind.RECOVERY, NO, YES),
    ("assignee", Kind.APPROVAL, NO, NO),
    ("assignee", Kind.RECOVERY, NO, NO),
    ("assignee", Kind.QUESTION, YES, NO),
    ("assignee", Kind.FORM, YES, NO),
    ("decider", Kind.APPROVAL, YES, YES),
    ("decider", Kind.RECOVERY, YES, YES),
    ("decider", Kind.QUESTION, YES, YES),
    ("decider", Kind.FORM, YES, YES),
    ("auditor", Kind.APPROVAL, NO, NO),
    ("auditor", Kind.RECOVERY, NO, NO),
    ("auditor", Kind.QUESTION, NO, NO),
    ("auditor", Kind.FORM, NO, NO),
]


@pytest.mark.parametrize(("who", "kind", "deciding", "withdrawing"), RIGHTS)
def test_each_person_may_do_what_the_table_says_and_nothing_once_deactivated(who, kind, deciding, withdrawing):
    people = {"owner": alice(), "assignee": make_person("dora"), "decider": bob(), "auditor": carol()}
    one, two, three = (make_request(people["owner"], kind) for _ in range(3))
    if who == "owner and assignee":
        people[who] = people["assignee"] = people["owner"]
    # Old rows may have an assignee without the right to decide.
    ApprovalRequest.objects.update(assigned_to=people["assignee"])
    person = people[who]
    assert queries.get_request_for(standing_of(person), one.pk) == one
    for act, right in (
        (lambda: decide(one, person, Verdict.REJECT), deciding),
        (lambda: cancel(two, person), withdrawing),
    ):
        if right == YES:
            assert act().decision.by_name == person.username
        else:
            refused(right, act)
    assert (len(decisions(one)), len(decisions(two))) == (deciding == YES, withdrawing == YES)
    person.is_active = False
    person.save()
    for act in (lambda: decide(three, person, Verdict.REJECT), lambda: cancel(three, person)):
        refused(NotFound, act)
    standing = standing_of(person)
    assert not any(may(standing, three) for may in (permissions.may_see, permissions.may_close))
    assert (list(queries.requests_for(standing)), list(queries.workflows_for(standing))) == ([], [])


def test_a_right_that_is_taken_away_after_the_request_was_read_counts():
    dora = make_person("dora")
    request = make_request(alice(), Kind.QUESTION, assigned_to=dora)
    assert queries.get_request_for(standing_of(dora), request.pk) == request
    actions.assign(request.pk, by=bob(), via=Door.DASHBOARD, to=None, instead_of="dora")
    answer = Answer(Verdict.RESPOND, answer="Yes")
    refused(NotFound, actions.decide, request.pk, answer, by=dora, via=Door.DASHBOARD)
    assert (stored(request).status, decisions(request)) == ("pending", [])


def test_a_decision_that_was_made_after_the_request_was_read_wins():
    request, decider = make_request(alice()), bob()
    assert queries.get_request_for(standing_of(decider), request.pk).pending
    first = decide(request, make_person("dora", "decide_approvalrequest"), Verdict.REJECT).decision
    late = {"by": decider, "via": Door.DASHBOARD}
    assert refused(AlreadyDecided, actions.decide, request.pk, Answer(Verdict.APPROVE), **late).decision == first
    assert decisions(request) == [first]
