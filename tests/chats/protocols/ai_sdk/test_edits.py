"""Edits and regenerations remove the same messages as in the client, and nothing else is lost."""

from __future__ import annotations

import asyncio
import re

import pytest
from django.test import Client as Browser

from approvals.access.standing import standing_of
from approvals.db import pool
from approvals.models import ApprovalRequest, Decision
from chats.models import Chat, Message, Turn, TurnCheckpoint
from chats.pages.context import render_push
from tests.support import people
from tests.support.chats import agents
from tests.support.machines import Client, machine, served, user_message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client():
    return Client(machine(people.bob()))


def texts(client: Client) -> list[str]:
    """Return the texts of the user's messages."""
    return [message["parts"][0]["text"] for message in client.messages if message["role"] == "user"]


def edit(client: Client, position: int, text: str, new_id: str = ""):
    """Edit a user's message as the SDK does: drop it and all later messages, and send it again."""
    old = client.messages[position]["id"]
    client.messages = [*client.messages[:position], user_message(text, new_id or old)]
    answer = client.post(messageId=old)
    client.read()
    return answer


def regenerate(client: Client, **given):
    client.messages = client.messages[:-1]
    answer = client.post(trigger="regenerate-message", **given)
    client.read()
    return answer


def test_an_edit_removes_the_same_messages_as_in_the_client_and_keeps_the_audit_log(client):
    client.say("hello")
    client.say("ask human")
    client.answer("fine")
    client.read()
    old_answers = {message["id"] for message in client.messages if message["role"] == "assistant"}
    answer = edit(client, 0, "weather")
    assert answer.types[-1] == "finish"
    assert (len(client.messages), texts(client)) == (2, ["weather"])
    assert old_answers < set(TurnCheckpoint.objects.values_list("message_id", flat=True))
    assert Message.objects.filter(cut_at__isnull=False).count() == 4


def test_open_pages_drop_removed_messages_and_checkpoints_are_marked(client):
    client.say("hello")
    client.say("weather")
    gone = list(Message.objects.order_by("position").values_list("pk", flat=True))
    edit(client, 0, "ask")
    chat = Chat.objects.get()
    pushed = render_push(standing_of(chat.owner), chat)
    deleted = re.findall(r'<article id="message-(\d+)" hx-swap-oob="delete">', pushed)
    assert sorted(map(int, deleted)) == gone
    page = Browser()
    page.force_login(chat.owner)
    text = page.get(f"/chats/{chat.pk}/checkpoints/").content.decode()
    assert (text.count("removed by an edit"), text.count('class="panel-title"')) == (2, 3)


def test_an_edited_message_may_come_with_a_new_id(client):
    client.say("hello")
    edit(client, 0, "weather", new_id="u77")
    assert client.messages[0]["id"] == "u77"
    edit(client, 0, "hello")
    edit(client, 0, "hello again", new_id="u0")
    assert texts(client) == ["hello again"]


def test_the_model_is_not_shown_removed_messages(client):
    client.say("hello")
    edit(client, 0, "ask")
    client.answer("yes")
    client.read()
    assert [part["type"] for part in client.last["parts"]][-1] == "text"
    assert client.last["parts"][-1]["text"] == "Thank you, you chose yes. I will arrange that."


@pytest.mark.parametrize("given", [{}, {"messageId": "the answer"}, {"messageId": "the user's"}])
def test_a_regeneration_answers_the_last_message_again(client, given):
    client.say("hello")
    named = {"the answer": client.messages[1]["id"], "the user's": client.messages[0]["id"]}
    first = client.last
    regenerate(client, **{name: named[value] for name, value in given.items()})
    assert (len(client.messages), client.last["parts"] == first["parts"], client.last["id"] == first["id"]) == (
        2,
        True,
        False,
    )


@pytest.mark.shows("ai-sdk", "cancel")
def test_an_edit_cancels_pending_requests(client):
    client.say("approve refund")
    edit(client, 0, "hello")
    decision = Decision.objects.get()
    assert (decision.verdict, decision.by_name, decision.via) == ("cancel", "API key test of bob", "stop")
    assert client.read()["status"] == "idle"
    assert list(Turn.objects.order_by("pk").values_list("state", flat=True)) == ["stopped", "completed"]


def test_a_regeneration_cancels_a_pending_question_and_asks_again(client):
    client.say("ask")
    asked = ApprovalRequest.objects.get()
    regenerate(client)
    assert list(ApprovalRequest.objects.order_by("created_at").values_list("status", flat=True)) == [
        "cancelled",
        "pending",
    ]
    late = {"id": "x", "role": "assistant", "parts": []}
    late["id"] = Turn.objects.order_by("pk").first().message_id
    late["parts"] = [
        {"type": "tool-askUser", "toolCallId": asked.tool_call_id, "state": "output-available", "output": "late"}
    ]
    answer = client.post(messages=[late], messageId=late["id"])
    assert (answer.status, answer.code) == (409, "unknown_message")


def test_edits_are_refused_during_a_running_turn(client, settings):
    settings.HITL_AGENTS = [agents.PATH]
    client.messages = [user_message("recite", "u1")]

    async def story():
        posting = asyncio.create_task(client.apost())
        while not await pool.run(Turn.objects.filter(state="running").exists):
            await asyncio.sleep(0.01)
        refused = [
            await client.apost(messageId="u1"),
            await client.apost(trigger="regenerate-message"),
            await client.apost(messages=[user_message("more", "u2")]),
            await client.apost(),
        ]
        await client.astop()
        await posting
        return refused

    assert [(answer.status, answer.code) for answer in served(story)] == [
        (409, "turn_running"),
        (409, "turn_running"),
        (409, "turn_running"),
        (409, "message_known"),
    ]
    assert client.read()["status"] == "idle"


def test_a_message_is_refused_while_requests_are_pending_and_names_them(client):
    client.say("ask parallel")
    before = client.messages
    answer = client.say("never mind")
    assert (answer.status, answer.code) == (409, "approval_pending")
    assert [found["title"] for found in answer.json["requests"]] == [
        "Which delivery do you prefer?",
        "What should we add?",
    ]
    assert client.messages == before[:2]


def test_a_client_with_a_stale_copy_is_told_to_read_again(client):
    client.say("hello")
    answer = client.post(trigger="regenerate-message", messages=[client.messages[1]])
    assert (answer.status, answer.code) == (409, "history_differs")
    answer = client.post(trigger="regenerate-message", messageId="a9", messages=client.messages[:1])
    assert (answer.status, answer.code) == (409, "history_differs")
    answer = client.post(messages=[user_message("x", "u5")], messageId="u9")
    assert (answer.status, answer.code) == (409, "unknown_message")


def test_a_refused_first_message_creates_no_chat(client):
    assert client.post(messages=[user_message(" ", "u1")]).code == "bad_message"
    assert Chat.objects.count() == 0


def test_a_chat_keeps_its_agent(client, settings):
    settings.HITL_AGENTS = ["chats.agent.demo.support", "tests.support.chats.agents.oddball"]
    client.say("nothing", agent="oddball")
    assert Chat.objects.get().agent == "oddball"
    client.say("nothing")
    assert set(Turn.objects.values_list("agent", flat=True)) == {"oddball"}
    answer = client.say("hello", agent="support")
    assert (answer.status, answer.code) == (422, "bad_message")
