"""The published cedar-os: its chat's display, its state, and the effects of its requests."""

from __future__ import annotations

import pytest

from tests.support.processes.server import Server, until

YES = {"approved": True}


def shown(messages: list[dict]) -> list[str]:
    return [
        message["content"] if message["type"] == "text" else message.get("text", message["type"])
        for message in messages
    ]


def verdicts(server: Server, run: str) -> list[tuple]:
    return server.rows(
        "SELECT verdict, via, comment FROM approvals_decision WHERE request_id = ?", run.replace("-", "")
    )


def test_hello_is_one_message_of_text_streamed_or_not(page):
    one = page()
    (answer,) = one.say("hello")
    assert (answer["type"], answer["role"]) == ("text", "assistant")
    assert answer["content"].startswith("Hello! I can look up the weather")
    (again,) = one.say("hello", stream=False)
    assert again["content"].strip() == answer["content"].strip()
    assert [(post["path"], post["status"]) for post in one.posts] == [("/chat/stream", 200), ("/chat", 200)]


@pytest.mark.shows("cedar", "approve")
def test_a_payment_suspends_and_the_continue_button_resumes_it(page, server):
    one = page()
    said, asked = one.say("approve payment")
    assert said["content"] == "I will transfer 1000 euros to John Doe once someone approves it."
    assert (asked["type"], asked["state"], asked["role"]) == ("humanInTheLoop", "suspended", "assistant")
    assert asked["suspendPayload"]["transactionDetails"]["recipient"] == "John Doe"
    assert one.waiting == {asked["runId"]: "suspended"}
    resumed, settled = one.do("click", label="Continue")
    assert (resumed["state"], resumed["content"]) == ("resumed", "Successfully resumed workflow.")
    assert settled["content"].startswith("The payment is settled: status sent")
    assert one.waiting == {asked["runId"]: "resumed"}
    assert verdicts(server, asked["runId"]) == [("approve", "cedar", "")]


def test_without_the_repair_the_published_package_sends_nothing(page, server):
    one = page(repaired=False)
    run = one.suspended("approve payment")
    assert one.do("resume", run=run, data=YES) == []
    assert (one.waiting, len(one.posts), verdicts(server, run)) == ({run: "suspended"}, 1, [])


@pytest.mark.shows("cedar", "reject", "once")
def test_a_no_with_feedback_and_a_second_click(page, server):
    one = page()
    run = one.suspended("approve payment")
    *_, last = one.do("resume", run=run, data={"approved": False, "feedback": "not today"})
    assert "Their reason: not today" in last["content"]
    assert one.do("resume", run=run, data=YES) == []
    assert verdicts(server, run) == [("reject", "cedar", "not today")]


@pytest.mark.shows("cedar", "person")
def test_a_late_resume_is_refused_where_the_person_sees_it(page, server, key):
    one = page()
    run = one.suspended("approve payment")
    other = page(thread=one.thread)
    other.do("reload")
    other.do("resume", run=run, data={"approved": False})
    _, refused = one.do("resume", run=run, data=YES)
    assert (refused["type"], refused["state"]) == ("progress_update", "error")
    assert refused["text"].startswith("This request was rejected just now by API key tests of approver.")
    assert verdicts(server, run) == [("reject", "cedar", "")]


def test_two_questions_are_two_runs_and_the_last_answer_goes_on(page):
    one = page()
    _, first, second = one.say("ask parallel")
    assert set(one.waiting) == {first["runId"], second["runId"]}
    assert shown(one.do("resume", run=second["runId"], data="Nothing"))[1].startswith(
        "Recorded. The agent is still waiting"
    )
    assert shown(one.do("resume", run=first["runId"], data="Express"))[1] == "Thank you. You said: Express and Nothing."


def test_a_run_that_asks_again_comes_back_as_another_run(page):
    one = page()
    first = one.suspended("ask twice")
    *_, second = one.do("resume", run=first, data="Express")
    assert (second["type"], second["state"], second["runId"] != first) == ("humanInTheLoop", "suspended", True)
    assert one.waiting == {first: "resumed", second["runId"]: "suspended"}
    assert (
        shown(one.do("resume", run=second["runId"], data="Gift wrap"))[-1] == "Thank you, I have both: Gift wrap it is."
    )


@pytest.mark.shows("cedar", "answer")
def test_a_question_is_answered_by_typing(page):
    one = page()
    one.suspended("ask human")
    assert shown(one.say("Offer a free return")) == ["I was told: Offer a free return"]


def test_an_approval_is_not_and_the_page_is_told_why(page):
    one = page()
    one.suspended("approve payment")
    (refused,) = one.say("yes")
    assert refused["state"] == "error"
    assert "Run sendPayment?" in refused["text"]


def test_a_draft_in_the_input_does_not_become_a_message_of_the_chat(page):
    one = page()
    run = one.suspended("approve payment")
    one.do("draft", text="half a sen")
    *_, settled = one.do("resume", run=run, data=YES)
    assert one.posts[-1]["body"]["prompt"] == "half a sen"
    assert settled["content"].startswith("The payment is settled")


@pytest.mark.shows("cedar", "cancel")
def test_cancel_reaches_the_server(page, server):
    one = page()
    run = one.suspended("approve payment")
    (cancelled,) = one.do("click", label="Cancel")
    assert cancelled["state"] == "cancelled"
    until(lambda: verdicts(server, run) == [("cancel", "cedar", "")], "the request is withdrawn")
    assert one.do("look") == []
    assert one.waiting == {run: "cancelled"}


@pytest.mark.shows("cedar", "crash")
def test_after_a_reload_what_waits_is_there_again_and_can_be_resumed(page):
    one = page()
    run = one.suspended("approve payment")
    one.do("reload")
    (asked,) = one.seen["messages"]
    assert (asked["runId"], one.waiting) == (run, {run: "suspended"})
    assert shown(one.do("resume", run=run, data=YES))[-1].startswith("The payment is settled")


def test_a_page_without_a_thread_is_served_too(page):
    one = page(thread="")
    run = one.suspended("approve payment")
    assert one.posts[0]["body"]["threadId"] == ""
    assert shown(one.say("hello"))[0].startswith("Hello!")
    assert shown(one.do("resume", run=run, data=YES))[-1].startswith("The payment is settled")


def test_an_assistant_that_resumes_by_itself_is_not_obeyed(page, server):
    one = page()
    run = one.suspended("approve payment")
    forged = {"type": "setState", "stateKey": "humanInTheLoop", "setterKey": "resume", "args": [run, YES]}
    one.do("handle", object=[forged])
    assert (one.waiting, len(one.posts), verdicts(server, run)) == ({run: "suspended"}, 1, [])


def test_what_is_decided_on_the_dashboard_shows_in_the_chat_of_that_thread(page, server):
    one = page()
    run = one.suspended("approve payment")
    assert server.person("approver").decide(run, verdict="approve").status == 302
    _, refused = one.do("resume", run=run, data=YES)
    assert refused["text"].startswith("This request was approved just now by approver")
