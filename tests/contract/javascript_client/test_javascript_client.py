"""`@pausepoint/client` as npm installs it: the client itself, webhooks, the AI SDK and the OpenAI Agents SDK."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from approvals.outbound.signing import secret_text, signed_headers
from tests.contract.frameworks.conftest import people, told
from tests.contract.javascript_client.conftest import with_page
from tests.contract.packages.building import JAVASCRIPT, run
from tests.support.services import find_npm

pytestmark = pytest.mark.server


def test_its_own_tests_pass_and_its_types_fit_those_of_the_sdks(installed):
    run([find_npm(), "test"], JAVASCRIPT)
    run([find_npm(), "run", "check"], JAVASCRIPT)


@pytest.mark.shows("javascript-client", "approve", "edit", "once", "person")
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


@pytest.mark.shows("javascript-client", "answer", "cancel")
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


@pytest.mark.shows("javascript-client", "reject", "expire")
def test_a_question_that_nobody_answers_gets_its_default_and_a_rejection_its_words(desk, node):
    asker, approver, _ = people(desk)
    asked = {"options": ["S", "M"], "timeout": 300, "defaultResponse": "M"}
    (expired, other) = node(asker.key, ("awaitHuman", "Which size?", asked), ("ask", "Pay?"))
    answer = {"fieldName": "", "selected": ["M"], "selectedIndex": 1}
    assert (expired["status"], expired["by"], expired["answer"]) == ("expired", None, answer)
    (rejected,) = node(approver.key, ("decide", other["id"], "reject", {"comment": "Not today"}))
    assert (rejected["status"], rejected["comment"]) == ("rejected", "Not today")


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


def test_the_receiver_of_the_readme_takes_what_the_server_signs(installed):
    secret = secret_text("new")
    body = json.dumps({"type": "request.decided", "id": "m1"})
    headers = signed_headers("m1", body, [secret], at=datetime.now(UTC))
    program = with_page(installed, "receiver", JAVASCRIPT / "README.md", slice(1, 2))
    done = subprocess.run(
        ["node", str(program)],
        input=json.dumps([[body, headers], [body + " ", headers]]),
        env=os.environ | {"PAUSEPOINT_WEBHOOK_SECRET": secret},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {"answers": [204, 400], "handled": ["m1"]}


@pytest.mark.shows("ai-sdk-agents", "edit", "reject", "answer")
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


@pytest.mark.shows("openai-agents-js", "edit", "reject")
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


@pytest.mark.shows("ai-sdk-agents", "approve", "once", "crash", "person")
@pytest.mark.shows("javascript-client", "crash")
def test_a_killed_ai_sdk_agent_finds_its_requests_when_it_is_started_again(program):
    agent = program("ai_sdk", "ai-sdk-agents.md")
    agent.decide(agent.killed_while_asking(1)["refund"], "approve")
    second = agent.start()
    agent.decide(agent.waiting(1)["drop"], "reject")
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="blue")
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    found = told(second)
    assert (found["ran"], found["reasons"][0]) == ([["4711", 250]], "API key remote of approver")


@pytest.mark.shows("openai-agents-js", "approve", "once", "crash")
def test_a_killed_openai_agent_finds_its_requests_when_it_is_started_again(program):
    agent = program("openai_agents", "openai-agents-js.md")
    waiting = agent.killed_while_asking(2)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    second = agent.start()
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    assert told(second)["ran"] == [["4711", 250]]


@pytest.mark.shows("ai-sdk-agents", "expire", "cancel")
def test_ai_sdk_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(program):
    agent = program("ai_sdk", "ai-sdk-agents.md")
    process = agent.start()
    agent.withdraw(agent.waiting(1)["refund"], "The order is closed")
    agent.let_expire(agent.waiting(1)["drop"])
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="red")
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    found = told(process)
    assert (found["ran"], found["read"][0]["refund"], found["read"][0]["drop"]) == (
        [],
        denied("This call was cancelled: The order is closed. Do not repeat it."),
        denied("Nobody decided in time, so this call was not run."),
    )


@pytest.mark.shows("openai-agents-js", "expire", "cancel")
def test_openai_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(program):
    agent = program("openai_agents", "openai-agents-js.md")
    process = agent.start()
    waiting = agent.waiting(2)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"])
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    found = told(process)
    assert (found["ran"], found["read"]["refund"], found["read"]["drop"]) == (
        [],
        "This call was cancelled: The order is closed. Do not repeat it.",
        "Nobody decided in time, so this call was not run.",
    )
