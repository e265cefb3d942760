"""An answer of an AI SDK client reads its request once, under its lock, in the process that asked."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import ApprovalRequest
from approvals.states import Door
from chats import actions
from tests.support import people
from tests.support.machines import Client, machine

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_approval_reads_its_request_once():
    owner = people.bob()
    client = Client(machine(owner))
    client.say("approve refund")
    (part,) = client.calls()
    approval = {"id": part["approval"]["id"], "approved": True}
    answered = [part | {"state": "approval-responded", "approval": approval}]
    with CaptureQueriesContext(connection) as found:
        actions.take_answers(client.chat, client.last["id"], answered, by=owner, via=Door.AI_SDK)
    statements = [query["sql"] for query in found.captured_queries]
    decided = next(place for place, sql in enumerate(statements) if 'INSERT INTO "approvals_decision"' in sql)
    reads = [
        sql for sql in statements[:decided] if "SELECT" in sql and '"approvals_approvalrequest"."input_digest"' in sql
    ]
    assert ['FROM "chats_toolcall"' in sql for sql in reads] == [False]
    # The resumed turn reads no request.
    rest = [sql for sql in statements[decided:] if 'FROM "approvals_approvalrequest"' in sql]
    assert [sql for sql in rest if '"approvals_approvalrequest"."input_digest"' in sql] == []
    assert ApprovalRequest.objects.get().status == "approved"
