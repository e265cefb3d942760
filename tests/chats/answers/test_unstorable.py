"""Values at the limits of storage: a turn keeps them or ends. To begin again would cost an answer each time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client as Browser

from approvals.db import pool
from approvals.db.canonical_json import MAX_DEPTH, canonical
from approvals.models import ApprovalRequest, AuditEntry, OutboxEvent
from approvals.states import Door, Verdict
from chats import actions
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.interactive import ask_user
from chats.agent.provider import ModelRequest
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool
from chats.engine import model_steps, runner, sweep
from chats.models import Chat, Turn
from chats.providers.scripted import ScriptedProvider
from tests.support import people
from tests.support.chats.turns import (
    chunks,
    converse,
    decide,
    kinds,
    make_chat,
    reload,
    results_on_record,
    run,
    say,
    tool_parts,
)
from tests.support.machines import PATIENCE, Client, machine

pytestmark = pytest.mark.django_db(transaction=True)


def nested(levels: int) -> dict[str, Any]:
    """Return an object in which a text sits so many levels deep."""
    value: Any = "found"
    for _ in range(levels - 1):
        value = [value]
    return {"value": value}


@tool
def keep(value: Any) -> Any:
    """Keep a value, and return it."""
    return value


@tool(needs_approval=True)
def send(value: Any) -> str:
    """Send a value."""
    return "sent"


DEEPEST = nested(MAX_DEPTH)
WHERE = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}], "multiSelect": False, "fieldName": "f"}
KEPT = [Say("Kept.", pause=0)]
clerk = Agent(
    name="clerk",
    tools=(keep, send, ask_user),
    script=(
        Conversation("^hello$", [[Say("Hello.", pause=0)]]),
        Conversation("^keep$", [[Use("keep", DEEPEST)], KEPT]),
        Conversation("^send$", [[Use("send", DEEPEST)], [Say("Sent.", pause=0)]]),
        Conversation("^keep and ask$", [[Use("keep", DEEPEST), Use("askUser", WHERE)], KEPT]),
        Conversation("^no such tool$", [[Use("noSuchTool", nested(MAX_DEPTH + 1))], KEPT]),
    ),
)
#: The middle of a word that is cut between the two halves of a surrogate pair.
HALF = "\ud83d"
#: No database stores it, and nothing can be put in its place.
NAN = events.SourceFound({"type": "source-url", "title": float("nan")})
WRONG = "Something went wrong. The server's log has the details. Send your message again."


class Odd(ScriptedProvider):
    """Plays the script, and adds events to the answers with these numbers. It may then hang."""

    def __init__(self) -> None:
        self.asked = 0
        self.added: dict[int, list[events.Event]] = {}
        self.hangs = False
        self.is_hanging = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[events.Event, None]:
        self.asked += 1
        async for event in super().stream(request):
            yield event
        for event in self.added.get(self.asked, []):
            yield event
        if self.hangs:
            self.is_hanging.set()
            await asyncio.Event().wait()


@pytest.fixture
def provider(settings, monkeypatch):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    found = Odd()
    monkeypatch.setattr(model_steps, "current", lambda: found)
    return found


@pytest.fixture
def client(provider):
    return Client(machine(people.alice()))


def refused(client: Client) -> dict[str, int]:
    """Return the pages and documents of the client's chat that cannot be shown, with their statuses."""
    chat = Chat.objects.get()
    browser = Browser()
    browser.force_login(chat.owner)
    pages = [f"/chats/{chat.pk}/{page}" for page in ("", "timeline/", "checkpoints/", "compare/", "usage/")]
    found = {page: browser.get(page).status_code for page in pages}
    found |= {path: client.machine.get(path).status for path in (client.address, f"{client.address}/export")}
    return {page: status for page, status in found.items() if status != 200}


def test_a_call_with_the_deepest_input_reaches_its_end(provider):
    canonical(DEEPEST)
    turn = converse(people.alice(), "keep")
    assert (turn.state, turn.error, kinds(turn), provider.asked) == ("completed", "", ["final"], 2)
    (part,) = tool_parts(turn)
    assert (part["input"], part["output"]) == (DEEPEST, DEEPEST["value"])


def test_pages_and_clients_show_an_approval_with_the_deepest_input(provider, client):
    client.say("send")
    assert (client.read()["status"], provider.asked) == ("suspended", 1)
    assert refused(client) == {}
    decide(ApprovalRequest.objects.get(), people.bob(), Verdict.APPROVE)
    turn = run(Turn.objects.get())
    assert (turn.state, kinds(turn), provider.asked) == ("completed", ["partial", "final"], 2)
    assert refused(client) == {}


def test_a_client_answers_a_question_beside_the_deepest_input(client):
    client.say("keep and ask")
    assert client.answer("Yes").types[-1] == "finish"
    assert (client.read()["status"], client.last["parts"][-1]["text"]) == ("idle", "Kept.")


def test_an_unknown_tool_with_an_input_that_cannot_be_stored_is_refused(provider):
    turn = converse(people.alice(), "no such tool")
    (part,) = tool_parts(turn)
    assert (turn.state, part["input"], part["errorText"][:22]) == ("completed", {}, "There is no tool named")


def test_half_a_surrogate_pair_in_a_call_is_replaced_in_the_stream(provider):
    provider.added[1] = [
        events.ToolInputStarted("call_1", f"keep{HALF}"),
        events.ToolInputDelta("call_1", f'{{"value": "{HALF}'),
        events.ToolInputReady(f"call_1{HALF}", "keep", {}),
    ]
    turn = converse(people.alice(), "hello")
    assert (turn.state, turn.error, provider.asked) == ("completed", "", 1)
    stored = [chunks(turn, name)[0] for name in ("ToolInputStarted", "ToolInputDelta", "ToolInputInvalid")]
    assert [stored[0]["tool_name"], stored[1]["text"], stored[2]["tool_call_id"]] == [
        "keep\ufffd",
        # The half waits for the end of its call, which has another id here.
        '{"value": "',
        "call_1\ufffd",
    ]


def test_an_answer_whose_call_has_an_id_that_cannot_be_stored_is_refused(provider):
    block = {"type": "tool_use", "id": HALF, "name": "keep", "input": DEEPEST}
    provider.added[1] = [events.ModelFinished([block], "tool_use", "model")]
    turn = converse(people.alice(), "hello")
    words = "The model's tool calls have no distinct ids"
    assert (turn.state, turn.error[: len(words)], provider.asked) == ("failed", words, 1)


def test_a_turn_whose_end_cannot_be_stored_fails_and_keeps_its_steps(provider, client, settings, caplog):
    settings.HITL_EVENT_HANDLERS = ["tests.chats.answers.nobody"]
    provider.added[2] = [NAN]
    answer = client.say("keep")
    turn = Turn.objects.get()
    assert (turn.state, turn.finish_reason, turn.error, provider.asked) == ("failed", "error", WRONG, 2)
    assert (list(sweep.stuck_turns(Now())), kinds(turn)) == ([], [])
    # People who follow the turn and people who read it later see its steps and the error.
    assert answer.chunks[-1] == {"type": "error", "errorText": WRONG}
    assert (client.read()["status"], client.calls()[0]["state"], refused(client)) == ("failed", "output-available", {})
    assert list(results_on_record(turn).values()) == [1]
    assert AuditEntry.objects.get(event="turn.failed").data == {"error": WRONG}
    assert OutboxEvent.objects.get(name="turn.completed").payload["state"] == "failed"
    logged = [record for record in caplog.records if record.name == "chats.engine.runner"]
    assert [bool(record.exc_info) for record in logged] == [True, True]
    client.say("hello")
    assert (client.read()["status"], client.last["parts"][-1]["text"]) == ("idle", "Hello.")


def test_a_stop_ends_a_turn_whose_stream_cannot_be_stored(provider):
    provider.added[1], provider.hangs = [NAN], True
    turn = say(make_chat(people.alice()), "hello")

    async def story() -> None:
        cut = asyncio.Event()
        running = asyncio.create_task(runner.advance(turn.pk, cut))
        await provider.is_hanging.wait()
        await pool.run(actions.stop_turn, turn.chat, by=turn.chat.owner, via=Door.CHAT)
        cut.set()
        await running

    asyncio.run(asyncio.wait_for(story(), PATIENCE))
    turn = reload(turn)
    assert (turn.state, turn.stopped, turn.error, provider.asked) == ("failed", True, WRONG, 1)
    assert set(AuditEntry.objects.values_list("event", flat=True)) == {"turn.stopped", "turn.failed"}
