"""The rule of all adapters: find the request or ask, wait, and run an approved call once. What was reported is not run again."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pausepoint import calls
from pausepoint.calls import ToolCall
from pausepoint.desk import Asked, AsyncDesk, Desk, DeskError, Outcome, Refused

logger = logging.getLogger("pausepoint")

AnyDesk = Desk | AsyncDesk


class NotGated(DeskError):
    """People are to be asked about calls that would run unasked, such as those of a tool whose name is mistyped."""


class HasFailed(DeskError):
    """An approved call has run in an earlier run and failed, so it is not run again."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call as a request. `schema` is the JSON Schema of its input: people change the input in a form that checks it."""

    call: ToolCall
    question: bool
    asked: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        return self.call.question_title if self.question else self.call.title

    @property
    def fields(self) -> Asked:
        fields = self.call.question() if self.question else self.call.approval()
        if self.schema and not self.question:
            fields["response_schema"] = self.schema
        return {**fields, **self.asked}  # type: ignore[typeddict-item]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What people have decided about a call, and what it has done since, if it has run."""

    outcome: Outcome
    question: bool

    @property
    def runs(self) -> bool:
        return not self.question and self.outcome.approved and self.outcome.result is None

    @property
    def input(self) -> dict[str, Any]:
        """The input to run: as requested, or as changed by a person."""
        return dict(self.outcome.input or {})

    @property
    def note(self) -> str:
        """What the model is told beside the result of the call; empty if there is nothing to tell."""
        return calls.note(self.outcome) if self.outcome.approved else ""

    @property
    def succeeded(self) -> bool:
        """Whether a call that does not run has a result: the answer to a question, or what an earlier run has returned."""
        if self.question:
            return self.outcome.answer is not None
        return self.outcome.result is not None and self.outcome.result["state"] == "succeeded"

    @property
    def output(self) -> Any:
        """The result of a call that does not run, or why there is none, without the note."""
        if self.question:
            return calls.answer_text(self.outcome)
        if not self.outcome.approved or self.outcome.result is None:
            return calls.refusal(self.outcome)
        return self.outcome.result["output"] if self.succeeded else calls.known_result(self.outcome.result)

    @property
    def text(self) -> str:
        """`output` as a model reads it, with the note."""
        return self.noted(calls.output_text(self.output))

    def noted(self, text: str) -> str:
        """Return the result of the call with the note: the model's own words may say otherwise than what has run."""
        return f"{self.note}\n\n{text}" if self.note else text


class Gate:
    """Which calls people are asked about: the calls of the named tools, or all if none is named. Tools named in `questions`
    never run: a person answers. `asked` are more fields of each request.
    """

    def __init__(
        self, desk: AnyDesk, tools: Iterable[str], questions: Collection[str], asked: Mapping[str, Any]
    ) -> None:
        self.desk, self.names, self.questions, self.asked = desk, frozenset(tools), frozenset(questions), dict(asked)

    def concerns(self, name: str) -> bool:
        return not self.names or name in self.names or name in self.questions

    def check(self, tools: Iterable[str]) -> None:
        """Raise NotGated if the agent lacks a tool that people are to be asked about."""
        has = sorted(set(tools))
        if unknown := sorted((self.names | self.questions).difference(has)):
            raise NotGated(
                f"The agent has no tool named {_listed(unknown)}, so nobody would be asked. "
                f"{f'It has {_listed(has)}.' if has else 'It has no tools.'}"
            )

    def wanted(self, call: ToolCall, schema: Mapping[str, Any] | None = None) -> Wanted:
        return Wanted(call, call.name in self.questions, self.asked, schema)

    def decided(self, call: ToolCall, schema: Mapping[str, Any] | None = None) -> Ruling:
        """Ask a person about a call, and wait; raise TypeError if the desk needs an event loop."""
        return decided(blocking(self.desk), self.wanted(call, schema))

    async def adecided(self, call: ToolCall, schema: Mapping[str, Any] | None = None) -> Ruling:
        return await adecided(self.desk, self.wanted(call, schema))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def decided(desk: Desk, wanted: Wanted) -> Ruling:
    """Ask a person about a call, or find the request of an earlier run, and wait for the decision."""
    fields: dict[str, Any] = {**wanted.fields}
    give_up_after = fields.pop("give_up_after", None)
    request = ask(desk, wanted.title, fields)
    return Ruling(desk.wait(request["id"], give_up_after=give_up_after), wanted.question)


async def adecided(desk: AnyDesk, wanted: Wanted) -> Ruling:
    """Like `decided`, without blocking the event loop, with either kind of desk."""
    if isinstance(desk, Desk):
        return await asyncio.to_thread(decided, desk, wanted)
    fields: dict[str, Any] = {**wanted.fields}
    give_up_after = fields.pop("give_up_after", None)
    request = await aask(desk, wanted.title, fields)
    return Ruling(await desk.wait(request["id"], give_up_after=give_up_after), wanted.question)


def ask(desk: Desk, title: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Ask without waiting. The schema of a tool only helps people: a call is asked about without it, too, and a request of an
    earlier run is the same if only the schema has changed since.
    """
    try:
        return desk.ask(title, **fields)
    except Refused as refused:
        if (known := _known_id(fields, refused)) and _same_call(found := desk.get(known), fields):
            return found
        return desk.ask(title, **_without_schema(fields, refused))


async def aask(desk: AsyncDesk, title: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Like `ask`."""
    try:
        return await desk.ask(title, **fields)
    except Refused as refused:
        if (known := _known_id(fields, refused)) and _same_call(found := await desk.get(known), fields):
            return found
        return await desk.ask(title, **_without_schema(fields, refused))


def _known_id(fields: Mapping[str, Any], refused: Refused) -> str:
    """Return the id of the request that has the name of this one and other content; empty for any other refusal."""
    return (
        str(refused.problem.get("request_id") or "")
        if refused.code == "conflict" and "response_schema" in fields
        else ""
    )


def _same_call(request: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Return whether a request asks about the same call with another schema. One that stores a run is never the same."""
    if (
        request["kind"] != "approval"
        or "resume_state" in fields
        or request["response_schema"] == fields["response_schema"]
    ):
        return False
    names = ("tool_name", "tool_call_id", "input")
    return calls.same_input([request[name] for name in names], [fields.get(name) for name in names])


def _without_schema(fields: Mapping[str, Any], refused: Refused) -> dict[str, Any]:
    """Return the fields without the schema of a tool, if Pausepoint does not take it; raise any other refusal again."""
    errors = refused.problem.get("errors") or {}
    if fields.get("kind") == "form" or not any(name.startswith("response_schema") for name in errors):
        raise refused
    return {name: value for name, value in fields.items() if name != "response_schema"}


async def await_human(desk: AnyDesk, title: str, **asked: Any) -> Outcome:
    """Ask and wait without blocking the event loop, with either kind of desk."""
    if isinstance(desk, AsyncDesk):
        return await desk.await_human(title, **asked)
    return await asyncio.to_thread(desk.await_human, title, **asked)


def blocking(desk: AnyDesk) -> Desk:
    """Return a desk that may be called without an event loop, or raise TypeError."""
    if isinstance(desk, AsyncDesk):
        raise TypeError("This runs without an event loop: give a Desk instead of an AsyncDesk.")
    return desk


def report(desk: Desk, outcome: Outcome, *, output: Any = None, error: BaseException | None = None) -> None:
    """Report what an approved call did. If that fails, log it: the call has run, and the agent has to know its result."""
    try:
        desk.report(outcome, **calls.result_fields(output, error))
    except DeskError:
        logger.exception("The result of request %s could not be reported.", outcome.request_id)


async def areport(desk: AnyDesk, outcome: Outcome, *, output: Any = None, error: BaseException | None = None) -> None:
    """Like `report`, without blocking the event loop."""
    if not isinstance(desk, AsyncDesk):
        await asyncio.to_thread(report, desk, outcome, output=output, error=error)
        return
    try:
        await desk.report(outcome, **calls.result_fields(output, error))
    except DeskError:
        logger.exception("The result of request %s could not be reported.", outcome.request_id)


def run(desk: Desk, outcome: Outcome, act: Callable[..., Any], /, *values: Any, **named: Any) -> Any:
    """Run an approved call, report what it does and return it; return what was reported instead if the call has run."""
    if outcome.result is not None:
        return _known_output(outcome.result)
    try:
        output = act(*values, **named)
    except Exception as error:
        report(desk, outcome, error=error)
        raise
    report(desk, outcome, output=output)
    return output


async def arun(desk: AnyDesk, outcome: Outcome, act: Callable[..., Any], /, *values: Any, **named: Any) -> Any:
    """Like `run`, without blocking the event loop for the report; the call may be a coroutine function."""
    if outcome.result is not None:
        return _known_output(outcome.result)
    try:
        output = act(*values, **named)
        output = await output if inspect.isawaitable(output) else output
    except Exception as error:
        await areport(desk, outcome, error=error)
        raise
    await areport(desk, outcome, output=output)
    return output


def _known_output(result: Mapping[str, Any]) -> Any:
    if result["state"] != "succeeded":
        raise HasFailed(calls.known_result(result))
    return result["output"]
