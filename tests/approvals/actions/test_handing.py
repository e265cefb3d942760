"""Who is at a request: taken, given back, taken over, handed over; on record, and never in the way of a decision."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.access.assignees import LAPSES, claimant, holder_for
from approvals.background import sweep
from approvals.exceptions import AlreadyDecided, CannotBeAssigned, Expired, NotAllowed, NotFound, Taken
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
    """Another one who decides."""
    return make_person("dora", "decide_approvalrequest")


def on_it(request: ApprovalRequest) -> tuple[int | None, str]:
    found = stored(request)
    return claimant(found, timezone.now()), found.claimed_name


def record(request: ApprovalRequest) -> list[tuple[str, str, dict[str, object]]]:
    """What the log says of a request after it was asked: event, who, and what."""
    entries = AuditEntry.objects.filter(request_id=request.pk).exclude(event="request.created").order_by("id")
    return [(entry.event, entry.actor_name, entry.data) for entry in entries]


def let_lapse(request: ApprovalRequest) -> None:
    ApprovalRequest.objects.filter(pk=request.pk).update(claimed_at=timezone.now() - LAPSES)


def test_bob_takes_a_request_and_gives_it_back():
    request, by = make_request(alice()), bob()
    take(request, by)
    assert on_it(request) == (by.pk, "bob")
    give_back(request, by)
    assert on_it(request) == (None, "")
    assert record(request) == [
        ("request.claimed", "bob", {"over": None}),
        ("request.released", "bob", {"of": "bob"}),
    ]


def test_what_bob_has_taken_dora_takes_over_only_if_she_says_from_whom():
    request, by, other = make_request(alice()), bob(), dora()
    take(request, by)
    with pytest.raises(
        Taken, match=r"^This request is assigned to bob\. To take over, assign it to yourself\.$"
    ) as refused:
        take(request, other)
    assert refused.value.members() == {"claimed_by": "bob", "assigned_to": None}
    take(request, other, over="bob")
    assert on_it(request) == (other.pk, "dora")
    assert record(request)[-1] == ("request.claimed", "dora", {"over": "bob"})


def test_of_two_who_take_over_from_bob_one_wins_and_the_other_hears_who():
    request, by, other, third = make_request(alice()), bob(), dora(), make_person("emil", "decide_approvalrequest")
    take(request, by)
    take(request, other, over="bob")
    with pytest.raises(Taken, match="assigned to dora"):
        take(request, third, over="bob")
    assert on_it(request) == (other.pk, "dora")


def test_taking_what_one_has_keeps_it_longer_and_is_no_news():
    request, by = make_request(alice()), bob()
    take(request, by)
    ApprovalRequest.objects.filter(pk=request.pk).update(claimed_at=timezone.now() - LAPSES + timedelta(minutes=1))
    before = stored(request).claimed_at
    take(request, by)
    assert stored(request).claimed_at > before
    assert events(request) == ["request.created", "request.claimed"]


def test_what_nobody_has_can_be_given_back_without_harm_and_what_bob_has_only_by_bob():
    request, by, other = make_request(alice()), bob(), dora()
    give_back(request, other)
    assert events(request) == ["request.created"]
    take(request, by)
    with pytest.raises(Taken, match="only they can unassign it"):
        give_back(request, other)
    assert on_it(request) == (by.pk, "bob")


def test_a_claim_lapses_by_itself_and_the_sweep_puts_that_on_record_once():
    request, by, other = make_request(alice()), bob(), dora()
    take(request, by)
    let_lapse(request)
    assert holder_for(other, stored(request)).name == ""
    sweep.free_lapsed_requests()
    sweep.free_lapsed_requests()
    assert stored(request).claimed_by is None
    assert record(request)[1:] == [("request.released", "", {"of": "bob"})]
    take(request, other)
    assert on_it(request) == (other.pk, "dora")


def test_a_claim_that_still_stands_is_left_alone_by_the_sweep():
    request, by = make_request(alice()), bob()
    take(request, by)
    sweep.free_lapsed_requests()
    assert on_it(request) == (by.pk, "bob")
    assert not actions.free_lapsed(request.pk)
    assert not actions.free_lapsed(uuid4())


def test_a_claim_keeps_nobody_from_deciding_and_no_deadline_from_passing():
    owner, by, other = alice(), bob(), dora()
    decided, overdue = make_request(owner), make_request(owner, deadline_at=PAST)
    take(decided, by)
    assert decide(decided, other, Verdict.APPROVE).decision.by_name == "dora"
    ApprovalRequest.objects.filter(pk=overdue.pk).update(claimed_by=by, claimed_name="bob", claimed_at=timezone.now())
    assert actions.expire(overdue.pk)
    assert (stored(decided).status, stored(overdue).status) == (Status.APPROVED, Status.EXPIRED)


@pytest.mark.parametrize("act", [take, give_back, lambda request, by: hand(request, by, by)])
def test_what_has_ended_is_taken_and_handed_over_no_more(act):
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


def test_taking_and_handing_over_is_for_who_may_decide():
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


def test_who_is_handed_a_question_sees_and_answers_it_and_who_had_it_before_no_more():
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


def test_of_two_who_hand_it_over_at_once_one_wins():
    request, by, other, to = make_request(alice(), Kind.QUESTION), bob(), dora(), mallory()
    hand(request, by, to)
    with pytest.raises(Taken, match=r"^The assignee has changed: this request is now assigned to mallory\.$"):
        hand(request, other, make_person("nina"))
    hand(request, by, None, instead_of="mallory")
    with pytest.raises(Taken, match="now unassigned"):
        hand(request, other, make_person("olga"), instead_of="mallory")
    assert stored(request).assigned_to is None
    assert record(request)[-1] == ("request.assigned", "bob", {"to": None, "from": "mallory"})


def test_handing_it_to_who_has_it_changes_nothing():
    request, by, to = make_request(alice()), bob(), dora()
    hand(request, by, to)
    hand(request, by, to)
    assert events(request) == ["request.created", "request.assigned"]


def test_handing_over_what_somebody_else_is_at_takes_them_off_and_leaves_the_assignee():
    owner, by, other = alice(), bob(), dora()
    away, stays = make_request(owner), make_request(owner)
    for request in (away, stays):
        take(request, by)
    hand(away, other, other)
    hand(stays, other, by)
    assert (on_it(away)[1], on_it(stays)[1]) == ("", "bob")


def test_nobody_gets_to_approve_what_they_asked_for_by_being_handed_it():
    owner, by = alice(), bob()
    request, question, own = make_request(owner), make_request(owner, Kind.QUESTION, allow_text=True), make_request(by)
    with pytest.raises(CannotBeAssigned):
        hand(request, by, owner)
    hand(question, by, owner)
    hand(own, by, by)
    assert [stored(one).assigned_to for one in (request, question, own)] == [None, owner, by]


def test_nothing_is_handed_to_who_is_not_active():
    request, by, gone = make_request(alice(), Kind.QUESTION), bob(), make_person("gone")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    gone.refresh_from_db()
    with pytest.raises(CannotBeAssigned) as refused:
        hand(request, by, gone)
    assert refused.value.errors == {"to": "is not the name of a user who can answer this request"}


def test_who_is_handed_a_request_is_told_by_mail_and_who_hands_it_to_themselves_is_not(settings):
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
