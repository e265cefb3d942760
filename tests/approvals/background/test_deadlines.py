"""Deadlines: each request expires once and on time, and later decisions get a 410."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.background import sweep
from approvals.exceptions import Expired, Invalid
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import Kind, Verdict
from tests.support.desk.requests import PAST, decide, decisions, events, make_ask, make_request, make_workflow, stored
from tests.support.people import alice, bob
from tests.support.services import real_processes  # noqa: F401

MONTHS = timedelta(days=90)


def the_clock_moves_on(by: timedelta) -> None:
    """Time passes for all deadlines."""
    for request in ApprovalRequest.objects.filter(deadline_at__isnull=False):
        ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=request.deadline_at - by)


@pytest.mark.django_db
def test_an_approval_takes_no_default_because_its_only_default_is_rejection():
    workflow = make_workflow(alice())
    with pytest.raises(Invalid) as refusal:
        actions.request_approval(workflow, make_ask(default_response="yes"), requested_by=workflow.owner)
    assert (refusal.value.status, refusal.value.errors) == (
        422,
        {"default_response": "is not allowed for an approval, which is rejected at the deadline"},
    )


@pytest.mark.django_db
def test_a_deadline_may_be_far_away_and_never_comes_early():
    deadline = timezone.now() + MONTHS
    request = make_request(alice(), Kind.QUESTION, deadline_at=deadline, default_response="red")
    the_clock_moves_on(MONTHS - timedelta(hours=1))
    sweep.run_once()
    assert stored(request).status == "pending"
    the_clock_moves_on(timedelta(hours=1, seconds=1))
    sweep.run_once()
    (decision,) = decisions(request)
    assert (stored(request).status, decision.answer, decision.by_id, decision.via) == (
        "expired",
        "red",
        None,
        "deadline",
    )


@pytest.mark.django_db
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_the_latest_deadline_is_shown_in_every_time_zone_and_a_later_one_is_refused(settings, zone):
    settings.TIME_ZONE = zone
    owner, latest = alice(), datetime(9000, 12, 31, 23, 59, 59, tzinfo=UTC)
    request = make_request(owner, deadline_at=latest)
    browser = Client()
    browser.force_login(owner)
    for path in (request.get_absolute_url(), request.workflow.get_absolute_url(), "/requests/", "/workflows/"):
        assert (path, browser.get(path).status_code) == (path, 200)
    with pytest.raises(Invalid) as refusal:
        make_request(owner, deadline_at=latest + timedelta(seconds=1))
    assert refusal.value.errors == {"deadline": "is too far away; leave it out for a request that never expires"}


@pytest.mark.django_db
def test_a_late_answer_gets_410_on_the_page_and_changes_nothing():
    request, decider = make_request(alice(), Kind.QUESTION, deadline_at=PAST, default_response="red"), bob()
    browser = Client()
    browser.force_login(decider)
    for _ in range(2):
        late = browser.post(
            f"/requests/{request.pk}/decide/", {"verdict": "respond", "text": "blue", "digest": request.input_digest}
        )
        assert late.status_code == 410
    with pytest.raises(Expired):
        decide(request, decider, Verdict.RESPOND, answer="blue")
    assert ([d.answer for d in decisions(request)], events(request)) == (
        ["red"],
        ["request.created", "request.expired"],
    )


@pytest.mark.django_db(transaction=True)
def test_concurrent_sweeps_expire_each_request_once():
    owner = alice()
    asked = [make_request(owner, deadline_at=PAST) for _ in range(sweep.BATCH + 20)]
    together = threading.Barrier(4)

    def look() -> None:
        together.wait(60)
        try:
            sweep.expire_due_requests()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        for looked in [pool.submit(look) for _ in range(4)]:
            looked.result(180)
    expired = AuditEntry.objects.filter(event="request.expired").values_list("request_id", flat=True)
    assert sorted(expired) == sorted(request.pk for request in asked)


@pytest.mark.django_db
def test_one_round_of_the_sweep_expires_all_due_requests():
    owner = alice()
    asked = [make_request(owner, deadline_at=PAST) for _ in range(sweep.BATCH + 20)]
    sweep.expire_due_requests()
    assert [stored(request).status for request in asked] == ["expired"] * len(asked)
