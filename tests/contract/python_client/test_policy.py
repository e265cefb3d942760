"""The Python client and the command with a real server that has a policy: rules, votes, absences and advice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from pausepoint import Desk, Outcome
from pausepoint.approve import Halted

from tests.contract.python_client.test_against_a_server import BOTH, in_a_thread, the_one
from tests.contract.python_client.test_command import ended, run, started, waiting
from tests.support.machine import Remote
from tests.support.processes import policies
from tests.support.processes.policies import ALLOW, DENY, HALT, TWO, ruled_tool
from tests.support.processes.server import Server
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.fixture(scope="module")
def agent(server: Server) -> Remote:
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="module")
def deciders(server: Server) -> list[Remote]:
    return [Remote(server, name, ("decide", "read")) for name in ("approver", "admin")]


@pytest.fixture
def away(server: Server) -> Iterator[None]:
    """The approver is away, and the administrator decides for them."""
    policies.send_away(server, "approver", "admin")
    yield
    policies.send_back(server)


@BOTH
@pytest.mark.shows("python-client", "allowed", "denied")
@pytest.mark.parametrize(("rule", "status", "comment"), [(ALLOW, "approved", ""), (DENY, "rejected", "Ask finance.")])
def test_a_rule_answers_at_once(server, agent, carried, rule, status, comment):
    asked = {"tool_name": ruled_tool(server, rule), "input": {"amount": 5}}
    outcome: Outcome = carried(server.address, agent.key, "await_human", "Pay?", **asked)
    assert (outcome.status, outcome.by, outcome.comment, outcome.edited) == (status, None, comment, False)
    assert outcome.input == ({"amount": 5} if rule is ALLOW else None)


@pytest.mark.shows("python-client", "halted")
def test_a_function_whose_run_has_to_stop_raises_halted_and_does_not_run(server, agent):
    tool, thread = ruled_tool(server, HALT), str(uuid.uuid4())

    def raised() -> Exception | None:
        with Desk(server.address, agent.key) as desk:
            gated = desk.approve(tool, thread_id=thread)(pay)
            try:
                gated(amount=5)
            except Halted as halted:
                return halted
        return None

    waited = in_a_thread(raised)
    policies.pass_deadline(server, the_one(agent, thread)["id"])
    error = waited()
    assert isinstance(error, Halted)
    assert (error.outcome.status, error.outcome.halted, error.outcome.approved) == ("expired", True, False)


def pay(amount: int) -> None:
    pytest.fail("It ran.")


@BOTH
@pytest.mark.shows("python-client", "progress", "vote")
def test_a_decision_is_a_vote_and_says_how_far_it_is(server, agent, deciders, carried):
    request = agent.ask(tool_name=ruled_tool(server, TWO))
    first, second = deciders
    voted: Outcome = carried(server.address, first.key, "decide", request["id"], "approve", comment="Paid before.")
    assert (voted.status, voted.approved, voted.input) == ("pending", False, None)
    assert (progress(voted), voted.votes["cast"][0]["comment"]) == ("1 of 2, admin missing", "Paid before.")
    assert carried(server.address, agent.key, "get", request["id"])["votes"] == voted.votes
    assert carried(server.address, second.key, "decide", request["id"], "approve").approved


def progress(outcome: Outcome) -> Any:
    assert outcome.votes is not None
    return outcome.votes["progress"]


@BOTH
@pytest.mark.shows("python-client", "delegate")
def test_a_delegate_votes_for_who_is_away(server, agent, deciders, carried, away):
    request = agent.ask(
        tool_name=ruled_tool(server, TWO | {"ask": {"stages": [{"groups": [{"people": ["approver"]}]}]}})
    )
    outcome: Outcome = carried(server.address, deciders[1].key, "decide", request["id"], "approve")
    assert (outcome.status, outcome.by, outcome.document["decision"]["decided_for"]) == (
        "approved",
        "API key remote of admin",
        "approver",
    )


@pytest.mark.shows("command", "allowed", "denied")
def test_a_shell_is_told_at_once_what_a_rule_allows_and_denies(server, agent):
    asked = ("ask", "Pay?", "--input", '{"amount": 5}', "--tool")
    code, allowed, _ = run(agent, *asked, ruled_tool(server, ALLOW))
    assert (code, json.loads(allowed)) == (0, {"amount": 5})
    code, out, errors = run(agent, *asked, ruled_tool(server, DENY))
    assert (code, out, errors.splitlines()[-1]) == (1, "", "rejected: Ask finance.")


@pytest.mark.shows("command", "halted")
def test_a_shell_is_told_that_the_run_has_to_stop(server, agent):
    title = f"Pay, {uuid.uuid4()}?"
    asking = started(agent, "ask", title, "--tool", ruled_tool(server, HALT))
    policies.pass_deadline(server, waiting(agent, title))
    code, out, errors = ended(asking)
    assert (code, out, errors.splitlines()[-1]) == (4, "", "expired: the policy stops the run")


@pytest.mark.shows("command", "progress", "vote", "delegate")
def test_votes_from_a_shell_say_how_far_it_is_and_a_delegate_votes(server, agent, deciders, away):
    title = f"Pay, {uuid.uuid4()}?"
    request = agent.ask(title=title, tool_name=ruled_tool(server, TWO))["id"]
    # The administrator sits in both groups now: their own seat, and that of an absent person.
    told = run(deciders[1], "approve", request)
    assert told == (0, f"{title}: pending, your vote is counted: 1 of 2, approver missing", "")
    policies.send_back(server)
    assert run(deciders[0], "approve", request) == (0, f"{title}: approved", "")
