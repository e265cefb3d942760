"""Reading a chat and following its turns."""

from __future__ import annotations

import asyncio
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.db import pool
from approvals.models import ApprovalRequest
from chats.doorbell import chat_group
from chats.models import Chat, Turn
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.wire_rules import problems
from tests.support.machines import Client, answer_on, machine, served, user_message
from tests.support.waiting import until_group_is_heard

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client():
    return Client(machine(people.bob()))


def texts(client: Client) -> list[str]:
    """Return the texts of the user's messages."""
    return [message["parts"][0]["text"] for message in client.messages if message["role"] == "user"]


def test_reading_a_chat_returns_its_messages_and_pending_requests(client):
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
            "url": f"http://127.0.0.1:8000/requests/{request.pk}/",
            "deadline": None,
            "progress": None,
        }
    ]
    assert client.calls()[0]["approval"] == {"id": str(request.pk)}
    assert client.messages[0] == user_message("approve refund", "u0")


def test_an_unchanged_chat_is_not_sent_again(client):
    client.say("ask")
    first = client.machine.get(client.address)
    again = client.machine.get(client.address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.text, again.headers["etag"]) == (304, "", first.headers["etag"])
    client.answer("yes")
    changed = client.machine.get(client.address, headers={"if-none-match": first.headers["etag"]})
    assert (changed.status, changed.json["status"]) == (200, "idle")


def test_the_number_of_statements_does_not_depend_on_the_length_of_the_chat(client):
    counts = []
    for _ in range(2):
        for _ in range(2):
            client.say("hello")
        with CaptureQueriesContext(connection) as queries:
            client.read()
        counts.append(len(queries))
    assert len(set(counts)) == 1


@pytest.mark.parametrize("who", ["nobody's", "somebody else's"])
def test_absent_and_forbidden_chats_look_alike(client, who):
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


def test_a_second_tab_follows_a_first_response_from_the_start(client, settings):
    settings.HITL_AGENTS = [agents.PATH]
    client.messages = [user_message("recite", "u1")]

    async def story():
        posting = asyncio.create_task(client.apost())
        while not await pool.run(Turn.objects.filter(events__seq__gt=5).exists):
            await asyncio.sleep(0.01)
        line = client.machine.connect("GET", f"{client.address}/stream", b"", {})
        await line.send_input({"type": "http.request", "body": b""})
        start = await line.receive_output(60)
        await client.astop()
        return await answer_on(line, start), await posting

    followed, posted = served(story)
    assert problems(followed.chunks) == []
    assert followed.chunks == posted.chunks


def test_a_continued_turn_is_followed_from_the_beginning_of_its_message(client, settings):
    settings.HITL_AGENTS = [agents.PATH]
    client.say("ask first")
    client.fill("Express")

    async def story():
        posting = asyncio.create_task(client.apost(messageId=client.last["id"]))
        while not await pool.run(Turn.objects.filter(state="running").exists):
            await asyncio.sleep(0.01)
        line = client.machine.connect("GET", f"{client.address}/stream", b"", {})
        await line.send_input({"type": "http.request", "body": b""})
        start = await line.receive_output(60)
        read = await client.machine.acall("GET", client.address)
        await client.astop()
        followed = await answer_on(line, start)
        return followed, await posting, read

    followed, posted, read = served(story)
    assert read.json["status"] == "running"
    parts = read.json["messages"][-1]["parts"]
    assert [part["type"] for part in parts] == ["step-start", "text", "tool-askUser"]
    assert parts[-1]["state"] == "output-available"
    assert problems(followed.chunks) == []
    assert followed.chunks[:9] == [
        {"type": "start", "messageId": client.last["id"]},
        {"type": "start-step"},
        {"type": "text-start", "id": "stored-1"},
        {"type": "text-delta", "id": "stored-1", "delta": parts[1]["text"]},
        {"type": "text-end", "id": "stored-1"},
        {key: parts[2][key] for key in ("toolCallId", "input")}
        | {"type": "tool-input-available", "toolName": "askUser"},
        {"type": "tool-output-available", "toolCallId": parts[2]["toolCallId"], "output": parts[2]["output"]},
        {"type": "finish-step"},
        {"type": "start-step"},
    ]
    assert followed.chunks[9:] == posted.chunks[posted.types.index("start-step") + 1 :]


WAITS = {"a message": ("hello", "u1", "idle"), "a question": ("ask", "u1", "suspended")}


@pytest.mark.parametrize("what", WAITS)
def test_a_client_can_wait_until_a_chat_changes(client, what):
    text, message_id, status = WAITS[what]
    client.say("weather")
    known = client.machine.get(client.address)
    chat = Chat.objects.get()

    async def story():
        since = {"If-None-Match": known.headers["etag"]}
        waiting = [
            asyncio.create_task(client.machine.acall("GET", f"{client.address}?wait=60", headers=headers))
            for headers in (since, {})
        ]
        await until_group_is_heard(chat_group(chat.pk), len(waiting))
        client.messages.append(user_message(text, message_id))
        posting = await client.apost()
        seen = [await one for one in waiting]
        while seen[-1].json["status"] != status:
            since = {"If-None-Match": seen[-1].headers["etag"]}
            seen.append(await client.machine.acall("GET", f"{client.address}?wait=60", headers=since))
        return posting, seen

    posting, seen = served(story)
    assert (posting.status, {one.status for one in seen}) == (200, {200})
    assert known.headers["etag"] not in {one.headers["etag"] for one in seen[:1]}


def test_a_wait_that_sees_no_change_ends_with_304_and_one_that_is_not_needed_at_once(client):
    client.say("hello")
    known = client.machine.get(client.address)
    since = {"If-None-Match": known.headers["etag"]}
    assert client.machine.get(f"{client.address}?wait=1", headers=since).status == 304
    assert client.machine.get(f"{client.address}?wait=60", headers={"If-None-Match": '"old"'}).status == 200
    refused = [client.machine.get(f"{client.address}?wait={wait}") for wait in ("61", "-1", "x", "1.5", "")]
    assert {(answer.status, answer.code) for answer in refused} == {(422, "invalid")}


def test_a_disconnected_client_does_not_stop_the_turn(client):
    async def story():
        body = json.dumps(client.body(messages=[user_message("weather", "u1")])).encode()
        line = client.machine.connect("POST", "/api/chat", body, {})
        await line.send_input({"type": "http.request", "body": body})
        await line.receive_output(60)
        await line.send_input({"type": "http.disconnect"})
        await line.wait(60)
        while await pool.run(Turn.objects.exclude(state="completed").exists):
            await asyncio.sleep(0.01)

    served(story)
    assert client.read()["status"] == "idle"
    assert [part["type"] for part in client.last["parts"]][-1] == "text"
