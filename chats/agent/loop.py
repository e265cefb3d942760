"""One step of an agent: ask the model, repair its streamed text, and check the calls in its answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from approvals.db.canonical_json import (
    MAX_VALUES,
    NotCanonical,
    canonical,
    clean_json,
    clean_text,
)
from approvals.text.translatable import Count, gettext_noop
from chats.agent.agent import Agent
from chats.agent.events import (
    AnswerMetered,
    Event,
    ModelFinished,
    ReasoningDelta,
    ReasoningEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    ToolInputDelta,
    ToolInputInvalid,
    ToolInputReady,
)
from chats.agent.provider import (
    STOP_REASONS,
    ModelMessage,
    ModelRequest,
    Provider,
    ProviderError,
    UsedIds,
    no_ids,
    without_items,
)
from chats.agent.tools import InvalidInput, Tool

MAX_INPUT_BYTES = 200_000
MAX_OUTPUT_CHARACTERS = 400_000
#: Maximum calls of one answer that are run. Each further one gets an error for the model, up to a number that no model reaches
#: by itself.
MAX_CALLS = 50
MAX_ANSWERED_CALLS = 500
TOO_MANY_CALLS = f"Not run, because one answer may make at most {MAX_CALLS} tool calls. Call it again if it is still needed."
MAX_NAME = 100
#: The type of the block at which a model refused to continue and a fallback took over.
HAND_OVER = "fallback"
HANDED_OVER = "Not run, because the model refused to go on here, and another one answered in its place."


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call in a model's answer. `error_text` says why it cannot be run; `tool` is None then."""

    tool_call_id: str
    name: str
    input: Any
    tool: Tool | None
    error_text: str = ""

    @property
    def needs_person(self) -> bool:
        """Whether a person has to answer or approve it."""
        return self.tool is not None and (
            self.tool.interactive or self.tool.asks_first(self.input)
        )


def plan_call(agent: Agent, tool_call_id: str, name: str, value: Any) -> PlannedCall:
    """Check a call against the agent's tools."""
    tool = agent.tool(name)
    problem = ""
    try:
        canonical(value, max_bytes=MAX_INPUT_BYTES, max_values=MAX_VALUES)
    except NotCanonical as error:
        # It could not be stored, whether or not there is such a tool.
        value = {}
        problem = f"Invalid input for {name}: {error}"
    problem = problem or _unreadable(name, value)
    if tool is None:
        name = clean_text(name)[:MAX_NAME] or "nameless"
        known = (
            ", ".join(tool.name for tool in agent.tools if not tool.deferred) or "none"
        )
        return PlannedCall(
            tool_call_id,
            name,
            value,
            None,
            f"There is no tool named {name!r}. Tools: {known}.",
        )
    if not problem:
        try:
            tool.validate(value)
        except InvalidInput as error:
            problem = str(error)
    return PlannedCall(tool_call_id, name, value, None if problem else tool, problem)


def _unreadable(name: str, value: Any) -> str:
    """Return why the arguments of a call could not be parsed, for the model; empty if they could.

    Providers pass on the raw text, and why it is not a JSON object.
    """
    if not isinstance(value, dict) or value.keys() != {"unreadable", "why"}:
        return ""
    return f"The arguments of {name} could not be read, so it was not run: {value['why']}. Send one JSON object."


def plan_calls(agent: Agent, blocks: list[dict[str, Any]]) -> list[PlannedCall]:
    """Return the calls in a model's answer, in order. Those after the first MAX_CALLS are not run.

    A call before the place where another model took over is ignored: the refusal may have cut it off, and it gets no result.
    """
    begin = max(
        (place for place, block in enumerate(blocks) if block.get("type") == HAND_OVER),
        default=0,
    )
    calls = [block for block in blocks[begin:] if block.get("type") == "tool_use"]
    planned = [
        plan_call(agent, call["id"], call["name"], call["input"]) for call in calls
    ]
    beyond = [
        replace(call, tool=None, error_text=call.error_text or TOO_MANY_CALLS)
        for call in planned[MAX_CALLS:]
    ]
    return [*planned[:MAX_CALLS], *beyond]


async def stream_step(
    agent: Agent,
    provider: Provider,
    messages: list[ModelMessage],
    index: int,
    used_ids: UsedIds = no_ids,
) -> AsyncGenerator[Event, None]:
    """Ask the model once; yield its events, ending with a checked `ModelFinished`. For `used_ids`, see `ModelRequest`.

    Raise ProviderError for an unusable answer: too long, without a known stop reason, or with calls without distinct ids.
    """
    yield StepStarted(index)
    finished: ModelFinished | None = None
    characters = 0
    halves: dict[tuple[type[Event], str], str] = {}
    answer = provider.stream(
        ModelRequest(agent, without_items(messages, provider.name), used_ids)
    )
    async for event in answer:
        characters += len(getattr(event, "text", "")) or 1
        match event:
            case ModelFinished():
                finished = event
                # First, because the answer may be refused.
                yield AnswerMetered(event.model, event.usage, event.answered_by)
            case AnswerMetered():
                yield event
            case _:
                if isinstance(event, ToolInputReady):
                    event = _planned(agent, event)
                for passed_on in _whole_characters(event, halves):
                    yield _clean(passed_on)
        if characters > MAX_OUTPUT_CHARACTERS:
            await answer.aclose()
            raise ProviderError(
                gettext_noop(
                    "The model's answer was cut off because it is longer than %(limit)s characters."
                ),
                limit=Count(MAX_OUTPUT_CHARACTERS),
            )
    yield _checked(finished)


def _planned(agent: Agent, event: ToolInputReady) -> Event:
    """Return the event of a complete call, or one with the reason if it cannot run."""
    planned = plan_call(agent, event.tool_call_id, event.tool_name, event.input)
    if not planned.error_text:
        return event
    return ToolInputInvalid(
        event.tool_call_id, event.tool_name, planned.input, planned.error_text
    )


def _clean(event: Event) -> Event:
    """Return a storable form of a model's event: half of a surrogate pair would make each write of the stream fail."""
    values = {name: getattr(event, name) for name in event.__dataclass_fields__}
    cleaned = clean_json(values)
    return event if cleaned == values else replace(event, **cleaned)


def _is_id(value: Any) -> bool:
    return (
        isinstance(value, str) and 0 < len(value) <= 200 and clean_text(value) == value
    )


def _checked(finished: ModelFinished | None) -> ModelFinished:
    if finished is None or finished.stop_reason not in STOP_REASONS:
        raise ProviderError(
            gettext_noop(
                "The model's answer ended before it was complete. Send your message again."
            )
        )
    calls = [block for block in finished.blocks if block.get("type") == "tool_use"]
    ids = {call.get("id") for call in calls}
    if len(ids) != len(calls) or not all(map(_is_id, ids)):
        raise ProviderError(
            gettext_noop(
                "The model's tool calls have no distinct ids, so its answer cannot be used. Send your message again."
            )
        )
    if len(calls) > MAX_ANSWERED_CALLS:
        raise ProviderError(
            gettext_noop(
                "The model made %(count)s tool calls at once, but only %(limit)s are allowed."
            ),
            count=len(calls),
            limit=MAX_ANSWERED_CALLS,
        )
    return finished


FIRST_HALVES = ("\ud800", "\udbff")


def _whole_characters(
    event: Event, halves: dict[tuple[type[Event], str], str]
) -> Iterator[Event]:
    """Yield the text that can be passed on now: the first half of a character waits for the piece with the second one.

    `halves` are those of this answer that wait, by kind and id of the text that they end.
    """
    match event:
        case (
            TextDelta(text_id, text)
            | ReasoningDelta(text_id, text)
            | ToolInputDelta(text_id, text)
        ):
            # Together with the half that waited for it, and without the half that it ends with.
            whole = halves.pop((type(event), text_id), "") + text
            if FIRST_HALVES[0] <= whole[-1:] <= FIRST_HALVES[1]:
                halves[type(event), text_id] = whole[-1]
                whole = whole[:-1]
            if whole == text:
                yield event
            elif whole:
                yield replace(event, text=whole)
            return
        case TextEnded(text_id) if half := halves.pop((TextDelta, text_id), ""):
            yield TextDelta(text_id, half)
        case ReasoningEnded(text_id) if half := halves.pop(
            (ReasoningDelta, text_id), ""
        ):
            yield ReasoningDelta(text_id, half)
        case ToolInputReady(call_id) | ToolInputInvalid(call_id):
            if half := halves.pop((ToolInputDelta, call_id), ""):
                yield ToolInputDelta(call_id, half)
    yield event
