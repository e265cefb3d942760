"""Deep Agents: no sub-agent runs a named tool unasked, with the package as people install it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


def started(agent: Any, tmp_path: Any, mode: str) -> Any:
    agent.command += [str(tmp_path), mode]
    return agent.start()


def ran(folder: Any) -> list[str]:
    file = folder / "ran"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.shows("langchain", "agents")
def test_an_agent_whose_sub_agents_would_run_a_named_tool_unasked_does_not_begin(agent, tmp_path):
    found = told(started(agent, tmp_path, "without"))
    assert found["last"].startswith(
        "NotGated: The tool 'task' runs the agent 'general-purpose', whose calls of 'refund' would run unasked. "
    )
    assert ran(tmp_path) == []


def test_a_sub_agent_that_no_one_can_look_into_is_stopped_before_its_call_runs(agent, tmp_path):
    found = told(started(agent, tmp_path, "hidden"))
    assert found["last"].startswith("NotGated: The call of 'refund' was not run: an agent within a tool has made it, ")
    assert ran(tmp_path) == []


@pytest.mark.parametrize(("verdict", "effects"), [("approve", ["refund 4711 250"]), ("reject", [])])
def test_a_sub_agent_with_the_middleware_asks_about_its_calls(agent, tmp_path, verdict, effects):
    program = started(agent, tmp_path, "with")
    request = agent.waiting(1)["refund"]
    assert agent.whole(request)["input"] == {"order": "4711", "amount": 250}
    agent.decide(request, verdict)
    assert (told(program)["last"], ran(tmp_path)) == ("done", effects)
