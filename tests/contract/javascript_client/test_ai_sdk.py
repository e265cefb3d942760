"""Agents of the AI SDK, in its oldest and newest versions, with the code of the how-to page."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import SOON, told

pytestmark = pytest.mark.server
#: npm installs 6 on Node 20; 7 is the newest, and the older ones are the first of theirs.
VERSIONS = ("5", "6", "7")
CHANGE = 'A person changed the input of this call to {"order":"4711","amount":99}.'


def denied(reason: str) -> dict[str, str]:
    return {"type": "execution-denied", "reason": reason}


def text(value: str) -> dict[str, str]:
    return {"type": "text", "value": value}


def unprefixed(read: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The model's input; version 7 puts the name of an error before its message."""
    return {name: output | {"value": output["value"].removeprefix("NotApproved: ")} for name, output in read.items()}


@pytest.mark.shows("ai-sdk-agents", "approve", "edit", "reject", "answer", "once")
@pytest.mark.parametrize("version", VERSIONS)
def test_gated_tools_run_what_was_approved_once_and_the_model_is_told_of_changes_and_words(ai_sdk, version):
    agent = ai_sdk("gate", version)
    process = agent.start()
    waiting = agent.waiting(3)
    refused = agent.try_to_decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": "lots"})
    assert (refused.status, refused.body["errors"]) == (422, {"edited_input.amount": "'lots' is not of type 'number'"})
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99}, comment="Only the shoes")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    found = told(process)
    words = f"{CHANGE} It ran with this input. The person who approved it says: Only the shoes."
    assert (found["ran"], found["last"], unprefixed(found["read"])) == (
        [["4711", 99]],
        "done",
        {
            "refund": text(f"{words}\n\nrefunded 99"),
            "drop": {"type": "error-text", "value": "A person declined this call: Not on a Friday. Do not repeat it."},
            "askHuman": text("red"),
        },
    )
    assert agent.result(waiting["refund"]) == "refunded 99"
    # Started again after its end, it finds the result, and makes no request.
    again = told(agent.start())
    assert (again["ran"], again["read"]) == ([], found["read"])


@pytest.mark.shows("ai-sdk-agents", "expire", "cancel")
@pytest.mark.parametrize("version", VERSIONS)
def test_gated_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(ai_sdk, version):
    agent = ai_sdk("gate", version)
    process = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"])
    agent.decide(waiting["Which colour?"], "reject", comment="Ask the customer")
    found = told(process)
    assert (found["ran"], [output["value"] for output in unprefixed(found["read"]).values()]) == (
        [],
        [
            "This call was cancelled: The order is closed. Do not repeat it.",
            "No one decided in time, so this call was not run.",
            "A person declined to answer: Ask the customer.",
        ],
    )


@pytest.mark.shows("ai-sdk-agents", "crash")
@pytest.mark.shows("javascript-client", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(ai_sdk):
    agent = ai_sdk("gate", "6")
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    second = agent.start()
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="blue")
    assert told(second)["ran"] == [["4711", 250]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.shows("ai-sdk-agents", "raises", "pauses")
def test_gated_tools_stream_and_a_failed_one_is_recorded_as_failed(ai_sdk, version):
    agent = ai_sdk("stream", version)
    process = agent.start()
    waiting = agent.waiting(2)
    agent.decide(waiting["refund"], "approve", comment="Be quick")
    agent.decide(waiting["pay"], "approve")
    found = told(process)
    note = "The person who approved it says: Be quick."
    assert found["outputs"] == ([] if version == "5" else [{"refunded": 0}, {"refunded": 250}]) + [{"refunded": 250}]
    assert (found["last"], found["read"]["refund"]) == ("done", text(f'{note}\n\n{{"refunded":250}}'))
    assert found["read"]["pay"]["value"].removeprefix("Error: ") == "the bank says no"
    results = [agent.whole(waiting[name])["result"] for name in ("refund", "pay")]
    assert [(result["state"], result["output"], result["error"]) for result in results] == [
        ("succeeded", {"refunded": 250}, None),
        ("failed", None, "Error: the bank says no"),
    ]


@pytest.mark.parametrize("version", ["5", "6"])
def test_tool_approval_refuses_to_start_with_a_version_that_would_ignore_it(ai_sdk, version):
    agent = ai_sdk("approval", version)
    out, errors = agent.start().communicate(timeout=SOON)
    assert (agent.program.returncode, '"ran"' in out, agent.every_waiting()) == (1, False, [])
    assert "The installed AI SDK has no toolApproval: it would ignore pausepoint(...) and run every tool" in errors


@pytest.mark.shows("ai-sdk-agents", "person")
def test_tool_approval_runs_what_was_approved_once_and_nothing_else(ai_sdk):
    agent = ai_sdk("approval")
    process = agent.start()
    # The SDK asks about one call after the other.
    refund = agent.waiting(1)["refund"]
    agent.decide(refund, "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(agent.waiting(1)["drop"], "reject", comment="Not on a Friday")
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="red")
    again = agent.waiting(1)["refund"]
    assert agent.whole(again)["input"] == {"order": "4711", "amount": 99}
    agent.decide(again, "approve")
    found = told(process)
    assert (found["ran"], found["last"]) == ([["4711", 99], ["4711", 99]], "done")
    assert found["read"] == [
        {
            "refund": denied(f"{CHANGE} It was not run. Make the call again with exactly this input."),
            "drop": denied("A person declined this call: Not on a Friday. Do not repeat it."),
            "askHuman": text("red"),
        },
        {"refund": text("refunded 99")},
        {"refund": text("refunded 99")},
    ]
    # The approvals of the repeated call and of the next one.
    assert found["reasons"][-2:] == ["API key remote of approver"] * 2
    assert (agent.result(refund), agent.result(again)) == ("refunded 99", "refunded 99")
    # Started again after its end, nothing runs that has run: only the call whose result belongs to another asks anew.
    second = agent.start()
    agent.decide(agent.waiting(1)["refund"], "reject")
    found = told(second)
    known = denied("This call has run already, and returned: refunded 99")
    assert (found["ran"], found["read"][0]["refund"], found["read"][2]["refund"]) == ([], known, known)


# The first version 5 takes no schema of zod that makes another value.
@pytest.mark.parametrize("version", ["6", "7"])
def test_a_call_that_people_cannot_be_shown_whole_is_refused_unasked_and_another_values_form_is_not_offered(
    ai_sdk, version
):
    agent = ai_sdk("whole", version)
    process = agent.start()
    (pay,) = agent.waiting(1).values()
    shown = agent.whole(pay)
    assert (shown["input"], shown["response_schema"]) == ({"euros": 500}, None)
    agent.decide(pay, "edit", edited_input={"euros": 4})
    found = told(process)
    read = {name: output["value"].removeprefix("TypeError: ") for name, output in found["read"].items()}
    assert read["tag"].startswith("`input.ids` is an instance of Set, which JSON does not carry whole, so nothing was")
    assert read["pay"].endswith("makes another value of its input, so the input cannot be changed.")
    assert (found["seen"], found["last"], agent.whole(pay)["result"]["state"]) == ([], "done", "failed")


def test_a_workflow_agent_never_asks_a_tool_approval_so_it_is_refused_and_gated_tools_ask(ai_sdk):
    agent = ai_sdk("workflow", "workflow")
    process = agent.start()
    agent.decide(agent.waiting(1)["refund"], "reject", comment="Not on a Friday")
    found = told(process)
    # As the agent's toolApproval: it runs the tool all the same.
    assert (found["asked"], found["ran"]) == (0, [["4711", 99]])
    assert found["refused"].startswith("The Workflow SDK is loaded here, and WorkflowAgent of @ai-sdk/workflow has no")
    assert found["read"]["value"] == "NotApproved: A person declined this call: Not on a Friday. Do not repeat it."
