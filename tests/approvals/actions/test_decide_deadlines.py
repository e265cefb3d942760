"""Ends without a decision of a person: a deadline, a cancellation by code, a late result."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import actions, queries
from approvals.access import permissions
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.background import sweep
from approvals.exceptions import AlreadyDecided, Expired, Invalid
from approvals.models import ApprovalRequest, Decision
from approvals.states import Door, Kind, Verdict
from tests.support.desk.requests import FUTURE, PAST, cancel, decide, decisions, events, make_request, stored, waits
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

TOO_LATE = "This request expired at 2026-01-01 12:00:00 UTC and can no longer be decided."


def test_deciding_after_the_deadline_records_the_expiry_and_is_refused():
    request, decider = make_request(alice(), deadline_at=PAST), bob()
    for _ in range(2):
        with pytest.raises(Expired) as refusal:
            decide(request, decider, Verdict.APPROVE)
        assert (str(refusal.value), refusal.value.decision) == (TOO_LATE, Decision.objects.get())
    (found,) = decisions(request)
    assert (stored(request).status, found.verdict, found.via) == ("expired", "expire", "deadline")
    assert (found.by_id, found.by_name, found.answer, found.approved_digest) == (None, "", None, "")
    assert events(request) == ["request.created", "request.expired"]
    assert waits(request.workflow) == ("running", 0, None, False)


def test_the_expiry_stays_if_an_outer_transaction_catches_the_refusal():
    request = make_request(alice(), deadline_at=PAST)
    with transaction.atomic(), pytest.raises(Expired):
        decide(request, bob(), Verdict.APPROVE)
    assert (stored(request).status, [d.verdict for d in decisions(request)]) == ("expired", ["expire"])


def test_an_overdue_request_cannot_be_cancelled_and_its_default_is_the_answer():
    owner = alice()
    given = {"deadline_at": PAST, "default_response": "M"}
    withdrawn, stopped = make_request(owner, Kind.QUESTION, **given), make_request(owner, Kind.QUESTION, **given)
    for _ in range(2):
        with pytest.raises(Expired, match="This request expired"):
            actions.cancel(withdrawn.pk, by=owner, via=Door.REST)
    assert actions.cancel_requests([stopped.pk], by=owner, via=Door.STOP, comment="stopped") == 1
    for request in (withdrawn, stopped):
        (found,) = decisions(request)
        assert (stored(request).status, found.verdict, found.answer) == ("expired", "expire", "M")


def test_a_future_deadline_prevents_no_decision():
    request = make_request(alice(), deadline_at=FUTURE)
    assert actions.expire(request.pk) is False
    assert decide(request, bob(), Verdict.APPROVE).decision.verdict == "approve"


def test_a_request_without_a_deadline_never_expires():
    request = make_request(alice())
    assert actions.expire(request.pk) is False
    assert stored(request).status == "pending"


def test_expiring_ends_a_request_once():
    request = make_request(alice(), deadline_at=PAST)
    assert [actions.expire(request.pk), actions.expire(request.pk)] == [True, False]
    assert events(request) == ["request.created", "request.expired"]


@pytest.mark.parametrize("default", ["", None, "yes", {"blue": [1]}])
def test_the_default_response_is_the_answer_at_the_deadline_even_if_empty(default):
    request = make_request(alice(), Kind.QUESTION, deadline_at=PAST, default_response=default)
    assert (stored(request).has_default, stored(request).default_response) == (True, default)
    assert actions.expire(request.pk) is True
    assert [(d.verdict, d.answer) for d in decisions(request)] == [("expire", default)]


def test_without_a_default_response_there_is_none():
    request = make_request(alice(), Kind.QUESTION, deadline_at=PAST)
    assert stored(request).has_default is False
    actions.expire(request.pk)
    assert [(d.verdict, d.answer) for d in decisions(request)] == [("expire", None)]


def test_the_sweep_expires_overdue_requests_only():
    owner = alice()
    due = [
        make_request(owner, deadline_at=PAST),
        make_request(owner, deadline_at=timezone.now() - timedelta(seconds=1)),
    ]
    others = [make_request(owner, deadline_at=FUTURE), make_request(owner)]
    sweep.expire_due_requests()
    assert [stored(request).status for request in due + others] == ["expired", "expired", "pending", "pending"]


def test_many_requests_expire_in_few_transactions():
    owner = alice()
    for _ in range(2 * sweep.EXPIRED_AT_ONCE + 1):
        make_request(owner, deadline_at=PAST)
    with CaptureQueriesContext(connection) as captured:
        sweep.expire_due_requests()
    transactions = [query["sql"] for query in captured if query["sql"].startswith("SAVEPOINT")]
    assert (len(transactions), ApprovalRequest.objects.filter(status="expired").count()) == (3, 41)


def test_a_request_that_cannot_be_expired_does_not_keep_the_others(caplog):
    owner = alice()
    requests = [make_request(owner, deadline_at=PAST) for _ in range(3)]
    Decision.objects.create(request=requests[1], verdict="reject", via=Door.SYSTEM, decided_at=timezone.now())
    sweep.expire_due_requests()
    assert [stored(request).status for request in requests] == ["expired", "pending", "expired"]
    assert [record.message for record in caplog.records] == [
        f"Request {requests[1].pk} could not be expired; it will be tried again"
    ]


def test_cancelling_again_is_refused_and_names_who_cancelled():
    request = make_request(owner := alice())
    assert cancel(request, owner, "Not needed.").replayed is False
    (found,) = decisions(request)
    assert (stored(request).status, found.verdict, found.by_name, found.comment) == (
        "cancelled",
        "cancel",
        "alice",
        "Not needed.",
    )
    with pytest.raises(AlreadyDecided) as refusal:
        cancel(request, owner, "Not needed.")
    assert refusal.value.decision == found
    assert events(request) == ["request.created", "request.cancelled"]


@pytest.mark.parametrize("by_owner", [True, False])
def test_cancel_requests_ends_waiting_requests_only(by_owner):
    owner, decider = alice(), bob()
    asked = [make_request(owner) for _ in range(3)]
    decide(asked[1], decider, Verdict.REJECT)
    actions.cancel_requests([r.pk for r in asked], by=owner if by_owner else None, via=Door.STOP, comment="Stopped.")
    assert [stored(request).status for request in asked] == ["cancelled", "rejected", "cancelled"]
    assert [(d.verdict, d.by_name, d.via, d.comment) for d in decisions(asked[0])] == [
        ("cancel", "alice" if by_owner else "", "stop", "Stopped.")
    ]
    assert events(asked[1]) == ["request.created", "request.decided"]


def test_settle_ends_a_recovery_with_its_answer_and_names_nobody():
    request = make_request(alice(), Kind.RECOVERY)
    for _ in range(2):
        actions.settle(request.pk, Answer(Verdict.RESPOND, comment="It came late.", answer={"ok": True}))
    assert [(d.verdict, d.by_id, d.via, d.comment, d.answer) for d in decisions(request)] == [
        ("respond", None, "system", "It came late.", {"ok": True})
    ]
    assert (stored(request).status, events(request)) == ("answered", ["request.created", "request.decided"])


def test_anonymous_users_see_nothing():
    nobody, request = standing_of(AnonymousUser()), make_request(alice())
    assert (list(queries.requests_for(nobody)), list(queries.workflows_for(nobody))) == ([], [])
    assert [may(nobody, request) for may in (permissions.may_see, permissions.may_answer, permissions.may_close)] == [
        False
    ] * 3
    assert permissions.may_decide(nobody, request) is False
    assert permissions.may_cancel(nobody, request) is False


def test_an_invalid_answer_after_the_deadline_expires_the_request_too():
    request = make_request(alice(), deadline_at=PAST)
    with pytest.raises(Expired):
        decide(request, bob(), Verdict.RESPOND, answer="no answer to an approval")
    assert stored(request).status == "expired"


def test_an_invalid_answer_to_a_request_that_was_read_before_hears_that_the_deadline_has_passed():
    request, by = make_request(alice(), deadline_at=PAST), bob()
    answer = Answer(Verdict.RESPOND, answer="no answer to an approval")
    seen = actions.EarlyFacts(stored(request), standing_of(by))
    with pytest.raises(Expired):
        actions.decide(request.pk, answer, by=by, via=Door.DASHBOARD, seen=seen)
    assert stored(request).status == "expired"


def test_an_invalid_answer_before_the_deadline_is_refused():
    request = make_request(alice(), deadline_at=FUTURE)
    with pytest.raises(Invalid):
        decide(request, bob(), Verdict.RESPOND, answer="no answer to an approval")
    assert stored(request).status == "pending"
