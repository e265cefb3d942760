"""Runs of sub-agents: their full path, and the streams of their resumption."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest
from chats.models import ToolCall
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.front_end import FrontEnd, front_end, runs, shown

pytestmark = pytest.mark.django_db(transaction=True)

YES = {"approved": True}


@pytest.fixture
def page() -> FrontEnd:
    return front_end(people.bob())


@pytest.fixture
def boss(settings, page) -> FrontEnd:
    settings.HITL_AGENTS = [agents.BOSS]
    return page


@pytest.mark.parametrize("spelling", ["cashier.sendPayment", ["cashier", "sendPayment"], [["cashier", "sendPayment"]]])
def test_a_nested_payment_is_approved_by_its_full_path(page, spelling):
    run = page.paused("approve nested payment")
    assert run["stepPath"] == [["cashier", "sendPayment"]]
    details = {"amount": 5000, "recipient": "ACME Ltd", "type": "transfer"}
    assert run["suspendPayload"]["transactionDetails"] == details
    refused = page.resume(run | {"stepPath": ["sendPayment"]}, YES, stream=False)
    assert (refused.status, ApprovalRequest.objects.get().status) == (422, "pending")
    (text,) = shown(page.resume(run | {"stepPath": spelling}, YES))
    assert text.startswith("The cashier says: The payment to ACME Ltd: status sent")
    assert sorted(ToolCall.objects.values_list("name", "attempt")) == [("cashier", 1), ("sendPayment", 1)]


def test_three_levels_down_the_path_names_every_step(boss):
    run = boss.paused("let the clerk pay Ann")
    assert run["stepPath"] == [["clerk", "accountant", "pay"]]
    assert shown(boss.resume(run, YES)) == ["Done. The accountant says: paid 5, to Ann"]


def test_two_parallel_runs_are_each_sent_once(boss):
    first, second = runs(boss.say("both"))
    assert sorted([first["stepPath"], second["stepPath"]]) == [
        [["accountant", "pay"]],
        [["clerk", "accountant", "pay"]],
    ]
    assert shown(boss.resume(first, YES)) == []
    (text,) = shown(boss.resume(second, YES))
    assert (text.startswith("Both. "), boss.open_runs()) == (True, [])


def test_runs_of_sub_agents_are_listed_after_a_reload(boss):
    run = boss.paused("let the clerk ask")
    assert boss.open_runs("thread-1") == [run["runId"]]
