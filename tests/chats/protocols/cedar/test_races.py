"""Simultaneous resumes, cancellations and messages have one winner and one side effect."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest, Decision
from chats.models import Chat, ToolCall, Turn
from tests.support import people
from tests.support.chats.front_end import FrontEnd, front_end, refusal, runs, shown
from tests.support.machines import together
from tests.support.services import real_processes  # noqa: F401

YES, NO = {"approved": True}, {"approved": False, "feedback": "no"}


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page() -> FrontEnd:
    return front_end(people.bob())


def test_one_of_four_simultaneous_resumes_wins(page):
    run = page.paused("approve payment")
    answers = together(*(page.aresume(run, YES) for _ in range(4)))
    won = [answer for answer in answers if "The payment is settled" in "".join(map(str, shown(answer)))]
    assert len(won) == 1
    assert [
        refusal(answer).startswith("This request was approved just now by API key test of bob")
        for answer in answers
        if answer not in won
    ] == [True] * 3
    assert (Decision.objects.count(), ToolCall.objects.get().attempt) == (1, 1)


def test_one_of_a_simultaneous_approval_and_rejection_wins(page):
    run = page.paused("approve payment")
    words = (YES, NO, YES, NO)
    answers = together(*(page.aresume(run, word, stream=False) for word in words))
    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409]
    assert {answer.code for answer in answers if answer.status == 409} == {"already_decided"}
    assert ToolCall.objects.get().attempt == (1 if Decision.objects.get().verdict == "approve" else 0)


def test_two_simultaneous_resumes_stream_the_continuation_once(page):
    first, second = runs(page.say("ask parallel"))
    answers = together(page.aresume(first, "Express"), page.aresume(second, "Nothing"))
    texts = ["".join(item for item in shown(answer) if isinstance(item, str)) for answer in answers]
    assert sorted(texts) == ["", "Thank you. You said: Express and Nothing."]


def test_a_simultaneous_resume_and_cancel_have_one_winner(page):
    run = page.paused("approve payment")
    cancelling = page.machine.acall("POST", "/chat/cancel", {"runId": run["runId"]})
    resumed, cancelled = together(page.aresume(run, YES, stream=False), cancelling)
    assert sorted([resumed.status, cancelled.status]) == [200, 409]
    assert ApprovalRequest.objects.get().status == ("approved" if resumed.status == 200 else "cancelled")


def test_one_of_many_simultaneous_messages_in_a_thread_is_accepted(page):
    said = [page.machine.acall("POST", "/chat", page.body("hello")) for _ in range(4)]
    answers = together(*said)
    assert {answer.status for answer in answers} <= {200, 409}
    assert Turn.objects.count() == [answer.status for answer in answers].count(200) >= 1
    assert Chat.objects.count() == 1


def test_simultaneous_messages_without_a_thread_are_all_accepted(page):
    page.thread = ""
    answers = together(*(page.machine.acall("POST", "/chat", page.body("hello")) for _ in range(4)))
    assert [answer.status for answer in answers] == [200] * 4
    assert len({answer.json["threadId"] for answer in answers}) == 4
