"""Whole turns whose thoughts stop being valid: after a restart with another agent, in a branch, and in another account."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from approvals.states import Door
from chats import actions
from chats.models import Message, Step, TurnCheckpoint
from tests.chats.providers import test_anthropic_turns as turns
from tests.chats.providers.test_anthropic_turns import claude, converse, restart, say, sent
from tests.support.anthropic_server import AnthropicServer, says, text, thinking
from tests.support.chats.turns import run

__all__ = ["claude"]

pytestmark = pytest.mark.django_db(transaction=True)

LEFT_OUT = "The thoughts of 2 earlier answers are left out: "


def thoughts(claude):
    """Return the texts of the thoughts that were sent, by request."""
    return [
        [block["thinking"] for content in sent(claude, number) for block in content if block["type"] == "thinking"]
        for number in range(len(claude.requests))
    ]


def thinks(number):
    return says(thinking(f"Thought {number}", f"c2ln{number}"), text(f"Answer {number}"))


def details():
    return [step.stop_details for step in Step.objects.order_by("id")]


def test_page_contexts_in_the_history_keep_all_thoughts_valid(claude):
    claude.will(*map(thinks, range(3)))
    turn = converse()
    for number in (1, 2):
        actions.post_message(
            turn.chat, "More", by=turn.chat.owner, agent=turns.thinker, via=Door.CHAT, context={"page": number}
        )
        run(turn.chat.turns.latest("pk"))
    assert thoughts(claude) == [[], ["Thought 0"], ["Thought 0", "Thought 1"]]
    assert sent(claude)[:3] == sent(claude, 1)


def test_another_system_prompt_after_a_restart_leaves_out_the_thoughts_before_it_once(claude, monkeypatch, caplog):
    claude.will(*map(thinks, range(5)))
    chat = converse().chat
    run(say(chat, "More"))
    monkeypatch.setattr(turns, "thinker", replace(turns.thinker, system="Be brief."))
    restart()
    for _ in range(3):
        run(say(chat, "More"))
    assert thoughts(claude) == [[], ["Thought 0"], [], ["Thought 2"], ["Thought 2", "Thought 3"]]
    assert details() == [{}, {}, {"thoughts_left_out": {"answers": 2, "why": "changed"}}, {}, {}]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{LEFT_OUT}the instructions, tools or messages that were sent before them have changed"
    ]


def test_another_account_refuses_the_thoughts_once_and_for_all(claude, monkeypatch):
    claude.will(*map(thinks, range(2)))
    chat = converse().chat
    run(say(chat, "More"))
    with AnthropicServer() as other:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", other.url)
        restart()
        other.will(*map(thinks, (2, 3)))
        run(say(chat, "More"))
        # Also a process that has not seen the refusal sends them no more.
        restart()
        run(say(chat, "More"))
        assert thoughts(other) == [["Thought 0", "Thought 1"], [], ["Thought 2"]]
    assert details() == [{}, {}, {"thoughts_left_out": {"answers": 2, "why": "refused"}}, {}]


def test_a_branch_keeps_the_thoughts_of_its_original(claude):
    claude.will(*map(thinks, range(3)))
    turn = converse()
    run(say(turn.chat, "More"))
    checkpoint = TurnCheckpoint.objects.get(message_id=turn.message_id)
    branch = actions.branch_chat(
        turn.chat, checkpoint, by=turn.chat.owner, agent=turns.thinker, token=uuid4().hex, via=Door.CHAT
    )
    run(say(branch, "Otherwise?"))
    assert thoughts(claude)[2] == ["Thought 0"]
    assert Message.objects.filter(chat=branch).count() == 4
