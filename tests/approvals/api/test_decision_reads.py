"""A decision reads its request once under the lock, and a page reads it once before."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest
from approvals.pages import bulk, bulk_orders
from approvals.states import Verdict
from tests.support import people
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.machine import Machine

pytestmark = pytest.mark.django_db


def reads(work) -> list[str]:
    """The statements that read the row of a request."""
    with CaptureQueriesContext(connection) as found:
        work()
    statements = [query["sql"] for query in found.captured_queries]
    return [sql for sql in statements if '"approvals_approvalrequest"."input_digest"' in sql and "SELECT" in sql]


@pytest.mark.parametrize("headers", [{"HX-Request": "true"}, {}], ids=["htmx", "plain"])
def test_on_its_page(headers):
    request, client = make_request(people.alice()), browser(people.bob())
    form = {"verdict": "approve", "digest": request.input_digest}
    address = f"{request.get_absolute_url()}decide/"
    found = reads(lambda: client.post(address, form, headers=headers))
    request.refresh_from_db()
    assert (request.status, len(found)) == ("approved", 2)


def test_over_rest():
    asked, approver = Machine(people.alice()).ask(), Machine(people.bob())
    answers = []
    assert len(reads(lambda: answers.append(approver.decide(asked, "approve")))) == 1
    assert (answers[0].status, answers[0].body["status"], answers[0].body["decision"]["by"]) == (
        200,
        "approved",
        "API key a machine of bob",
    )


def test_a_repeat_over_rest_reads_once():
    asked, approver = Machine(people.alice()).ask(), Machine(people.bob())
    approver.decide(asked, "approve")
    answers = []
    assert len(reads(lambda: answers.append(approver.decide(asked, "approve")))) == 1
    assert (answers[0].status, answers[0].replayed) == (200, True)


def test_many_at_once_are_read_at_once_and_each_under_its_lock():
    owner, approver = people.alice(), people.bob()
    made = [make_request(owner) for _ in range(3)]
    order = bulk_orders.BulkDecision({one.pk: one.input_digest for one in made}, Verdict.APPROVE, "")
    viewer = standing_of(approver)
    assert len(reads(lambda: bulk.decide_all(approver, viewer, order))) == 1 + len(made)
    assert set(ApprovalRequest.objects.values_list("status", flat=True)) == {"approved"}
