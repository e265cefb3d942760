"""Microsoft Agent Framework: a middleware that asks people before tools run, in the place where the call starts.

    agent = Agent(client, tools=..., middleware=[DeskMiddleware(desk, "refund")])

The process waits. Install with `pip install "pausepoint[agent-framework]"`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from agent_framework import FunctionInvocationContext, FunctionMiddleware

from pausepoint import calls
from pausepoint.calls import AnyDesk, ToolCall
from pausepoint.desk import Outcome


class DeskMiddleware(FunctionMiddleware):
    """Asks before each call of the named tools, or of all tools if none is named.

    The call runs with the input that was approved, and its result is reported. If it was not approved, the model is told why.
    A tool named in `questions` never runs: a person answers the first text of its input, and the answer is its result.
    `asked` are more fields of each request, such as `priority` or `timeout`.
    """

    def __init__(self, desk: AnyDesk, *tools: str, questions: Collection[str] = (), **asked: Any) -> None:
        self.desk, self.names, self.questions, self.asked = desk, frozenset(tools), frozenset(questions), asked

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        call = _call(context)
        if call.name in self.questions:
            outcome = await calls.await_human(self.desk, call.question_title, **{**call.question(), **self.asked})
            context.result = calls.answer_text(outcome)
            return
        if self.names and call.name not in self.names:
            await call_next()
            return
        outcome = await calls.await_human(self.desk, call.title, **{**call.approval(), **self.asked})
        if not outcome.approved:
            context.result = calls.refusal(outcome)
            return
        context.arguments = dict(outcome.input or {})
        try:
            await call_next()
        except Exception as error:
            await calls.areport(self.desk, outcome, error=error)
            raise
        await calls.areport(self.desk, outcome, output=_output(context.result))
        _tell_of_change(context, outcome)


def _call(context: FunctionInvocationContext) -> ToolCall:
    given: Any = context.arguments
    wanted = given if isinstance(given, Mapping) else given.model_dump(mode="json")
    thread = getattr(context.session, "session_id", None) or ""
    return ToolCall(context.function.name, str(context.metadata.get("call_id", "")), wanted, thread)


def _output(result: Any) -> Any:
    """Return what a call has returned, for its report: a list of contents is its text, if they are all text."""
    if isinstance(result, list):
        texts = [getattr(content, "text", None) for content in result]
        return "\n".join(map(str, texts)) if texts and all(texts) else [str(content) for content in result]
    return result


def _tell_of_change(context: FunctionInvocationContext, outcome: Outcome) -> None:
    """Add a note for the model if a person has changed the call: its own words say otherwise."""
    said = _output(context.result)
    if outcome.edited and isinstance(said, str):
        context.result = f"{calls.change(outcome)}\n\n{said}"
