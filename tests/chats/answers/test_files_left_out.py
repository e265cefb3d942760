"""Files that a model refuses are left out: first those of the last message, then all, and from then on."""

from __future__ import annotations

from typing import Any

from chats.agent.files import count_files
from chats.agent.provider import ModelMessage
from chats.queries.conversations import answered
from chats.queries.projection import StepView
from tests.chats.providers.test_every_provider import ask, stand

__all__ = ["stand"]


def picture(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def shown(data: str) -> ModelMessage:
    return ModelMessage("user", [picture(data), {"type": "text", "text": "What is this?"}])


async def answer_to(stand, history) -> tuple[dict[str, Any], list[ModelMessage]]:
    """Return the remarks on the answer, and the conversation with it as the next request has it."""
    finished = (await ask(stand, history))[-1]
    step = StepView(finished.blocks, provider=stand.name, model=stand.model, stop_details=finished.stop_details)
    return finished.stop_details, answered(history, [step])


async def test_files_that_a_model_refuses_are_left_out_from_then_on(stand):
    stand.server.will(stand.refuses(400, "Could not process image"), stand.says("I cannot see it."))
    details, history = await answer_to(stand, [shown("YmFk")])
    assert details == {"files_left_out": {"files": 1, "all": True}}
    stand.server.will(stand.says("A cup."))
    assert (await answer_to(stand, [*history, shown("Z29vZA==")]))[0] == {}
    assert [[name in str(request.body) for name in ("YmFk", "Z29vZA==")] for request in stand.server.requests] == [
        [True, False],
        [False, False],
        [False, True],
    ]


async def test_the_files_of_the_last_message_are_left_out_before_all_others(stand):
    stand.server.will(stand.says("A cup."))
    _, history = await answer_to(stand, [shown("Z29vZA==")])
    refusal = stand.refuses(400, "Could not process image")
    stand.server.will(refusal, stand.says("The second I cannot see."))
    details, after = await answer_to(stand, [*history, shown("YmFk")])
    assert (details, count_files(after)) == ({"files_left_out": {"files": 1, "all": False}}, 1)
    stand.server.will(refusal, refusal, stand.says("I see none."))
    details, after = await answer_to(stand, [*history, shown("YmFk")])
    assert (details, count_files(after)) == ({"files_left_out": {"files": 2, "all": True}}, 0)
