"""Containers, fallbacks, uploaded files and passed-through arguments: sent, stored, continued and shown."""

from __future__ import annotations

import pytest

from approvals.states import Verdict
from chats.agent.agent import Agent
from chats.agent.demo import issueRefund
from chats.agent.server_tools import ServerTool
from chats.agent.uploads import UploadedFile
from chats.models import Message, ToolCall
from chats.queries import last_turn
from chats.states import TurnState
from tests.chats.answers.test_server_tools import claude, restart
from tests.support import people
from tests.support.anthropic_server import says, text, thinking, tool_use
from tests.support.chats.branches import branch
from tests.support.chats.turns import chunks, decide, make_chat, only_request, run, say

__all__ = ["claude"]

pytestmark = pytest.mark.django_db(transaction=True)

FILES = [
    UploadedFile(file_id="file_prices", title="Prices of 2026"),
    UploadedFile(file_id="file_cake", use="image"),
    UploadedFile(file_id="file_sales", use="container"),
]
coder = Agent(name="coder", tools=[issueRefund], server_tools=[ServerTool(name="code_execution")], files=FILES)
careful = Agent(
    name="careful",
    tools=[issueRefund],
    fallbacks="default",
    thinking="adaptive",
    extra={"speed": "fast", "metadata": {"user_id": "bakery"}, "betas": ["fast-mode-2026-02-01"]},
)

REFUND = tool_use("toolu_2", "issueRefund", amount=250, orderId="A-1")


def begins(settings, agent, words="Go", module=__name__):
    settings.HITL_AGENTS = [f"{module}.{agent}"]
    restart()
    return run(say(make_chat(people.alice()), words))


def resumes(turn, verdict=Verdict.APPROVE, by=None):
    """Decide about the only request after a restart, and go on."""
    restart()
    decide(only_request(turn), by or people.bob(), verdict)
    return run(turn)


def data_of(turn, kind):
    parts = Message.objects.get(chat=turn.chat, message_id=turn.message_id).parts
    return [part["data"] for part in parts if part["type"] == kind]


CODE = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {"command": "ls"}}
RESULT = {
    "type": "bash_code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "bash_code_execution_result",
        "stdout": "sales.csv",
        "stderr": "",
        "return_code": 0,
        "content": [],
    },
}


def containers(claude):
    """Return the container that each request named."""
    return [request.body.get("container") for request in claude.requests]


@pytest.fixture
def uploaded(claude):
    claude.account.files |= {file.file_id for file in FILES}


@pytest.mark.usefixtures("uploaded")
def test_code_runs_in_one_container_over_a_pause_and_a_restart_and_in_a_new_one_in_the_next_turn(claude, settings):
    claude.will(
        says(CODE, RESULT, REFUND, stop_reason="tool_use", container="container_1"),
        says(text("Paid.")),
        says(text("Bye.")),
    )
    turn = resumes(begins(settings, "coder"))
    run(say(turn.chat, "Thanks"))
    assert (turn.state, claude.refused) == (TurnState.COMPLETED, [])
    assert containers(claude) == [None, "container_1", None]
    assert [step.answered_by.get("container") for step in turn.steps.order_by("index")] == ["container_1", None]


@pytest.mark.usefixtures("uploaded")
def test_code_that_was_paused_is_continued_in_its_container(claude, settings):
    claude.will(
        says(text("I look."), CODE, stop_reason="pause_turn", container="container_1"), says(RESULT, text("One."))
    )
    assert begins(settings, "coder").state == TurnState.COMPLETED
    assert (containers(claude), claude.refused) == ([None, "container_1"], [])
    assert claude.requests[1].messages[-1] == ("assistant", [text("I look."), CODE])


@pytest.mark.usefixtures("uploaded")
def test_a_container_that_is_gone_after_a_pause_is_left_out_and_the_answer_says_so(claude, settings):
    claude.will(says(CODE, RESULT, REFUND, stop_reason="tool_use", container="container_1"))
    turn = begins(settings, "coder")
    claude.account.containers.clear()
    claude.will(says(text("Paid.")))
    bob = people.bob()
    turn = resumes(turn, by=bob)
    assert (turn.state, containers(claude)) == (TurnState.COMPLETED, [None, "container_1", None])
    assert claude.refused == ["container: container_1 does not exist or has expired"]
    assert data_of(turn, "data-remark") == [{"code": "container_left_out"}]
    # The next one is used again.
    more = REFUND | {"id": "toolu_3"}
    claude.will(says(CODE, RESULT, more, stop_reason="tool_use", container="container_2"), says(text("Paid.")))
    turn = run(say(turn.chat, "Again"))
    decide(only_request(turn), bob, Verdict.APPROVE)
    assert run(turn).state == TurnState.COMPLETED
    assert containers(claude)[3:] == [None, "container_2"]


@pytest.mark.usefixtures("uploaded")
def test_a_branch_of_a_paused_turn_runs_code_in_a_container_of_its_own(claude, settings):
    claude.will(says(CODE, RESULT, REFUND, stop_reason="tool_use", container="container_1"), says(text("Paid.")))
    turn = begins(settings, "coder")
    assert resumes(last_turn(branch(turn, 0))).state == TurnState.COMPLETED
    assert (containers(claude), claude.refused) == ([None, None], [])


@pytest.mark.usefixtures("uploaded")
def test_code_that_waited_in_a_container_that_is_gone_is_not_continued(claude, settings):
    claude.will(says(text("I look."), CODE, REFUND, stop_reason="tool_use", container="container_1"))
    turn = begins(settings, "coder")
    claude.account.containers.clear()
    claude.will(says(text("Paid.")))
    turn = resumes(turn)
    assert (turn.state, len(claude.refused)) == (TurnState.COMPLETED, 1)
    assert claude.requests[-1].messages[1] == ("assistant", [text("I look."), REFUND])


@pytest.mark.usefixtures("uploaded")
def test_each_chat_begins_with_the_uploaded_files_of_its_agent(claude, settings):
    claude.will(says(REFUND, stop_reason="tool_use"), says(text("Paid.")), says(text("Bye.")))
    turn = resumes(begins(settings, "coder", "What is a cake?"))
    run(say(turn.chat, "Thanks"))
    files = [
        {"type": "document", "source": {"type": "file", "file_id": "file_prices"}, "title": "Prices of 2026"},
        {"type": "image", "source": {"type": "file", "file_id": "file_cake"}},
        {"type": "container_upload", "file_id": "file_sales"},
    ]
    begun = [request.messages[0] for request in claude.requests]
    assert (begun, claude.refused) == ([("user", [*files, text("What is a cake?")])] * 3, [])


def test_a_file_that_is_not_there_any_more_fails_the_turn_in_words(claude, settings):
    assert begins(settings, "coder").error == (
        "Claude cannot find a file of this agent: File not found: file_prices "
        "Upload it again, and change the agent's files."
    )


HANDED_OVER = {
    "type": "fallback",
    "from": {"model": "claude-sonnet-5-5"},
    "to": {"model": "claude-opus-5-5-20260801"},
    "trigger": {"type": "refusal", "category": "cyber"},
}
ROUNDS = [
    {"type": "message", "model": "claude-sonnet-5-5", "input_tokens": 100, "output_tokens": 7},
    {"type": "fallback_message", "model": "claude-opus-5-5-20260801", "input_tokens": 10, "output_tokens": 5},
]


def test_an_answer_of_a_fallback_is_on_record_and_its_cut_off_call_never_runs(claude, settings):
    cut = tool_use("toolu_1", "issueRefund", amount=1, orderId="A-0")
    before = [thinking("Hm.", "c2ln"), text("I refund "), cut]
    after = [thinking("I may.", "bm93"), text("it."), REFUND]
    claude.will(says(*before, HANDED_OVER, *after, stop_reason="tool_use", iterations=ROUNDS), says(text("Paid.")))
    turn = begins(settings, "careful")
    assert only_request(turn).input == REFUND["input"]
    turn = resumes(turn)
    assert (turn.state, claude.refused) == (TurnState.COMPLETED, [])
    assert list(ToolCall.objects.values_list("tool_call_id", flat=True)) == ["toolu_2"]
    first, second = claude.requests
    betas = "fast-mode-2026-02-01,server-side-fallback-2026-07-01"
    assert (first.body["fallbacks"], second.headers["anthropic-beta"]) == ("default", betas)
    assert second.messages[1] == ("assistant", [before[1], HANDED_OVER, *after])
    step = turn.steps.get(index=0)
    assert (step.model, step.answered_by["model"]) == ("claude-sonnet-5-5", "claude-opus-5-5-20260801")
    assert step.blocks == [*before, HANDED_OVER, *after]
    assert step.usage == {"input_tokens": 110, "output_tokens": 12}
    told = {"before": "claude-sonnet-5-5", "now": "claude-opus-5-5-20260801", "category": "cyber"}
    assert data_of(turn, "data-remark") == [{"code": "fallback", **told}]
    (failed,) = chunks(turn, "ToolFailed")
    assert (failed["tool_call_id"], failed["error_text"][:8]) == ("toolu_1", "Not run,")


def test_a_fallback_that_answers_at_once_is_on_record_and_costs_only_itself(claude, settings):
    refused = ROUNDS[0] | {"output_tokens": 0}
    claude.will(says(text("Hello."), iterations=[refused, ROUNDS[1]]))
    turn = begins(settings, "careful")
    step = turn.steps.get()
    assert (step.answered_by["model"], step.usage) == (ROUNDS[1]["model"], {"input_tokens": 10, "output_tokens": 5})
    (remark,) = data_of(turn, "data-remark")
    assert remark == {"code": "fallback", "before": "claude-sonnet-5-5", "now": ROUNDS[1]["model"]}


def test_arguments_are_passed_through_with_their_betas_in_every_request(claude, settings):
    claude.will(says(REFUND, stop_reason="tool_use"), says(text("Paid.")))
    resumes(begins(settings, "careful"))
    passed = [(request.body["speed"], request.body["metadata"]) for request in claude.requests]
    assert (passed, claude.refused) == ([("fast", {"user_id": "bakery"})] * 2, [])
    assert ["betas" in request.body for request in claude.requests] == [False, False]
