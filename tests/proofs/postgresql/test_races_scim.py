"""Calls of an identity provider at the same moment: none is lost, and a leaver decides nothing."""

from __future__ import annotations

import pytest
from django.db import transaction

from approvals import actions
from approvals.actions.locking import lock_known_workflow
from approvals.administration.people.actions import give_roles
from approvals.administration.people.queries import roles_of
from approvals.asking.answers import Answer
from approvals.exceptions import NotAllowed, NotAuthenticated, NotFound
from approvals.models import AuditEntry, Decision
from approvals.models.people import RoleName
from approvals.states import Door, Verdict
from tests.approvals.access.test_standing import OUT, in_a_browser
from tests.proofs.postgresql.racing import Act, failures, race
from tests.support.desk.requests import make_request, stored
from tests.support.desk.scim import Directory, administrator, map_group, user_of
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 30


@pytest.fixture
def directory() -> Directory:
    return Directory(administrator())


def member(person: dict[str, str], op: str = "Add") -> dict[str, object]:
    return {"op": op, "path": "members", "value": [{"value": person["id"]}]}


def test_two_changes_of_a_group_at_once_are_both_kept(directory):
    map_group("Approvers", RoleName.APPROVER)
    people = [directory.person(name) for name in ("ann", "ben")]
    group = directory.group("Approvers")
    for op, members, roles in [("Add", 2, ["approver"]), ("Remove", 0, [])] * ROUNDS:
        calls = [lambda each=each, op=op: directory.patch(group, member(each, op)).status for each in people]
        assert race(*calls) == [204, 204]
        assert len(directory.members(group)) == members
        assert [roles_of(user_of(each)) for each in people] == [roles, roles]


def test_of_two_changes_with_the_same_tag_one_is_refused(directory):
    ann = directory.person("ann")
    for number in range(ROUNDS):
        tag = directory.get(f"/Users/{ann['id']}").headers["etag"]
        changes = [{"op": "replace", "path": "displayName", "value": f"Ann {side}{number}"} for side in "xy"]
        calls = [lambda each=each, tag=tag: directory.patch(ann, each, if_match=tag).status for each in changes]
        assert sorted(race(*calls)) == [204, 412]


def test_of_two_creations_at_once_one_is_refused(directory):
    for number in range(ROUNDS):
        sent = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": f"ann{number}"}
        calls = [lambda sent=sent: directory.send("POST", "/Users", sent).status for _ in range(2)]
        assert sorted(race(*calls)) == [201, 409]


def test_a_leaver_is_gone_after_the_decision_that_they_had_begun(directory):
    actor, owner = in_a_browser(), alice()
    request, later = (make_request(owner, tool_name="pay") for _ in range(2))
    with transaction.atomic():
        lock_known_workflow(request.workflow_id)
        act = Act(lambda: actions.decide(request.pk, Answer(Verdict.APPROVE), by=actor, via=Door.REST)).begun()
        act.until_it_waits()
        leave = {"op": "replace", "path": "active", "value": False}
        left = Act(lambda: directory.patch({"id": f"p{actor.pk}"}, leave).status).begun()
        left.until_it_waits()
    assert (act.ended().decision.verdict, left.ended()) == (Verdict.APPROVE, 204)
    with pytest.raises(NotAuthenticated) as refusal:
        actions.decide(later.pk, Answer(Verdict.APPROVE), by=actor, via=Door.REST)
    assert refusal.value.code == OUT
    assert (stored(request).status, stored(later).status, Decision.objects.count()) == ("approved", "pending", 1)


def test_deactivation_and_decision_at_once_are_one_after_the_other(directory):
    owner = alice()
    for number in range(ROUNDS):
        ann = directory.person(f"ann{number}")
        give_roles(user_of(ann), [RoleName.APPROVER])
        request, person = make_request(owner, tool_name="pay"), user_of(ann)
        leave = {"op": "replace", "path": "active", "value": False}
        left, decided = race(
            lambda ann=ann, leave=leave: directory.patch(ann, leave).status,
            lambda request=request, person=person: actions.decide(
                request.pk, Answer(Verdict.APPROVE), by=person, via=Door.REST
            ),
        )
        assert failures([left, decided], NotAuthenticated, NotAllowed, NotFound) == []
        refused = isinstance(decided, Exception)
        assert (left, stored(request).status) == (204, "pending" if refused else "approved")
        entries = AuditEntry.objects.filter(request_id=request.pk, event="request.decided")
        assert entries.count() == (0 if refused else 1)
