"""Reading a chat, following it, and cutting it where the client did."""

from __future__ import annotations

import asyncio
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import ApprovalRequest, Decision
from chats.models import Chat, Message, Turn, TurnCheckpoint
from tests import people
from tests.ai_sdk.wire_rules import problems
from tests.machines import Client, machine, served, user_message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client():
    return Client(machine(people.bob()))


def texts(client: Client) -> list[str]:
    """The users' messages in the conversation."""
    return [message["parts"][0]["text"] for message in client.messages if message["role"] == "user"]


def edit(client: Client, position: int, text: str, new_id: str = ""):
    """Change a user's message as the SDK does: it and all behind it go, and it is sent anew."""
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


def test_a_chat_is_read_as_the_client_shows_it_with_what_waits(client):
    client.say("approve refund")
    found = client.read()
    request = ApprovalRequest.objects.get()
    assert found["status"] == "suspended"
    assert found["pending"] == [
        {
            "requestId": str(request.pk),
            "kind": "approval",
            "title": "Run issueRefund?",
            "toolName": "issueRefund",
            "toolCallId": request.tool_call_id,
            "url": f"http://localhost/requests/{request.pk}/",
            "deadline": None,
        }
    ]
    assert client.calls()[0]["approval"] == {"id": str(request.pk)}
    assert client.messages[0] == user_message("approve refund", "u0")


def test_a_watcher_pays_nothing_while_nothing_changes(client):
    client.say("ask")
    first = client.machine.get(client.address)
    again = client.machine.get(client.address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.text, again.headers["etag"]) == (304, "", first.headers["etag"])
    client.answer("yes")
    changed = client.machine.get(client.address, headers={"if-none-match": first.headers["etag"]})
    assert (changed.status, changed.json["status"]) == (200, "idle")


def test_a_read_costs_the_same_however_long_the_chat_is(client):
    counts = []
    for _ in range(3):
        for _ in range(3):
            client.say("weather")
        with CaptureQueriesContext(connection) as queries:
            client.read()
        counts.append(len(queries))
    assert len(set(counts)) == 1


@pytest.mark.parametrize("who", ["nobody's", "somebody else's"])
def test_chats_that_are_not_there_and_not_yours_look_alike(client, who):
    if who == "somebody else's":
        client.say("ask")
    mallory = machine(people.mallory())
    read, resume, stop = (
        mallory.call(method, f"{client.address}{end}")
        for method, end in [("GET", ""), ("GET", "/stream"), ("POST", "/stop")]
    )
    assert [(read.status, read.code), (resume.status, resume.text), (stop.status, stop.code)] == [
        (404, "not_found"),
        (204, ""),
        (404, "not_found"),
    ]


def test_two_people_may_use_the_same_chat_id(client):
    client.say("hello")
    other = Client(machine(people.alice()), client.chat)
    other.say("weather")
    assert (texts(client), texts(other), Chat.objects.count()) == (["hello"], ["weather"], 2)


def test_a_second_tab_follows_a_first_response_from_its_beginning(client):
    client.messages = [user_message("slow", "u1")]

    async def story():
        posting = asyncio.create_task(client.apost())
        while not await asyncio.to_thread(Turn.objects.filter(events__seq__gt=5).exists):
            await asyncio.sleep(0.01)
        followed = await client.machine.acall("GET", f"{client.address}/stream")
        return followed, await posting

    followed, posted = served(story)
    assert problems(followed.chunks) == []
    assert followed.chunks == posted.chunks


def test_a_continuation_is_not_followed_and_reads_as_far_as_it_is_committed(client):
    client.say("ask slow")
    client.fill("Express")

    async def story():
        posting = asyncio.create_task(client.apost(messageId=client.last["id"]))
        while not await asyncio.to_thread(Turn.objects.filter(state="running").exists):
            await asyncio.sleep(0.01)
        followed = await client.machine.acall("GET", f"{client.address}/stream")
        read = await client.machine.acall("GET", client.address)
        await posting
        return followed, read

    followed, read = served(story)
    assert followed.status == 204
    assert read.json["status"] == "running"
    parts = read.json["messages"][-1]["parts"]
    assert [part["type"] for part in parts] == ["step-start", "text", "tool-askUser"]
    assert parts[-1]["state"] == "output-available"


def test_a_client_that_goes_away_stops_nothing(client):
    async def story():
        body = json.dumps(client.body(messages=[user_message("weather", "u1")])).encode()
        line = client.machine.connect("POST", "/api/chat", body, {})
        await line.send_input({"type": "http.request", "body": body})
        await line.receive_output(10)
        await line.send_input({"type": "http.disconnect"})
        await line.wait(10)
        while await asyncio.to_thread(Turn.objects.exclude(state="completed").exists):
            await asyncio.sleep(0.01)

    served(story)
    assert client.read()["status"] == "idle"
    assert [part["type"] for part in client.last["parts"]][-1] == "text"


def test_an_edit_cuts_where_the_client_cuts_and_the_rest_stays_on_record(client):
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


def test_an_edited_message_may_come_with_a_new_id(client):
    client.say("hello")
    edit(client, 0, "weather", new_id="u77")
    assert client.messages[0]["id"] == "u77"
    edit(client, 0, "hello")
    edit(client, 0, "hello again", new_id="u0")
    assert texts(client) == ["hello again"]


def test_the_model_is_not_shown_what_was_cut(client):
    client.say("hello")
    edit(client, 0, "ask")
    client.answer("yes")
    client.read()
    assert [part["type"] for part in client.last["parts"]][-1] == "text"
    assert client.last["parts"][-1]["text"] == "Thank you, you chose yes. I will arrange that."


@pytest.mark.parametrize("given", [{}, {"messageId": "the answer"}, {"messageId": "the user's"}])
def test_a_regeneration_answers_the_last_message_anew(client, given):
    client.say("hello")
    named = {"the answer": client.messages[1]["id"], "the user's": client.messages[0]["id"]}
    first = client.last
    regenerate(client, **{name: named[value] for name, value in given.items()})
    assert (len(client.messages), client.last["parts"] == first["parts"], client.last["id"] == first["id"]) == (
        2,
        True,
        False,
    )


def test_an_edit_over_an_open_request_cancels_it_first(client):
    client.say("approve refund")
    edit(client, 0, "hello")
    decision = Decision.objects.get()
    assert (decision.verdict, decision.by_name, decision.via) == ("cancel", "bob", "stop")
    assert client.read()["status"] == "idle"
    assert list(Turn.objects.order_by("pk").values_list("state", flat=True)) == ["stopped", "completed"]


def test_a_regeneration_over_an_open_question_cancels_it_and_asks_anew(client):
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


def test_nothing_is_cut_under_a_running_turn(client):
    client.messages = [user_message("slow", "u1")]

    async def story():
        posting = asyncio.create_task(client.apost())
        while not await asyncio.to_thread(Turn.objects.filter(state="running").exists):
            await asyncio.sleep(0.01)
        refused = [
            await client.apost(messageId="u1"),
            await client.apost(trigger="regenerate-message"),
            await client.apost(messages=[user_message("more", "u2")]),
            await client.apost(),
        ]
        await posting
        return refused

    assert [(answer.status, answer.code) for answer in served(story)] == [
        (409, "turn_running"),
        (409, "turn_running"),
        (409, "turn_running"),
        (409, "message_known"),
    ]
    assert client.read()["status"] == "idle"


def test_a_message_while_people_are_asked_is_refused_and_names_what_waits(client):
    client.say("ask parallel")
    before = client.messages
    answer = client.say("never mind")
    assert (answer.status, answer.code) == (409, "approval_pending")
    assert [found["title"] for found in answer.json["requests"]] == [
        "Which delivery do you prefer?",
        "What should we add?",
    ]
    assert client.messages == before[:2]


def test_a_client_whose_copy_is_stale_is_told_to_read_again(client):
    client.say("hello")
    answer = client.post(trigger="regenerate-message", messages=[client.messages[1]])
    assert (answer.status, answer.code) == (409, "history_differs")
    answer = client.post(trigger="regenerate-message", messageId="a9", messages=client.messages[:1])
    assert (answer.status, answer.code) == (409, "history_differs")
    answer = client.post(messages=[user_message("x", "u5")], messageId="u9")
    assert (answer.status, answer.code) == (409, "unknown_message")


def test_a_refused_first_message_leaves_no_chat_behind(client):
    assert client.post(messages=[user_message(" ", "u1")]).code == "bad_message"
    assert Chat.objects.count() == 0


def test_a_chat_keeps_its_agent(client, settings):
    settings.HITL_AGENTS = ["chats.agent.demo.support", "tests.chats.agents.oddball"]
    client.say("nothing", agent="oddball")
    assert Chat.objects.get().agent == "oddball"
    client.say("nothing")
    assert set(Turn.objects.values_list("agent", flat=True)) == {"oddball"}
    answer = client.say("hello", agent="support")
    assert (answer.status, answer.code) == (422, "bad_message")
