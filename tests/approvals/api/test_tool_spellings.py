"""However a program or a model writes the name of a tool, over whichever endpoint, the settings of the tool hold."""

from __future__ import annotations

import pytest

from approvals.administration.tools.actions import store_tool_settings
from approvals.api.mcp import calls
from approvals.models import ApprovalRequest
from approvals.states import Control, Priority
from tests.approvals.api.mcp.agent import Agent
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE
from tests.support.desk.ruling import administrator
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)

HELD = (Priority.CRITICAL, Control.FOUR_EYES, ["iban"])


def held(request: ApprovalRequest) -> tuple[str, str | None, list[str]]:
    return request.priority, request.control, request.secrets


@pytest.fixture
def strict():
    settings = {"min_priority": "critical", "control": Control.FOUR_EYES, "secret_fields": ["iban"]}
    store_tool_settings("wire", settings, by=administrator())


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("tool", ["Wire", "WIRE"])
def test_over_rest_and_the_hooks_of_coding_agents(tool):
    agent = Machine(alice())
    asked = agent.ask(APPROVAL, tool_name=tool, input={"iban": "DE02"})
    agent.post(f"{CLAUDE_CODE}?wait=0", BASH | {"tool_name": tool, "tool_input": {"iban": "DE02"}})
    assert [held(request) for request in ApprovalRequest.objects.all()] == [HELD, HELD]
    assert asked["tool_name"] == tool
    listed = agent.get(f"/requests?tool={tool.lower()}").body["items"]
    assert [each["tool_name"] for each in listed] == [tool, tool]


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("tool", ["Wire", "WIRE"])
def test_over_mcp_where_the_model_writes_the_name(monkeypatch, tool):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)
    agent = Agent(alice())
    agent.call("request_approval", {"action": tool, "input": {"iban": "DE02"}})
    agent.call("permission", {"tool_name": tool, "input": {"iban": "DE02"}, "tool_use_id": "toolu_1"})
    assert [held(request) for request in ApprovalRequest.objects.all()] == [HELD, HELD]
