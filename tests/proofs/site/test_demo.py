"""The demo's two weeks of history: what somebody finds who looks around for ten minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, AuditEntry, Decision, Grant
from approvals.queries.insights.figures import insights_for
from approvals.states import Door, Kind, Priority, Status, Verdict
from hitlsite.demo.people import COLLEAGUES, PASSWORD, PEOPLE, TOUR

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(settings, tmp_path):
    settings.DEBUG = True
    settings.MEDIA_ROOT = tmp_path
    call_command("seed_demo", "--with-history", stdout=(tmp_path / "said.txt").open("w"))


def page(who: str, address: str) -> str:
    client = Client()
    client.force_login(User.objects.get(username=who))
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_the_demo_shows_what_waits_what_was_decided_and_what_runs_without_asking(desk):
    waiting = ApprovalRequest.objects.filter(status=Status.PENDING)
    assert sorted(waiting.values_list("tool_name", flat=True)) == [
        "", "", "Bash", "Edit", "dropTable", "issueRefund", "issueVoucher", "payInvoice", "publishPost", "refundOrder",
        "sendEmail", "sendPayment",
    ]  # fmt: skip
    assert {each.kind for each in waiting} == {Kind.APPROVAL, Kind.QUESTION, Kind.FORM}
    assert waiting.get(tool_name="dropTable").priority == Priority.CRITICAL
    assert waiting.get(tool_name="issueVoucher").deadline_at > timezone.now()
    assert [file["media_type"] for file in waiting.get(tool_name="payInvoice").attachments] == [
        "application/pdf",
        "image/png",
    ]
    assert "1 of 2, Security missing" in page("security", "/?tool=sendPayment")
    assert "@finance" in page("finance", f"/requests/{waiting.get(tool_name='refundOrder').pk}/")

    grant = Grant.objects.get()
    assert (grant.used, grant.ended_at, grant.until > timezone.now()) == (3, None, True)
    assert sorted(Decision.objects.filter(via=Door.RULE).values_list("verdict", flat=True)) == [
        Verdict.APPROVE,
        Verdict.REJECT,
    ]
    policy = page("admin", "/settings/policy/")
    assert [name in policy for name in ("Large payments need", "Reading needs no approval", "No agent deletes")] == [
        True
    ] * 3
    assert "approved unchanged 24 of 24 times in 60 days, by 2 people" in policy


def test_the_demos_people_decide_like_people(desk):
    now = timezone.now()
    figures = insights_for(standing_of(User.objects.get(username="auditor")), days=30, now=now)
    assert len(figures.people.measures) == 3
    assert 60 <= figures.total.median <= 600
    assert figures.total.hasty < 0.1 * figures.total.readable
    times = list(AuditEntry.objects.order_by("pk").values_list("at", flat=True))
    assert times == sorted(times)
    assert timedelta(days=13) < now - times[0] < timedelta(days=15)
    call_command("audit", "check", verbosity=0)


def test_each_step_of_the_tour_logs_in_and_arrives(desk):
    for way in TOUR:
        client = Client()
        form = {"username": way.username, "password": PASSWORD, "next": way.address}
        answer = client.post("/login/", form)
        assert (answer.status_code, answer.headers["location"]) == (302, way.address)
        assert client.get(way.address).status_code == 200


def test_a_second_start_adds_nothing(desk, tmp_path):
    before = ApprovalRequest.objects.count()
    call_command("seed_demo", "--with-history", stdout=(tmp_path / "again.txt").open("w"))
    assert ApprovalRequest.objects.count() == before
    listed = (tmp_path / "again.txt").read_text()
    assert [each.username in listed for each in (*PEOPLE, *COLLEAGUES)] == [True] * 7
