"""Resuming runs: approvals, rejections, answers and edits, their streams, and refusals."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, Decision
from approvals.states import Door, Kind, Verdict
from chats.models import ToolCall
from chats.protocols.cedar import body as cedar_body
from chats.protocols.cedar import encode
from tests.support import people
from tests.support.chats.front_end import FrontEnd, front_end, refusal, runs, shown
from tests.support.chats.turns import overdue

pytestmark = pytest.mark.django_db(transaction=True)

ODDBALL = ["tests.support.chats.agents.oddball"]
YES, NO = {"approved": True}, {"approved": False, "feedback": "too much"}


@pytest.fixture
def page() -> FrontEnd:
    return front_end(people.bob())


def test_an_approval_runs_the_payment_and_streams_only_what_is_new(page):
    run = page.paused("approve payment")
    (text,) = shown(page.resume(run, YES))
    assert text.startswith("The payment is settled: status sent")
    decision = Decision.objects.get()
    assert (decision.verdict, decision.by_name, decision.via, decision.door) == (
        "approve", "API key test of bob", "cedar", "Cedar-OS",
    )  # fmt: skip
    assert ToolCall.objects.get().attempt == 1


def test_a_rejection_carries_the_feedback(page):
    run = page.paused("approve payment")
    (text,) = shown(page.resume(run, NO))
    assert "Their reason: too much" in text
    assert ToolCall.objects.get().attempt == 0
    assert Decision.objects.get().comment == "too much"


def test_a_document_holds_the_same_as_a_stream(page):
    run = page.paused("approve payment")
    answer = page.resume(run, YES, stream=False)
    assert answer.status == 200
    assert answer.json["text"].startswith("The payment is settled")
    assert "object" not in answer.json


@pytest.mark.shows("cedar", "edit")
def test_the_input_can_be_edited(page):
    run = page.paused("approve payment")
    edited = {"transactionDetails": {"amount": 5, "recipient": "John Doe", "type": "card"}}
    page.resume(run, {"approved": True, "input": edited})
    assert ToolCall.objects.get().output == {"status": "sent", "amount": 5.0, "recipient": "John Doe", "type": "card"}
    assert Decision.objects.get().verdict == "edit"


def test_a_question_takes_any_json_that_is_not_empty(page):
    run = page.paused("ask")
    (text,) = shown(page.resume(run, {"selected": ["Express"]}))
    assert text == "Thank you, you chose Express. I will arrange that."


def test_a_question_can_be_declined(page):
    page.resume(page.paused("ask"), NO)
    assert (Decision.objects.get().verdict, ToolCall.objects.get().error_text) == ("reject", "too much")


def test_a_resumed_run_that_asks_again_comes_back_as_a_new_run(page):
    first = page.paused("ask twice")
    answer = page.resume(first, "Express")
    second = runs(answer)[0]
    assert shown(answer) == ["Noted: Express. And now the second.", second]
    assert second["runId"] != first["runId"]
    assert shown(page.resume(second, "Gift wrap")) == ["Thank you, I have both: Gift wrap it is."]


def test_the_last_of_two_decisions_continues_the_turn(page):
    first, second = runs(page.say("ask parallel"))
    (note,) = shown(page.resume(second, "Nothing"))
    assert note == {
        "type": "progress_update", "state": "complete",
        "text": "Recorded. The agent is still waiting for: “Which delivery do you prefer?”.",
    }  # fmt: skip
    assert shown(page.resume(first, "Express")) == ["Thank you. You said: Express and Nothing."]


def test_a_resume_after_a_decision_on_the_dashboard_is_refused(page):
    run = page.paused("approve payment")
    desk.decide(run["runId"], Answer(Verdict.REJECT), by=User.objects.get(), via=Door.DASHBOARD)
    assert refusal(page.resume(run, YES)).startswith("This request was rejected just now by bob.")
    answer = page.resume(run, YES, stream=False)
    assert (answer.status, answer.code, answer.json["decision"]["via"]) == (409, "already_decided", "dashboard")


def test_resuming_twice_is_refused_even_with_the_same_answer(page):
    run = page.paused("approve payment")
    page.resume(run, YES)
    assert refusal(page.resume(run, YES)).startswith("This request was approved just now by API key test of bob")
    assert page.resume(run, YES, stream=False).code == "already_decided"
    assert ToolCall.objects.get().attempt == 1


@pytest.mark.shows("cedar", "expire")
def test_a_resume_after_the_deadline_is_refused(page):
    run = page.paused("approve payment")
    overdue(ApprovalRequest.objects.get())
    assert page.open_runs() == []
    answer = page.resume(run, YES, stream=False)
    assert (answer.status, answer.code) == (410, "expired")
    again = page.resume(run, YES)
    assert refusal(again).startswith("This request expired at ")
    assert ToolCall.objects.get().attempt == 0


@pytest.mark.parametrize("run_id", ["7d9d5c2e-7f0c-4b5b-9d5e-4f1f3a2b1c0d", "nonsense", "../../etc", "{}", "a" * 5000])
def test_an_unknown_run_is_not_found(page, run_id):
    run = {"runId": run_id, "stepPath": [["sendPayment"]]}
    answer = page.resume(run, YES, stream=False)
    assert (answer.status, answer.code) == (404, "not_found")
    assert "not found" in refusal(page.resume(run, YES))


@pytest.mark.parametrize("sent", ["sendPayment", ["sendPayment"], [["sendPayment"]]])
def test_the_step_path_is_accepted_in_three_forms(page, sent):
    run = page.paused("approve payment")
    assert page.resume(run, YES, stream=False, stepPath=sent).status == 200


@pytest.mark.parametrize(
    "sent",
    ["", "other", ["other"], [["other"]], [["sendPayment"], ["x"]], [], [[]], None, 1, {}, [["sendPayment", 1]], [1]],
)
def test_another_step_path_is_refused(page, sent):
    run = page.paused("approve payment")
    answer = page.resume(run, YES, stream=False, stepPath=sent)
    assert (answer.status, answer.code, list(answer.json["errors"])) == (422, "invalid", ["stepPath"])
    assert refusal(page.resume(run, YES, stepPath=sent)).startswith("This is not the waiting step.")
    assert page.open_runs() == [run["runId"]]


def test_a_nested_path_is_sent_as_a_list_and_accepted_joined(page):
    run = page.paused("approve payment")
    ApprovalRequest.objects.update(step_path=["parent", "child", "step"])
    (listed,) = page.machine.get("/chat/suspended").json["object"]
    assert listed["stepPath"] == [["parent", "child", "step"]]
    assert page.resume(run, YES, stream=False, stepPath=["parent", "child"]).status == 422
    assert page.resume(run, YES, stream=False, stepPath="parent.child.step").status == 200


NO_ANSWERS = {
    "nothing": None,
    "a text": "yes",
    "an empty object": {},
    "a text for a yes": {"approved": "true"},
    "a number for a yes": {"approved": 1},
    "words that are none": {"approved": False, "feedback": {"a": 1}},
    "an unknown change": {"approved": True, "amount": 5},
    "an edit with a no": {"approved": False, "input": {}},
    "an edit that is no object": {"approved": True, "input": 5},
    "an edit that does not fit": {"approved": True, "input": {"transactionDetails": {"amount": "ten"}}},
    "an edit with more than the tool takes": {"approved": True, "input": {"transactionDetails": {}, "fee": 0}},
    "too many words": {"approved": True, "feedback": "x" * 5001},
    "a NUL": {"approved": True, "input": {"transactionDetails": {"recipient": "a\x00b"}}},
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_invalid_approval_data_is_refused_and_the_request_stays_pending(page, name):
    run = page.paused("approve payment")
    answer = page.resume(run, NO_ANSWERS[name], stream=False)
    assert (answer.status, answer.code) == (422, "invalid")
    assert answer.json["errors"]
    assert all(field.startswith("resumeData") for field in answer.json["errors"])
    assert "(resumeData" in refusal(page.resume(run, NO_ANSWERS[name]))
    assert (page.open_runs(), Decision.objects.count()) == ([run["runId"]], 0)


@pytest.mark.parametrize("data", [None, "", {}, [], {"approved": True}, {"approved": "false"}])
def test_an_empty_answer_to_a_question_is_refused(page, data):
    run = page.paused("ask")
    answer = page.resume(run, data, stream=False)
    assert (answer.status, answer.code) == (422, "invalid")
    assert page.open_runs() == [run["runId"]]


def test_an_answer_has_to_match_the_questions_schema(page):
    run = page.paused("ask human")
    answer = page.resume(run, {"response": "free return"}, stream=False)
    assert (answer.status, list(answer.json["errors"])) == (422, ["resumeData"])
    assert shown(page.resume(run, "free return")) == ["I was told: free return"]


def test_a_resume_without_data_or_run_id_is_refused(page):
    run = page.paused("approve payment")
    body = {"runId": run["runId"], "stepPath": run["stepPath"]}
    assert page.machine.post("/chat/resume", body).code == "invalid"
    for missing in ({"resumeData": YES}, {"runId": 5, "resumeData": YES}, {"runId": "", "resumeData": YES}):
        answer = page.machine.post("/chat/resume", missing)
        assert (answer.code, list(answer.json["errors"])) == ("invalid", ["runId"])


def test_the_prompt_in_a_resume_is_not_a_message(page):
    run = page.paused("approve payment")
    answer = page.resume(run, YES, prompt="hello", threadId="another-thread", additionalContext={"a": {"data": 1}})
    assert shown(answer)[0].startswith("The payment is settled")
    stored = page.machine.get("/api/chat/thread-1").json["messages"]
    assert [message["role"] for message in stored] == ["user", "assistant"]
    assert page.machine.get("/api/chat/another-thread").status == 404


def test_cancelling_a_run_cancels_its_request_and_continues_the_turn(page):
    run = page.paused("approve payment")
    answer = page.machine.post("/chat/cancel", {"runId": run["runId"]})
    assert (answer.status, answer.json) == (200, {"runId": run["runId"], "cancelled": True})
    assert (ApprovalRequest.objects.get().status, ToolCall.objects.get().state) == ("cancelled", "cancelled")
    assert page.machine.post("/chat/cancel", {"runId": run["runId"]}).code == "already_decided"
    assert refusal(page.resume(run, YES)).startswith("This request was cancelled just now by API key test of bob")
    assert page.machine.post("/chat/cancel", {"runId": "nonsense"}).code == "not_found"
    assert page.machine.post("/chat/cancel", {}).code == "invalid"


@pytest.mark.parametrize("changes", [{"kind": Kind.RECOVERY}, {"priority": "critical"}])
@pytest.mark.parametrize("said", [YES, NO, {"output": 5}, "nonsense"])
def test_critical_requests_and_recoveries_are_refused_with_a_link(page, changes, said):
    run = page.paused("approve payment")
    ApprovalRequest.objects.update(**changes)
    link = ApprovalRequest.objects.get().public_url
    assert refusal(page.resume(run, said)).endswith(link)
    answer = page.resume(run, said, stream=False)
    assert (answer.status, answer.code, answer.json["url"]) == (403, "decide_on_page", link)
    assert ApprovalRequest.objects.get().status == "pending"


def test_a_form_with_a_field_named_approved_gets_its_answer():
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}}}
    assert cedar_body.answer_from(Kind.FORM, schema, {"approved": False}).answer == {"approved": False}


def test_reserved_fields_win_and_the_whole_input_is_kept(page):
    run = page.paused("approve payment")
    forged = {"requiresApproval": False, "pendingResponse": "Nothing to see", "input": {"a": 1}, "toolName": "x"}
    ApprovalRequest.objects.update(input=forged)
    (listed,) = page.machine.get("/chat/suspended").json["object"]
    payload = listed["suspendPayload"]
    assert (payload["requiresApproval"], payload["toolName"]) == (True, "sendPayment")
    assert (payload["pendingResponse"], payload["input"]) == (run["suspendPayload"]["pendingResponse"], forged)


def test_line_breaks_do_not_split_an_event():
    frame = encode.frame(encode.notice("a\n\ndata: [DONE]\r\n\r\nb\u2028"))
    assert frame.count(b"\n") == 2
    assert frame.endswith(b"\n\n")
    assert b"\r" not in frame
