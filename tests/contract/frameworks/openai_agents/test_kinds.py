"""OpenAI Agents SDK: people see the call that runs, for every kind of tool; unreadable calls are not asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks.conftest import SOON, told
from tests.support.processes.server import until

pytestmark = pytest.mark.server

#: The displayed calls, in the order of the program's requests.
SHOWN = [
    ("shell", {"commands": ["ls", "-a"], "timeout_ms": 50}),
    ("apply_patch", {"type": "update_file", "path": "a.txt", "diff": "+b"}),
    ("apply_patch", {"type": "delete_file", "path": "a.txt"}),
    ("sql", {"input": "DELETE FROM orders"}),
    ("bank.pay", {"amount": 5}),
    ("refund", {"order": "4711", "amount": 250}),
    ("crm.drop", {"table": "orders"}),
]
RAN = ["ls -a", "update a.txt +b", "delete a.txt", "DELETE FROM orders", "refund 4711 250", "drop orders"]


def start(agent, tmp_path, *more: str):
    agent.command[1:] = [str(Path(__file__).parent / "kinds.py"), agent.thread, str(tmp_path), *more]
    return agent.start()


def decide_all(agent, verdict: str, shown: list[Any]) -> list[dict[str, Any]]:
    """Decide one request after the other; return the displayed calls."""
    decided: list[dict[str, Any]] = []
    for tool, wanted in shown:

        def asked() -> list[dict[str, Any]]:
            assert agent.program.poll() is None, agent.program.communicate()
            return [agent.whole(one) for one in agent.every_waiting()]

        (request,) = until(asked, f"{tool} waits", SOON)
        assert (request["tool_name"], request["input"]) == (tool, wanted)
        agent.decide(request, verdict)
        decided.append(request)
    return decided


def ran(folder: Path) -> list[str]:
    file = folder / "ran"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.shows("openai-agents", "readable", "agents")
def test_people_are_shown_what_each_kind_of_call_would_run_and_its_result_is_recorded(agent, tmp_path):
    program = start(agent, tmp_path)
    requests = decide_all(agent, "approve", SHOWN)
    found = told(program)["found"]
    assert ran(tmp_path) == RAN
    results = [agent.whole(request)["result"] for request in requests]
    assert [(result["state"], result["error"] or result["output"]) for result in results] == [
        ("succeeded", "listed"),
        ("succeeded", ""),
        ("failed", "RuntimeError: It is in use."),
        ("succeeded", "1 row"),
        ("succeeded", "paid 5"),
        ("succeeded", "refunded 250"),
        ("succeeded", "dropped"),
    ]
    for name in ("broken", "doubled", "nan"):
        assert found[name][0].startswith("This call of 'refund' was not run, and no one was asked about it: "), found


def test_a_rejected_call_of_any_kind_does_not_run(agent, tmp_path):
    program = start(agent, tmp_path)
    decide_all(agent, "reject", SHOWN)
    told(program)
    assert ran(tmp_path) == []


def test_a_call_of_any_kind_whose_run_ended_in_an_error_does_not_run_again(agent, tmp_path):
    program = start(agent, tmp_path, "fail")
    requests = decide_all(agent, "approve", SHOWN)
    told(program)
    assert ran(tmp_path) == RAN
    unknown = "Unfinished: The run ended before the result of this call was known, so it may have run."
    assert [agent.whole(requests[place])["result"]["error"] for place in (0, 1, 2, 4)] == [unknown] * 4
    told(start(agent, tmp_path))
    assert ran(tmp_path) == RAN
