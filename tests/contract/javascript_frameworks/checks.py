"""What each of these frameworks is checked for beside the cases that every adapter has to pass."""

from __future__ import annotations

from typing import Any

from tests.contract.frameworks.cases import CHANGED, HALTED, REFUND, Play
from tests.contract.frameworks.conftest import SOON, Agent, told
from tests.contract.javascript_client.conftest import put
from tests.contract.packages.building import JAVASCRIPT, run
from tests.support.processes.server import until
from tests.support.services import install_packages

CHECKED = ("--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck", "types.ts")

CHANGE = 'A person changed the input of this call to {"order":"4711","amount":99}. It ran with this input.'
DECLINED = "A person declined this call: Not on a Friday. Do not repeat it."


def check_decisions(agent: Agent) -> None:
    """Change, reject and answer the calls of one message, which ask at the same time."""
    process = agent.start()
    waiting = agent.waiting(3)
    agent.refuse_a_bad_edit(waiting["refund"])
    agent.decide(waiting["refund"], "edit", edited_input=CHANGED, comment="Only the shoes")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    found = told(process)
    words = f"{CHANGE} The person who approved it says: Only the shoes."
    assert (found["ran"], found["last"]) == ([["4711", 99]], "done")
    assert found["read"] == [f"{words}\n\nrefunded 99", DECLINED, "red"]
    assert agent.result(waiting["refund"]) == "refunded 99"


def check_undecided(agent: Agent) -> None:
    """Cancel, let expire and decline the calls of one message."""
    process = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"])
    agent.decide(waiting["Which colour?"], "reject", comment="Ask the customer")
    found = told(process)
    assert (found["ran"], found["read"]) == (
        [],
        [
            "This call was cancelled: The order is closed. Do not repeat it.",
            "No one decided in time, so this call was not run.",
            "A person declined to answer: Ask the customer.",
        ],
    )


def check_killed_while_asking(agent: Agent) -> None:
    """Kill the agent while it waits; started again, it finds its requests and their answers."""
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    second = agent.start()
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="blue")
    assert told(second)["ran"] == [["4711", 250]]


def halt(play: Play) -> tuple[str, str]:
    """Stop a run by the policy while a sibling of the call waits; return what its program prints, and its errors."""
    play.model([play.call("refund", HALTED), play.call("drop", {"table": "orders"})], [play.call("look", REFUND)])
    program = play.agent.start()
    play.waiting("drop")
    play.agent.let_expire(play.waiting("refund"))
    until(lambda: program.poll() is not None, "it has ended", SOON)
    assert play.effects() == []
    out, errors = program.communicate()
    assert "the policy stops the run now" in f"{out}{errors}"
    return out, errors


def run_first(agent: Agent, decide: Any) -> str:
    """Run the first program of a page, whose request has no thread, and return what it prints."""
    # Every waiting request of another test of this server has a thread.
    before = {item["id"] for item in agent.approver.send("GET", "/requests?status=pending").body["items"]}
    program = agent.start()

    def new() -> list[dict[str, Any]]:
        items = agent.approver.send("GET", "/requests?status=pending").body["items"]
        return [item for item in items if item["id"] not in before]

    (request,) = until(new, "it waits", SOON)
    assert agent.whole(request)["input"] == {"order": "4711", "amount": 120}
    decide(request)
    out, errors = program.communicate(timeout=SOON)
    assert program.returncode == 0, errors
    return str(out)


def check_first_program(agent: Agent) -> None:
    """Approve the call of the page's first program, and reject that of a second run."""
    assert run_first(agent, lambda request: agent.decide(request, "approve")) == "refunded 120\n"
    rejected = run_first(agent, lambda request: agent.decide(request, "reject", comment="Not on a Friday"))
    assert rejected == f"{DECLINED}\n"


def check_types(framework: Any) -> None:
    """Compile the program that uses the adapter with the framework's types."""
    install_packages(JAVASCRIPT)
    put(framework.installed / "types.ts", (framework.tests / "types.ts").read_text())
    run([str(JAVASCRIPT / "node_modules" / ".bin" / "tsc"), *CHECKED], framework.installed)
