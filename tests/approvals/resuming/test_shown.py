"""The page of a request names the program that resumes its run, and open pages follow."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.access.standing import standing_of
from approvals.background import sweep
from approvals.db.pool import run
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, Resumption
from approvals.pages.pushes import assignee
from approvals.states import Door, Verdict
from tests.support.desk.requests import decide, make_request
from tests.support.lines import line
from tests.support.markup import parse
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db(transaction=True)


def approved(owner: User, approver: User) -> ApprovalRequest:
    request = make_request(owner)
    decide(request, approver, Verdict.APPROVE)
    return request


def take(request: ApprovalRequest, owner: User, worker: str = "worker-1"):
    return actions.take_resume(request.pk, by=owner, via=Door.REST, worker=worker, lease=timedelta(minutes=1))


def end_lease() -> None:
    Resumption.objects.update(leased_until=timezone.now() - timedelta(hours=1))
    sweep.free_lost_resumes()


def shown(html: str, request: ApprovalRequest) -> str:
    """The words about the run, without times."""
    sections = [one for one in parse(html).find("section") if one.attributes["id"] == f"resumption-{request.pk}"]
    return " | ".join(p.words for one in sections for p in one.find("p"))


def page(request: ApprovalRequest, user: User) -> str:
    client = Client()
    client.force_login(user)
    return shown(client.get(request.get_absolute_url()).content.decode(), request)


def test_the_page_tells_the_whole_story_of_a_resume():
    owner, approver = alice(), bob()
    request = approved(owner, approver)
    assert page(request, approver) == ""
    take(request, owner)
    assert page(request, approver).startswith("Being resumed by alice (worker-1), since")
    end_lease()
    alone = page(request, approver)
    assert alone.startswith(
        "Not resumed yet. A process can claim the lease. | The lease of alice (worker-1) expired 1 hour ago"
    )
    assert "What was approved may have run." in alone
    token = take(request, owner, "<b>worker-2</b>").token
    again = page(request, approver)
    assert again.startswith("Being resumed by alice (<b>worker-2</b>), since")
    assert "The lease of alice (worker-1) expired" in again
    actions.complete_resume(request.pk, token, by=owner, via=Door.REST)
    assert page(request, approver).startswith("Resumed by alice (<b>worker-2</b>)")


def test_the_page_says_that_a_resume_was_given_back():
    owner, approver = alice(), bob()
    request = approved(owner, approver)
    actions.release_resume(request.pk, take(request, owner).token, by=owner, via=Door.REST)
    assert page(request, owner) == "Not resumed: alice (worker-1) released the lease."


async def test_open_pages_of_those_who_may_see_the_request_follow():
    owner, approver, stranger = await run(alice), await run(bob), await run(mallory)
    request = await run(approved, owner, approver)
    async with line("/ws/desk/", approver) as theirs, line("/ws/desk/", stranger) as none:
        token = (await run(take, request, owner)).token
        assert shown(await theirs.until("Being resumed"), request).startswith("Being resumed by alice")
        await run(end_lease)
        assert "The lease of alice" in shown(await theirs.until("A process can claim the lease"), request)
        await run(lambda: actions.complete_resume(request.pk, token, by=owner, via=Door.REST))
        assert shown(await theirs.until("Resumed by"), request).startswith("Resumed by alice (worker-1)")
        assert await none.receive_nothing(0.3)


def test_a_page_that_was_away_catches_up():
    owner, approver = alice(), bob()
    request, before = approved(owner, approver), timezone.now()
    take(request, owner)
    missed = assignee.render_missed(standing_of(approver), before, limit=50)
    assert missed is not None
    assert shown(missed, request).startswith("Being resumed by alice (worker-1)")
    change = assignee.render_change(
        standing_of(approver), BatchCache(), "resume.taken", str(request.pk), None, Door.DASHBOARD
    )
    assert shown(change, request).startswith("Being resumed by alice (worker-1)")
