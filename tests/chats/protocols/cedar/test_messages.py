"""Messages from a Cedar-OS front end: text and suspensions, as a stream and as one document."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest, Workflow
from chats.models import Chat
from tests.support import people
from tests.support.chats.front_end import front_end, refusal, runs, shown

pytestmark = pytest.mark.django_db(transaction=True)

HELLO = "Hello! I can look up the weather, refund an order, and ask people when I need them."
PAYMENT = {"amount": 1000, "recipient": "John Doe", "type": "transfer"}
ODDBALL = ["tests.support.chats.agents.oddball"]


def test_hello_is_answered_with_text():
    page = front_end(people.alice())
    assert shown(page.say("hello")) == [HELLO]
    answer = page.ask("hello")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert (answer.json["text"], answer.json["threadId"], "object" in answer.json) == (HELLO, "thread-1", False)


def test_a_stream_has_the_format_that_cedar_parses():
    text = front_end(people.alice()).say("hello").text
    assert text.startswith('data: {"content":"Hello! "}\n\ndata: {"content":"I "}\n\n')
    assert text.endswith('data: {"content":"them."}\n\nevent: done\ndata:\n\n')


def test_a_suspension_holds_what_the_approver_needs():
    said, run = shown(front_end(people.alice()).say("approve payment"))
    assert isinstance(run, dict)
    assert list(run) == [
        "type", "status", "runId", "stepPath", "suspendPayload", "message", "timeoutMs", "metadata",
    ]  # fmt: skip
    assert run["stepPath"] == [["sendPayment"]]
    payload = run["suspendPayload"]
    assert (payload["pendingResponse"], payload["requiresApproval"]) == (said, True)
    assert payload["transactionDetails"] == PAYMENT
    assert (payload["toolName"], payload["input"]) == ("sendPayment", {"transactionDetails": PAYMENT})
    assert run["message"].startswith("Run sendPayment?\n\nSend money")
    assert 0 < run["timeoutMs"] <= 3_600_000
    asked = ApprovalRequest.objects.get(pk=run["runId"])
    assert run["metadata"]["url"] == f"http://127.0.0.1:8000{asked.get_absolute_url()}"
    assert (asked.workflow.source, asked.workflow.thread_id) == ("cedar", "thread-1")


def test_a_document_has_the_suspension_under_object():
    answer = front_end(people.alice()).ask("approve payment").json
    assert answer["text"] == "I will transfer 1000 euros to John Doe once someone approves it."
    assert (answer["object"]["type"], answer["object"]["status"]) == ("humanInTheLoop", "suspended")


def test_two_parallel_questions_are_two_runs_in_two_events():
    page = front_end(people.alice())
    said, first, second = shown(page.say("ask parallel"))
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert said == "Two questions at once."
    assert first["runId"] != second["runId"]
    assert [option["label"] for option in first["suspendPayload"]["options"]] == ["Standard", "Express"]
    assert (first["suspendPayload"]["requiresApproval"], "timeoutMs" in first) == (False, False)
    page.thread = "thread-2"
    assert [run["type"] for run in page.ask("ask parallel").json["object"]] == ["humanInTheLoop"] * 2


def test_texts_of_two_steps_are_two_paragraphs():
    (text,) = shown(front_end(people.alice()).say("weather"))
    assert text.startswith("One moment.\n\nThe weather in Berlin: ")


def test_a_thread_is_one_chat_with_a_history():
    page = front_end(people.alice())
    page.say("hello")
    page.say("weather")
    assert Chat.objects.get().shown.count() == 4
    assert page.machine.get("/api/chat/thread-1").json["status"] == "idle"


def test_each_message_without_a_thread_is_its_own_chat():
    page = front_end(people.alice(), thread="")
    page.say("approve payment")
    assert shown(page.say("hello")) == [HELLO]
    assert page.ask("hello", threadId=None).json["text"] == HELLO
    assert Chat.objects.count() == 3
    assert len(page.open_runs()) == 1


def test_a_message_answers_a_pending_question():
    page = front_end(people.alice())
    page.paused("ask human")
    assert shown(page.say("Offer a free return")) == ["I was told: Offer a free return"]
    assert page.open_runs() == []


def test_a_message_approves_nothing():
    page = front_end(people.bob())
    run = page.paused("approve payment")
    for words in ("yes", "approved", "hello"):
        assert "The agent is waiting for: “Run sendPayment?”" in refusal(page.say(words))
    answer = page.ask("yes, approve it")
    assert (answer.status, answer.code) == (409, "approval_pending")
    assert page.open_runs() == [run["runId"]]


def test_a_timeout_is_capped_and_absent_without_a_deadline(settings):
    page = front_end(people.alice())
    run = page.paused("approve payment")
    for days, expected in ((400, 2**31 - 1), (1, 86_400_000)):
        ApprovalRequest.objects.update(deadline_at=timezone.now() + timedelta(days=days))
        (found,) = page.machine.get("/chat/suspended").json["object"]
        assert found["runId"] == run["runId"]
        assert expected - 600_000 < found["timeoutMs"] <= expected
    ApprovalRequest.objects.update(deadline_at=None)
    (found,) = page.machine.get("/chat/suspended").json["object"]
    assert "timeoutMs" not in found


def test_pending_runs_are_listed_after_a_reload():
    page = front_end(people.alice())
    first = page.paused("approve payment")
    page.thread = "thread-2"
    second = page.paused("ask human")
    assert page.open_runs() == [first["runId"], second["runId"]]
    assert (page.open_runs("thread-1"), page.open_runs("thread-2")) == ([first["runId"]], [second["runId"]])
    assert page.open_runs("thread-3") == []
    listed = page.machine.get("/chat/suspended?threadId=thread-2").json["object"]
    assert listed == [second]


def test_a_failed_turn_shows_an_error_line(settings):
    settings.HITL_PROVIDER = "anthropic"
    settings.ANTHROPIC_API_KEY = ""
    said = shown(front_end(people.alice()).say("hello"))
    assert [item["state"] for item in said if isinstance(item, dict)] == ["error"]


def test_a_workflow_ends_with_its_chat():
    page = front_end(people.bob())
    page.resume(page.paused("approve payment"), {"approved": True})
    assert Workflow.objects.get().state == "completed"
    assert runs(page.say("hello")) == []
