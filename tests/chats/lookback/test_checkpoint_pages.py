"""The checkpoints of a chat by message, in readable form and as stored JSON."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict
from chats import actions
from chats.models import Message, TurnCheckpoint
from tests.support.chats.scenes import REFUND, answer, begin, completed, paused, text, use
from tests.support.chats.turns import make_chat, say, start_call
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(db):
    """A chat with a greeting, and with a refund that Bob approved."""
    chat = make_chat(alice())
    completed(chat)
    turn = paused(chat)
    desk.decide(ApprovalRequest.objects.get().pk, Answer(Verdict.APPROVE), by=bob(), via=Door.DASHBOARD)
    assert actions.resume_turn(turn.pk)
    claim = begin(turn)
    call = turn.tool_calls.get()
    assert actions.finish_call(start_call(claim, call.turn), output={"status": "refunded"})
    actions.release_turn(claim)
    answer(turn, text("It is done."))
    return chat


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_chat_without_an_answer_has_no_checkpoints_yet():
    chat = make_chat(alice())
    say(chat, "hello")
    page = parse(browser(chat.owner).get(f"{chat.get_absolute_url()}checkpoints/").text)
    (words,) = page.find("p", class_="empty")
    assert words.words == "No checkpoints yet. One is saved each time the agent pauses or finishes."


def test_the_history_lists_every_message_with_its_partial_checkpoints_and_its_final_one(chat):
    page = browser(chat.owner).get(f"{chat.get_absolute_url()}checkpoints/").text
    shown = [
        (
            panel.find("h2")[0].words,
            [[badge.words for badge in row.find("span", class_="badge")] for row in panel.find("li")],
        )
        for panel in parse(page).find("section", class_="panel")
    ]
    first, second, *_final = TurnCheckpoint.objects.order_by("id").values_list("created_at", flat=True)
    assert shown == [
        (f"Answer of {first:%Y-%m-%d %H:%M}", [["Final"]]),
        (f"Answer of {second:%Y-%m-%d %H:%M}", [["Partial"], ["Final"]]),
    ]
    links = [link.attributes["href"] for link in parse(page).find("a", class_="row-title")]
    assert links == [
        f"/chats/checkpoints/{pk}/" for pk in TurnCheckpoint.objects.order_by("id").values_list("pk", flat=True)
    ]


def test_a_stopped_turns_checkpoint_says_so():
    chat = make_chat(alice())
    paused(chat)
    assert actions.stop_turn(chat, by=chat.owner, via=Door.CHAT)
    page = browser(chat.owner).get(f"{chat.get_absolute_url()}checkpoints/").text
    badges = [badge.words for badge in parse(page).find("span", class_="badge")]
    assert badges == ["Partial", "Final", "stopped"]


def test_checkpoint_shows_the_message_as_it_was(chat):
    partial = TurnCheckpoint.objects.get(kind="partial")
    page = parse(browser(chat.owner).get(f"/chats/checkpoints/{partial.pk}/").text)
    assert [shown.words for shown in page.find("div", class_="text")] == ["I will."]
    assert page.find("details", class_="tool")[0].find("summary")[0].words == "issueRefund waiting for approval"
    facts = {row.find("dt")[0].words: row.find("dd")[0].words for row in page.find("dl")[0].find("div")}
    assert facts["State"] == "Waiting for a decision"
    assert facts["Digest"] == partial.digest


def test_a_checkpoints_raw_json_is_the_whole_message(chat):
    final = TurnCheckpoint.objects.get(kind="final", ordinal=1)
    page = parse(browser(chat.owner).get(f"/chats/checkpoints/{final.pk}/").text)
    (raw,) = page.find("details", class_="raw")
    message = Message.objects.get(message_id=final.message_id)
    stored = {"id": message.message_id, "role": "assistant", "parts": message.parts}
    assert json.loads(raw.find("pre")[0].text) == stored
    assert [part.get("output") for part in stored["parts"] if "output" in part] == [{"status": "refunded"}]


def test_a_failed_turns_checkpoint_shows_the_error():
    chat = make_chat(alice())
    claim = begin(say(chat, "hello"))
    actions.fail_turn(claim, "The model is <b>down</b>.", 0, [], 1)
    page = parse(browser(chat.owner).get(f"/chats/checkpoints/{TurnCheckpoint.objects.get().pk}/").text)
    (words,) = page.find("p", class_="refusal")
    assert words.words == "The model is <b>down</b>."
    (empty,) = page.find("p", class_="empty")
    assert empty.words == "The message was still empty."


def test_the_checkpoint_of_a_call_holds_the_input_that_was_proposed(chat):
    partial = TurnCheckpoint.objects.get(kind="partial")
    page = parse(browser(chat.owner).get(f"/chats/checkpoints/{partial.pk}/").text)
    (tool,) = page.find("details", class_="tool")
    assert [json.loads(shown.text) for shown in tool.find("pre")] == [REFUND]


def test_question_in_a_checkpoint_is_shown_as_waiting():
    chat = make_chat(alice())
    paused(chat, use("askHuman", {"question": "May I?"}))
    page = parse(browser(chat.owner).get(f"/chats/checkpoints/{TurnCheckpoint.objects.get().pk}/").text)
    (tool,) = page.find("details", class_="tool")
    assert tool.find("summary")[0].words == "askHuman waiting for an answer"
