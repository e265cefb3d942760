"""Four eyes: who asks for something does not get to approve it by naming themselves."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest, Workflow
from tests.support.machine import APPROVAL, QUESTION, Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_nobody_is_assigned_what_they_ask_for_themselves_and_may_not_decide():
    asker, approver = alice(), bob()
    refused = Machine(asker).post("/requests", APPROVAL | {"assigned_to": asker.username})
    assert (refused.refusal, refused.body["errors"]) == (
        (422, "invalid"),
        {"assigned_to": "asks for it and may not decide it"},
    )
    assert (ApprovalRequest.objects.count(), Workflow.objects.count()) == (0, 0)
    assert Machine(asker).post("/requests", QUESTION | {"assigned_to": asker.username}).status == 201
    assert Machine(approver).post("/requests", APPROVAL | {"assigned_to": approver.username}).status == 201
