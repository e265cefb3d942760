"""What approver scopes cost an ask, in statements: none without scopes, three with them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import ApprovalRequest, ApproverScope
from tests.support.desk.scopes import make_scope
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


def cost(agent: Machine) -> int:
    with CaptureQueriesContext(connection) as statements:
        agent.ask(tool_name="refund")
    return len(statements)


def test_200_scopes_cost_an_ask_three_statements():
    agent, root = Machine(alice()), User.objects.create_superuser("root")
    agent.ask(tool_name="refund")
    without = cost(agent)
    make_scope(bob(), by=root, tools=["refund"])
    ApproverScope.objects.bulk_create(
        ApproverScope(name=f"Other {number}", match={"tools": [f"tool-{number}*"]}) for number in range(199)
    )
    agent.ask(tool_name="refund")  # The process reads the scopes once, and makes the scope set.
    assert cost(agent) == without + 3
    assert ApprovalRequest.objects.latest("created_at").scope_set_id is not None
