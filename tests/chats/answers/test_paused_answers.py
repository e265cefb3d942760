"""An answer that Claude paused, and that cannot be continued where it was."""

from __future__ import annotations

import pytest

from chats.agent.provider import GO_ON, ModelMessage, ModelRequest
from chats.providers.anthropic import AnthropicProvider
from tests.chats.providers.test_anthropic_provider import (
    EMPTY,
    HELLO,
    NEW,
    OLD,
    SEARCH,
    THOUGHT,
    WEB,
    agent,
    ask,
    claude,
    sent,
    step,
)
from tests.support.anthropic_server import KEY, says, text

__all__ = ["claude"]

PAUSED = {
    "the tool is gone": (step(text("I look."), SEARCH[0]), {}),
    "nothing is left": (step(SEARCH[0]), {}),
    "another model paused it": (step(text("I look."), SEARCH[0], model=OLD), {"server_tools": WEB}),
    "another provider's model paused it": (step(text("I look."), model="m", provider="openai"), {"server_tools": WEB}),
}


@pytest.mark.parametrize("why", PAUSED)
async def test_a_paused_answer_that_cannot_be_continued_goes_on_without_its_end(claude, why):
    paused, given = PAUSED[why]
    claude.will(says(THOUGHT, text("Without it, then.")), says(text("Yes.")))
    provider = AnthropicProvider(api_key=KEY, model=NEW, base_url=claude.url)
    *_, finished = [e async for e in provider.stream(ModelRequest(agent(**given), [*HELLO, paused]))]
    said = [text("I look.")] if text("I look.") in paused.content else [EMPTY]
    told = [("user", [text("Hello")]), ("assistant", said), ("user", [text(GO_ON)])]
    assert sent(claude) == told
    further = ModelMessage("assistant", finished.blocks, "anthropic", NEW, finished.prefix)
    await ask(claude, [*HELLO, paused, further, ModelMessage("user", [text("And?")])], **given)
    assert sent(claude)[:4] == [*told, ("assistant", [THOUGHT, text("Without it, then.")])]
