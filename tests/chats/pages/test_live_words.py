"""Pushes to an open chat page while a model thinks, or is silent."""

from __future__ import annotations

import pytest

from approvals.db.pool import run
from chats import actions
from chats.agent import events
from chats.engine import streams
from chats.models import Chat
from tests.hitlsite.pages.test_websockets import until_followed
from tests.support.chats.scenes import begin
from tests.support.chats.turns import make_chat, say
from tests.support.lines import line
from tests.support.markup import parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)


def begun() -> Chat:
    """Return a chat whose turn a runner has claimed."""
    chat = make_chat(alice())
    begin(say(chat, "hello"))
    return chat


async def pushed(page, happened) -> list[tuple[str, str]]:
    """Publish events of the chat's turn; return the target and the text of each fragment that they cause."""
    chat, told = happened
    await until_followed(chat)
    turn = await run(lambda: chat.turns.get().pk)
    streams.publish(turn, [(number + 1, event) for number, event in enumerate(told)])
    found: list[tuple[str, str]] = []
    for event in told:
        if isinstance(event, events.TextStarted | events.ReasoningStarted):
            continue
        root = parse(await page.push())
        elements = [*root.find("span"), *root.find("div")]
        ids = [one.attributes.get("hx-swap-oob", "") for one in elements]
        found += [
            (swap if ":" in swap else one.attributes["id"], one.words)
            for one, swap in zip(elements, ids, strict=True)
            if swap and not one.attributes.get("id", "").startswith("live-")
        ]
    return found


async def test_thoughts_are_pushed_apart_from_the_answer():
    chat = await run(begun)
    async with line(f"/ws/chats/{chat.pk}/", chat.owner) as page:
        await page.push()
        told = [
            events.StepStarted(0),
            events.ReasoningStarted("r"),
            events.ReasoningDelta("r", "Hm."),
            events.TextStarted("t"),
            events.TextDelta("t", "Yes."),
        ]
        turn = await run(lambda: chat.turns.get().pk)
        assert await pushed(page, (chat, told)) == [
            (f"beforeend:#live-thinking-{turn}-0", "Hm."),
            (f"beforeend:#live-text-{turn}-0", "Yes."),
        ]


async def test_a_silent_model_is_told_until_its_first_word():
    chat = await run(begun)
    async with line(f"/ws/chats/{chat.pk}/", chat.owner) as page:
        await page.push()
        told = [events.StepStarted(0), events.ModelSilent(1, 4, 5), events.ModelSilent(2, 4, 10)]
        assert await pushed(page, (chat, told)) == [
            ("turn-words", "The model has not answered yet (try 1 of 4)."),
            ("turn-words", "The model has not answered yet (try 2 of 4)."),
        ]
        streams.publish(await run(lambda: chat.turns.get().pk), [(4, events.TextDelta("t", "Yes."))])
        (words,) = parse(await page.push()).find("span", id="turn-words")
        assert words.words == "The agent is working…"
        assert await run(actions.stop_turn, chat, by=chat.owner, via="chat")
