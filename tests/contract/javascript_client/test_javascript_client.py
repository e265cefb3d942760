"""`@pausepoint/client` as npm installs it: the client itself, webhooks, the AI SDK and the OpenAI Agents SDK."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from approvals.outbound.signing import secret_text, signed_headers
from tests.contract.frameworks.conftest import people, told
from tests.contract.packages.building import JAVASCRIPT, run
from tests.support.services import find_npm

pytestmark = pytest.mark.server


def test_its_own_tests_pass_and_its_types_fit_those_of_the_sdks(installed):
    run([find_npm(), "test"], JAVASCRIPT)
    run([find_npm(), "run", "check"], JAVASCRIPT)


def test_an_approval_is_asked_decided_and_reported_and_its_workflow_ended(desk, node):
    asker, approver, _ = people(desk)
    asked = {
        "toolName": "refund",
        "toolCallId": uuid.uuid4().hex,
        "input": {"amount": 120},
        "workflowId": uuid.uuid4().hex,
    }
    (found, again) = node(asker.key, *[("ask", "Refund?", asked)] * 2)
    assert (found["status"], found["workflow_id"], again) == ("pending", asked["workflowId"], found)
    filters = {"status": "pending", "workflow": asked["workflowId"]}
    (listed, waited) = node(asker.key, ("list", filters), ("wait", found["id"], {"giveUpAfter": 0}))
    assert ([each["id"] for each in listed], waited["error"]) == ([found["id"]], "StillWaiting")
    edit = ("decide", found["id"], "edit", {"editedInput": {"amount": 60}, "comment": "half"})
    (decided, late) = node(approver.key, edit, ("decide", found["id"], "approve"))
    assert (decided["status"], decided["edited"], decided["input"]) == ("approved", True, {"amount": 60})
    assert (late["error"], late["code"]) == ("Refused", "already_decided")
    document = asker.send("GET", f"/requests/{found['id']}").body
    done = node(
        asker.key,
        ("awaitHuman", "Refund?", asked),
        ("report", document, {"output": {"paid": 60}}),
        ("endWorkflow", asked["workflowId"]),
    )
    assert (done[0]["by"], done[0]["comment"], done[1], done[2]["state"]) == (
        "API key remote of approver",
        "half",
        None,
        "completed",
    )


def test_a_question_is_answered_and_another_one_cancelled(desk, node):
    asker, approver, _ = people(desk)
    ask = ("ask", "Which size?", {"options": ["S", "M"], "idempotencyKey": uuid.uuid4().hex})
    (found, refused) = node(asker.key, ask, ("ask", "x" * 201))
    assert (refused["error"], refused["code"]) == ("Refused", "invalid")
    (answered,) = node(approver.key, ("decide", found["id"], "respond", {"answer": "M"}))
    assert answered["answer"] == {"fieldName": "", "selected": ["M"], "selectedIndex": 1}
    (other,) = node(asker.key, ("ask", "Pay?"))
    cancelled = node(asker.key, *[("cancel", other["id"], "not needed")] * 2)
    assert [(each["status"], each["comment"]) for each in cancelled] == [("cancelled", "not needed")] * 2


def test_webhooks_that_the_server_signs_are_verified_and_no_others(desk, node):
    new, old, other = (secret_text(nonce) for nonce in ("new", "old", "other"))
    body = json.dumps({"type": "request.decided", "id": "m1", "data": {"title": "Grüße \N{SNOWMAN}"}})
    now = datetime.now(UTC)

    def signed(at: datetime = now) -> dict[str, str]:
        return signed_headers("m1", body, [new, old], at=at)

    changed = {name.title(): value for name, value in signed().items()} | {"Webhook-Id": "m2"}
    found = node(
        "pp_x",
        ("verify", body, signed(), new),
        ("verify", body, {name.title(): [value] for name, value in signed().items()}, [other, old]),
        ("verify", body, signed(now - timedelta(hours=1)), new, {"tolerance": 4000}),
        ("verify", body, signed(), other),
        ("verify", body + " ", signed(), new),
        ("verify", body, changed, new),
        ("verify", body, signed(now - timedelta(hours=1)), new),
        ("verify", body, signed(now + timedelta(hours=1)), new),
        ("verify", body, signed() | {"webhook-signature": "v1,!! v1a,AAAA"}, new),
        ("verify", body, {}, new),
    )
    forged = {"invalid": "No signature of the webhook is valid for this secret and body."}
    late = {"invalid": "The webhook is too old, or its time is in the future."}
    missing = {"invalid": "A header of Standard Webhooks is missing."}
    assert found == ["m1"] * 3 + [forged] * 3 + [late] * 2 + [forged, missing]


def test_the_ai_sdk_runs_what_was_approved_once_and_nothing_else(program):
    agent = program("ai_sdk", "ai-sdk-agents.md")
    process = agent.start()
    # The SDK asks about one call after the other.
    refund = agent.waiting(1)["refund"]
    agent.decide(refund, "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(agent.waiting(1)["drop"], "reject", comment="Not on a Friday")
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="red")
    again = agent.waiting(1)["refund"]
    assert agent.whole(again)["input"] == {"order": "4711", "amount": 99}
    agent.decide(again, "reject", comment="Once is enough")
    found = told(process)
    change = 'A person changed the input of this call to {"order":"4711","amount":99}. It was not run. '
    assert (found["ran"], found["last"]) == ([["4711", 99]], "done")
    assert found["read"] == [
        {
            "refund": denied(change + "Make the call again with exactly this input."),
            "drop": denied("A person declined this call: Not on a Friday. Do not repeat it."),
            "askHuman": {"type": "json", "value": {"fieldName": "", "selected": ["red"], "selectedIndex": 0}},
        },
        {"refund": {"type": "text", "value": "refunded 99"}},
        {"refund": denied("A person declined this call: Once is enough. Do not repeat it.")},
    ]
    assert agent.result(refund) == "refunded 99"


def denied(reason: str) -> dict[str, str]:
    return {"type": "execution-denied", "reason": reason}


def test_the_openai_agents_sdk_runs_what_was_approved_once_and_nothing_else(program):
    agent = program("openai_agents", "openai-agents-js.md")
    process = agent.start()
    waiting = agent.waiting(2)
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    again = agent.waiting(1)["refund"]
    agent.decide(again, "reject", comment="Once is enough")
    found = told(process)
    change = 'A person changed the input of this call to {"order":"4711","amount":99}. It was not run. '
    assert (found["ran"], found["last"]) == ([["4711", 99]], "done")
    assert found["read"] == {
        "refund": change + "Make the call again with exactly this input.",
        "drop": "A person declined this call: Not on a Friday. Do not repeat it.",
        "again": "refunded 99",
        "more": "A person declined this call: Once is enough. Do not repeat it.",
    }
    assert agent.result(waiting["refund"]) == "refunded 99"


def test_a_killed_ai_sdk_agent_finds_its_requests_when_it_is_started_again(program):
    agent = program("ai_sdk", "ai-sdk-agents.md")
    agent.decide(agent.killed_while_asking(1)["refund"], "approve")
    second = agent.start()
    agent.decide(agent.waiting(1)["drop"], "reject")
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="blue")
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    assert told(second)["ran"] == [["4711", 250]]


def test_a_killed_openai_agent_finds_its_requests_when_it_is_started_again(program):
    agent = program("openai_agents", "openai-agents-js.md")
    waiting = agent.killed_while_asking(2)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    second = agent.start()
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    assert told(second)["ran"] == [["4711", 250]]
