"""Requests are claimed, released, taken over and assigned, on record, and decisions ignore all that."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.access.assignees import LAPSES, claimant, holder_for
from approvals.access.standing import standing_of
from approvals.background import sweep
from approvals.exceptions import AlreadyDecided, AssignedMeanwhile, CannotBeAssigned, Expired, NotAllowed, NotFound
from approvals.models import ApprovalRequest, AuditEntry, OutboxEvent
from approvals.states import Door, Kind, Status, Verdict
from tests.support.desk.requests import PAST, cancel, decide, events, make_request, stored
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def take(request: ApprovalRequest, by: User, over: str = "") -> ApprovalRequest:
    return actions.claim(request.pk, by=by, via=Door.DASHBOARD, over=over)


def give_back(request: ApprovalRequest, by: User) -> ApprovalRequest:
    return actions.release(request.pk, by=by, via=Door.DASHBOARD)


def hand(request: ApprovalRequest, by: User, to: User | None, instead_of: str = "") -> ApprovalRequest:
    return actions.assign(request.pk, by=by, via=Door.DASHBOARD, to=to, instead_of=instead_of)


def dora() -> User:
    """Another decider."""
    return make_person("dora", "decide_approvalrequest")


def on_it(request: ApprovalRequest) -> tuple[int | None, str]:
    found = stored(request)
    return claimant(found, timezone.now()), found.claimed_name


def record(request: ApprovalRequest) -> list[tuple[str, str, dict[str, object]]]:
    """The entries of a request after its creation: event, actor and data."""
    entries = AuditEntry.objects.filter(request_id=request.pk).exclude(event="request.created").order_by("id")
    return [(entry.event, entry.actor_name, entry.data) for entry in entries]


def let_lapse(request: ApprovalRequest) -> None:
    ApprovalRequest.objects.filter(pk=request.pk).update(claimed_at=timezone.now() - LAPSES)


def test_a_request_is_claimed_and_released():
    request, by = make_request(alice()), bob()
    take(request, by)
    assert on_it(request) == (by.pk, "bob")
    give_back(request, by)
    assert on_it(request) == (None, "")
    assert record(request) == [
        ("request.claimed", "bob", {"over": None}),
        ("request.released", "bob", {"of": "bob"}),
    ]


def test_taking_over_a_claim_needs_the_name_of_its_holder():
    request, by, other = make_request(alice()), bob(), dora()
    take(request, by)
    with pytest.raises(
        AssignedMeanwhile, match=r"^This request is assigned to bob\. To take over, assign it to yourself\.$"
    ) as refused:
        take(request, other)
    assert refused.value.members() == {"claimed_by": "bob", "assigned_to": None}
    take(request, other, over="bob")
    assert on_it(request) == (other.pk, "dora")
    assert record(request)[-1] == ("request.claimed", "dora", {"over": "bob"})


def test_of_two_take_overs_one_wins_and_the_other_is_refused_with_the_name():
    request, by, other, third = make_request(alice()), bob(), dora(), make_person("emil", "decide_approvalrequest")
    take(request, by)
    take(request, other, over="bob")
    with pytest.raises(AssignedMeanwhile, match="assigned to dora"):
        take(request, third, over="bob")
    assert on_it(request) == (other.pk, "dora")


def test_claiming_again_prolongs_the_claim_and_records_nothing():
    request, by = make_request(alice()), bob()
    take(request, by)
    ApprovalRequest.objects.filter(pk=request.pk).update(claimed_at=timezone.now() - LAPSES + timedelta(minutes=1))
    before = stored(request).claimed_at
    take(request, by)
    assert stored(request).claimed_at > before
    assert events(request) == ["request.created", "request.claimed"]


def test_only_its_holder_releases_a_claim_and_releasing_none_changes_nothing():
    request, by, other = make_request(alice()), bob(), dora()
    give_back(request, other)
    assert events(request) == ["request.created"]
    take(request, by)
    with pytest.raises(AssignedMeanwhile, match="only they can unassign it"):
        give_back(request, other)
    assert on_it(request) == (by.pk, "bob")


def test_a_claim_lapses_and_the_sweep_records_it_once():
    request, by, other = make_request(alice()), bob(), dora()
    take(request, by)
    let_lapse(request)
    assert holder_for(standing_of(other), stored(request)).name == ""
    sweep.free_lapsed_requests()
    sweep.free_lapsed_requests()
    assert stored(request).claimed_by is None
    assert record(request)[1:] == [("request.released", "", {"of": "bob"})]
    take(request, other)
    assert on_it(request) == (other.pk, "dora")


def test_the_sweep_leaves_a_valid_claim_alone():
    request, by = make_request(alice()), bob()
    take(request, by)
    sweep.free_lapsed_requests()
    assert on_it(request) == (by.pk, "bob")
    assert not actions.free_lapsed(request.pk)
    assert not actions.free_lapsed(uuid4())


def test_a_claim_prevents_neither_decisions_nor_the_deadline():
    owner, by, other = alice(), bob(), dora()
    decided, overdue = make_request(owner), make_request(owner, deadline_at=PAST)
    take(decided, by)
    assert decide(decided, other, Verdict.APPROVE).decision.by_name == "dora"
    ApprovalRequest.objects.filter(pk=overdue.pk).update(claimed_by=by, claimed_name="bob", claimed_at=timezone.now())
    assert actions.expire(overdue.pk)
    assert (stored(decided).status, stored(overdue).status) == (Status.APPROVED, Status.EXPIRED)


@pytest.mark.parametrize("act", [take, give_back, lambda request, by: hand(request, by, by)])
def test_an_ended_request_cannot_be_claimed_or_assigned(act):
    owner, by, other = alice(), bob(), dora()
    decided, withdrawn, overdue = make_request(owner), make_request(owner), make_request(owner, deadline_at=PAST)
    decide(decided, other, Verdict.REJECT)
    cancel(withdrawn, owner)
    with pytest.raises(AlreadyDecided, match="This request was rejected just now by dora"):
        act(decided, by)
    with pytest.raises(AlreadyDecided, match="This request was cancelled just now by alice"):
        act(withdrawn, by)
    with pytest.raises(Expired):
        act(overdue, by)
    assert stored(overdue).status == Status.EXPIRED
    assert [events(one)[-1] for one in (decided, withdrawn, overdue)] == [
        "request.decided",
        "request.cancelled",
        "request.expired",
    ]


def test_only_those_who_may_decide_claim_and_assign():
    owner = alice()
    request, question = make_request(owner), make_request(owner, Kind.QUESTION, allow_text=True, input={})
    for act in (take, give_back, lambda request, by: hand(request, by, by)):
        with pytest.raises(NotFound):
            act(request, User.objects.filter(username="mallory").first() or mallory())
        for person in (owner, User.objects.filter(username="carol").first() or carol()):
            with pytest.raises(NotAllowed):
                act(request, person)
    take(question, owner)
    assert on_it(question) == (owner.pk, "alice")
    assert events(request) == ["request.created"]


def test_the_assignee_of_a_question_sees_and_answers_it_and_the_previous_one_no_more():
    request, by, first, second = make_request(alice(), Kind.QUESTION), bob(), mallory(), make_person("nina")
    hand(request, by, first)
    hand(request, first, second, instead_of="mallory")
    with pytest.raises(NotFound):
        decide(request, first, Verdict.RESPOND, answer="M")
    assert decide(request, second, Verdict.RESPOND, answer="M").decision.by_name == "nina"
    assert record(request)[:2] == [
        ("request.assigned", "bob", {"to": "mallory", "from": None}),
        ("request.assigned", "mallory", {"to": "nina", "from": "mallory"}),
    ]


def test_of_two_assignments_that_saw_the_same_assignee_one_wins():
    request, by, other, to = make_request(alice(), Kind.QUESTION), bob(), dora(), mallory()
    hand(request, by, to)
    with pytest.raises(
        AssignedMeanwhile, match=r"^The assignee has changed: this request is now assigned to mallory\.$"
    ):
        hand(request, other, make_person("nina"))
    hand(request, by, None, instead_of="mallory")
    with pytest.raises(AssignedMeanwhile, match="now unassigned"):
        hand(request, other, make_person("olga"), instead_of="mallory")
    assert stored(request).assigned_to is None
    assert record(request)[-1] == ("request.assigned", "bob", {"to": None, "from": "mallory"})


def test_assigning_to_the_assignee_changes_nothing():
    request, by, to = make_request(alice()), bob(), dora()
    hand(request, by, to)
    hand(request, by, to)
    assert events(request) == ["request.created", "request.assigned"]


def test_assigning_ends_the_claim_of_anybody_but_the_new_assignee():
    owner, by, other = alice(), bob(), dora()
    away, stays = make_request(owner), make_request(owner)
    for request in (away, stays):
        take(request, by)
    hand(away, other, other)
    hand(stays, other, by)
    assert (on_it(away)[1], on_it(stays)[1]) == ("", "bob")


def test_an_assignment_does_not_let_the_requester_approve():
    owner, by = alice(), bob()
    request, question, own = make_request(owner), make_request(owner, Kind.QUESTION, allow_text=True), make_request(by)
    with pytest.raises(CannotBeAssigned):
        hand(request, by, owner)
    hand(question, by, owner)
    hand(own, by, by)
    assert [stored(one).assigned_to for one in (request, question, own)] == [None, owner, by]


def test_nothing_is_assigned_to_inactive_users():
    request, by, gone = make_request(alice(), Kind.QUESTION), bob(), make_person("gone")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    gone.refresh_from_db()
    with pytest.raises(CannotBeAssigned) as refused:
        hand(request, by, gone)
    assert refused.value.errors == {"to": "no one with that name can answer this request"}


def test_a_new_assignee_gets_a_mail_unless_they_assigned_it_themselves(settings):
    settings.HITL_MAIL = True
    owner, by, to = alice(), bob(), dora()
    User.objects.update(email="somebody@example.org")
    for person in (by, to):
        person.refresh_from_db()
    theirs, own = make_request(owner), make_request(owner)
    hand(theirs, by, to)
    hand(own, by, by)
    (told,) = OutboxEvent.objects.all()
    assert (told.name, told.channel, told.target) == ("request.assigned", "mail", f"mail:{to.pk}")
    assert told.payload["request_id"] == str(theirs.pk)
