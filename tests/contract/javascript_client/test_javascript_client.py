"""`@pausepoint/client` as npm installs it: the client itself, webhooks, the AI SDK and the OpenAI Agents SDK."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from approvals.outbound.webhooks import secret_text, signed_headers
from tests.contract.frameworks.conftest import people, told
from tests.contract.javascript_client.conftest import with_page
from tests.contract.packages.building import JAVASCRIPT, javascript_alone, run
from tests.support.desk.files import PDF
from tests.support.machine import Remote
from tests.support.services import find_npm

pytestmark = pytest.mark.server


def test_its_own_tests_pass_and_its_types_fit_those_of_the_sdks(installed):
    with javascript_alone():
        run([find_npm(), "run", "build"], JAVASCRIPT)
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
        ("awaitHuman", "Refund?", asked),
        ("endWorkflow", asked["workflowId"]),
    )
    assert (done[0]["by"], done[0]["comment"], done[0]["result"], done[1], done[3]["state"]) == (
        "API key remote of approver",
        "half",
        None,
        None,
        "completed",
    )
    # A program that is started again after the result learns that the call has run.
    assert (done[2]["result"]["state"], done[2]["result"]["output"]) == ("succeeded", {"paid": 60})


def test_the_digest_of_an_input_with_a_hidden_value_and_a_file_is_checked_with_the_salt(desk, node):
    asker, approver, _ = people(desk)
    content = base64.b64encode(b"Open it at noon.\n").decode()
    files = [{"name": "öffnen.txt", "content": {"base64": content}}]
    opened = {"toolName": "open_door", "input": {"door": "north", "pin": "7316", "tries": 1.5}, "attachments": files}
    (found,) = node(asker.key, ("ask", "Open?", opened))
    edited = {"editedInput": {"door": "süd", "pin": "7317", "tries": 1e21}}
    node(approver.key, ("decide", found["id"], "edit", edited))
    document, masked = (each.send("GET", f"/requests/{found['id']}").body for each in (asker, approver))
    assert (document["decision"]["digest_salt"] is None, masked["decision"]["digest_salt"]) == (False, None)
    other = {**document, "decision": {**document["decision"], "approved_input": {"door": "north"}}}
    verified = node(asker.key, *(("verified", each) for each in (document, masked, other)))
    assert verified == [True, False, False]


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


def test_a_file_is_sent_with_an_answer_and_read_again(desk, node):
    asker, approver, _ = people(desk)
    schema = {"type": "object", "properties": {"contract": {"type": "string", "format": "file"}}}
    content = {"base64": base64.b64encode(PDF).decode()}
    attached = {"name": "order.pdf", "content": content}
    (form,) = node(asker.key, ("ask", "Sign it", {"kind": "form", "responseSchema": schema, "attachments": [attached]}))
    answer = {"contract": {"name": "contract.pdf", "content": content}}
    (answered,) = node(approver.key, ("decide", form["id"], "respond", {"answer": answer}))
    file = answered["answer"]["contract"]
    assert (file["name"], file["media_type"], file["size"]) == ("contract.pdf", "application/pdf", len(PDF))
    read = node(
        asker.key,
        ("readFile", form["id"], file),
        ("readFile", form["id"], form["attachments"][0]),
        ("readFile", form["id"], {"url": form["id"]}),
    )
    assert (read[:2], read[2]["error"], read[2]["code"]) == ([content, content], "Refused", "not_found")


@pytest.mark.shows("javascript-client", "reject", "expire")
def test_a_question_that_nobody_answers_gets_its_default_and_a_rejection_its_words(desk, node):
    asker, approver, _ = people(desk)
    asked = {"options": ["S", "M"], "timeout": 300, "defaultResponse": "M"}
    (expired, other) = node(asker.key, ("awaitHuman", "Which size?", asked), ("ask", "Pay?"))
    answer = {"fieldName": "", "selected": ["M"], "selectedIndex": 1}
    assert (expired["status"], expired["by"], expired["answer"]) == ("expired", None, answer)
    (rejected,) = node(approver.key, ("decide", other["id"], "reject", {"comment": "Not today"}))
    assert (rejected["status"], rejected["comment"]) == ("rejected", "Not today")


def test_a_function_asks_before_it_runs_and_returns_its_result_again_after_a_restart(function):
    process = function.start()
    request = function.waiting(1)["refund"]
    function.decide(request, "edit", edited_input={"order": "4711", "amount": 60})
    found = told(process)
    assert found == {"ran": [["4711", 60]], "result": {"refunded": 60}}
    assert told(function.start()) == {"ran": [], "result": {"refunded": 60}}
    assert function.whole(request)["result"]["output"] == {"refunded": 60}


def test_a_function_that_fails_is_recorded_as_failed_and_one_that_is_refused_does_not_run(function):
    process = function.start()
    request = function.waiting(1)["refund"]
    function.decide(request, "edit", edited_input={"order": "4711", "amount": 0})
    assert told(process) == {"ran": [["4711", 0]], "name": "Error", "message": "too little", "isRefusal": False}
    message = "This call has run already, and failed: Error: too little"
    assert told(function.start()) == {"ran": [], "name": "HasFailed", "message": message, "isRefusal": False}
    function.thread = function.command[-1] = function.thread[::-1]
    process = function.start()
    function.decide(function.waiting(1)["refund"], "reject", comment="Not today")
    message = "A person declined this call: Not today. Do not repeat it."
    assert told(process) == {"ran": [], "name": "NotApproved", "message": message, "isRefusal": True}


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


@pytest.mark.shows("javascript-client", "advice")
def test_advice_of_another_key_is_on_the_request(desk, node):
    asker, _, _ = people(desk)
    reviewer, request = Remote(desk, "auditor", ("read", "advise")), asker.ask(title="Pay?")
    advise = ("advise", request["id"], "look_closer", "The IBAN is new.", {"raisePriority": "high", "moreVotes": 1})
    (given, again) = node(reviewer.key, advise, advise)
    assert (given["raised_to"], given["more_votes"], again) == ("high", 1, given)
    assert asker.send("GET", f"/requests/{request['id']}").body["advice"] == [given]


def test_the_receiver_of_the_readme_takes_what_the_server_signs(installed):
    secret = secret_text("new")
    body = json.dumps({"type": "request.decided", "id": "m1"})
    headers = signed_headers("m1", body, [secret], at=datetime.now(UTC))
    program = with_page(installed, "receiver", JAVASCRIPT / "README.md", slice(2, 3))
    done = subprocess.run(
        ["node", str(program)],
        input=json.dumps([[body, headers], [body + " ", headers]]),
        env=os.environ | {"PAUSEPOINT_WEBHOOK_SECRET": secret},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {"answers": [204, 400], "handled": ["m1"]}
