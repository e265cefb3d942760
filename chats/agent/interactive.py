"""Ready-made tools that ask people: `askUser` (choices, as AI SDK front ends render them) and AgentForge's `askHuman`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from approvals.asking.titles import title_and_message
from approvals.json_types import JsonDict
from chats.agent.tools import Question, QuestionAnswer, Tool


class Option(BaseModel):
    model_config = ConfigDict(extra="forbid")
    label: Annotated[str, Field(min_length=1, max_length=200)]
    id: Annotated[str, Field(max_length=100)] | None = None
    description: Annotated[str, Field(max_length=500)] | None = None


class AskUser(BaseModel):
    """A question with two to six options."""

    model_config = ConfigDict(extra="forbid")
    question: Annotated[str, Field(min_length=1, max_length=2000)]
    options: Annotated[list[Option], Field(min_length=2, max_length=6)]
    multiSelect: bool = False
    fieldName: Annotated[str, Field(min_length=1, max_length=100)]


class AskHuman(BaseModel):
    """AgentForge's `ask-human` input. `timeout` is in ms; 0 waits for ever."""

    question: Annotated[str, Field(min_length=1, max_length=20_000)]
    context: JsonDict | None = None
    priority: Literal["low", "normal", "high", "critical"] = "normal"
    timeout: Annotated[float, Field(ge=0)] = 0
    defaultResponse: str | None = None
    suggestions: list[Annotated[str, Field(max_length=500)]] | None = None


def _ask_user(value: AskUser) -> Question:
    title, message = title_and_message(value.question)
    return Question(
        title=title,
        message=message,
        options=[option.model_dump(exclude_none=True) for option in value.options],
        multiple=value.multiSelect,
        field_name=value.fieldName,
    )


def _ask_human(value: AskHuman) -> Question:
    title, message = title_and_message(value.question)
    return Question(
        title=title,
        message=message,
        suggestions=value.suggestions or [],
        context=value.context,
        priority=value.priority,
        timeout_ms=value.timeout,
        has_default=value.defaultResponse is not None,
        default=value.defaultResponse,
        response_schema={"type": "string", "maxLength": 20_000},
    )


def _human_answer(answer: QuestionAnswer) -> JsonDict:
    return {
        "response": answer.value,
        "metadata": {
            "requestId": answer.request_id,
            "requestedAt": answer.requested_at,
            "respondedAt": answer.responded_at,
            "duration": answer.responded_at - answer.requested_at,
            "timedOut": answer.timed_out,
            "priority": answer.priority,
        },
    }


ask_user = Tool(
    name="askUser",
    description="Ask the user to choose among options, or to answer in their own words.",
    input_model=AskUser,
    ask=_ask_user,
)
ask_human = Tool(
    name="askHuman",
    description="Ask a person a question and wait for the answer, for as long as it takes.",
    input_model=AskHuman,
    ask=_ask_human,
    answer=_human_answer,
)
