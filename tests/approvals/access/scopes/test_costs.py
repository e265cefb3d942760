"""The cost of approver scopes for an ask, in statements: none without scopes, one or two with them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import ApprovalRequest, ApproverScope
from tests.support.desk.scopes import make_scope
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def cost(agent: Machine) -> int:
    with CaptureQueriesContext(connection) as statements:
        agent.ask(tool_name="refund")
    return len(statements)


@pytest.mark.parametrize("refuses", [False, True])
def test_200_scopes_cost_an_ask_two_statements(settings, refuses):
    settings.HITL_REFUSE_UNDECIDABLE = refuses
    agent, root = Machine(alice()), User.objects.create_superuser("root")
    agent.ask(tool_name="refund")
    without = cost(agent)
    make_scope(bob(), by=root, tools=["refund"])
    ApproverScope.objects.bulk_create(
        ApproverScope(name=f"Other {number}", match={"tools": [f"tool-{number}*"]}) for number in range(199)
    )
    agent.ask(tool_name="refund")  # The process reads the scopes once, and makes the scope set.
    assert cost(agent) == without + 2
    assert ApprovalRequest.objects.latest("created_at").scope_set_id is not None


def test_scopes_that_do_not_fit_cost_an_ask_one_statement():
    agent, root = Machine(alice()), User.objects.create_superuser("root")
    agent.ask(tool_name="refund")
    without = cost(agent)
    make_scope(bob(), by=root, tools=["payroll"])
    make_person("frank", "decide_approvalrequest", "ignore_scopes")
    agent.ask(tool_name="refund")
    assert cost(agent) == without + 1
    request = ApprovalRequest.objects.latest("created_at")
    assert (request.scope_set_id, request.scoped_upto) == (None, ApproverScope.objects.get().pk)
