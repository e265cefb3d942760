"""The rule of all adapters: find the request or ask, wait, and run an approved call once, in one process."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pausepoint import calls, leases
from pausepoint.calls import ToolCall
from pausepoint.desk import Asked, AsyncDesk, Desk, DeskError, Outcome, Refused, _complete, _give_back
from pausepoint.leases import Claim, Lease

logger = logging.getLogger("pausepoint")

AnyDesk = Desk | AsyncDesk

#: Seconds that a call which was stopped may take to report that.
STOPPING = 5.0
#: Why a call is given back.
NOT_RUN = "The call did not run."


class NotGated(DeskError):
    """People are to be asked about calls that would run unasked, such as those of a tool whose name is mistyped."""


class HasFailed(DeskError):
    """An approved call has run in an earlier run and failed, so it is not run again."""


class NotApproved(DeskError):
    """A call was not approved, so it was not run. `outcome` says why; the text is for a model."""

    def __init__(self, outcome: Outcome, text: str = "") -> None:
        self.outcome = outcome
        super().__init__(text or calls.refusal(outcome))


class Halted(NotApproved):
    """No one decided in time, and the policy stops the run then: do not go on with a no."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call as a request. `schema` is the JSON Schema of its input: people change the input in a form that checks it."""

    call: ToolCall
    question: bool
    extra: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        return self.call.question_title if self.question else self.call.title

    @property
    def fields(self) -> Asked:
        fields = self.call.question() if self.question else self.call.approval()
        if self.schema and not self.question:
            fields["response_schema"] = self.schema
        return {**fields, **self.extra}  # type: ignore[typeddict-item]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What people have decided about a call, and what it has done since, if it has run.

    `earlier` are approvals of runs that ended without a result. A call with a `lease` runs in no other process meanwhile.
    """

    outcome: Outcome
    question: bool
    earlier: tuple[Outcome, ...] = ()
    lease: Lease | None = None

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
        if not self.outcome.approved:
            return ""
        return "\n".join(filter(None, map(calls.note, (*self.earlier, self.outcome))))

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
            refusal = calls.refusal(self.outcome)
            return f"{leases.UNKNOWN} {refusal}" if self.earlier else refusal
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
    never run: a person answers. `extra` are more fields of each request.
    """

    def __init__(
        self, desk: AnyDesk, tools: Iterable[str], questions: Collection[str], extra: Mapping[str, Any]
    ) -> None:
        self.desk, self.names, self.questions, self.extra = desk, frozenset(tools), frozenset(questions), dict(extra)
        #: The names of the tools of agents that have passed `check`.
        self.known: frozenset[str] = frozenset()

    def concerns(self, name: str) -> bool:
        return not self.names or name in self.names or name in self.questions

    def check(self, tools: Iterable[str], elsewhere: Collection[str] = ()) -> None:
        """Raise NotGated if an agent lacks a tool that people are to be asked about, or has it run `elsewhere`, at the provider
        of its model. An agent whose tools are all known from another one has passed already.
        """
        has = frozenset(tools)
        if at_provider := sorted(name for name in elsewhere if self.concerns(name)):
            raise NotGated(
                f"{_listed(at_provider)} runs at the provider of the model, where no one can be asked. "
                "Take it from the agent, or name the tools to ask about without it."
            )
        if has <= self.known:
            return
        if unknown := sorted((self.names | self.questions) - has):
            raise NotGated(
                f"The agent has no tool named {_listed(unknown)}, so no one would be asked. "
                f"{f'It has {_listed(sorted(has))}.' if has else 'It has no tools.'}"
            )
        self.known |= has

    def check_unasked(self, name: str) -> None:
        """Raise NotGated if a call that no one is asked about is of a tool that `check` was never shown."""
        if name not in self.known:
            raise NotGated(
                f"The call of {name!r} was not run: the tools of its agent were not checked, so perhaps it is one that people "
                "are to be asked about. Ask about all tools, or name this one."
            )

    def wanted(self, call: ToolCall, schema: Mapping[str, Any] | None = None) -> Wanted:
        return Wanted(call, call.name in self.questions, self.extra, schema)

    def decided(self, call: ToolCall, schema: Mapping[str, Any] | None = None) -> Ruling:
        """Ask a person about a call that is about to run, wait, and claim it; raise TypeError if the desk needs an event loop."""
        desk = blocking(self.desk)
        return claimed(desk, decided(desk, self.wanted(call, schema)), self.extra)

    async def adecided(self, call: ToolCall, schema: Mapping[str, Any] | None = None) -> Ruling:
        return await aclaimed(self.desk, await adecided(self.desk, self.wanted(call, schema)), self.extra)


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
        if (known := _known_id(fields, refused)) and _same_call(request := desk.get(known), fields):
            return request
        return desk.ask(title, **_without_schema(fields, refused))


async def aask(desk: AsyncDesk, title: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Like `ask`."""
    try:
        return await desk.ask(title, **fields)
    except Refused as refused:
        if (known := _known_id(fields, refused)) and _same_call(request := await desk.get(known), fields):
            return request
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


async def await_human(desk: AnyDesk, title: str, **fields: Any) -> Outcome:
    """Ask and wait without blocking the event loop, with either kind of desk."""
    if isinstance(desk, AsyncDesk):
        return await desk.await_human(title, **fields)
    return await asyncio.to_thread(desk.await_human, title, **fields)


def blocking(desk: AnyDesk) -> Desk:
    """Return a desk that may be called without an event loop, or raise TypeError."""
    if isinstance(desk, AsyncDesk):
        raise TypeError("This runs without an event loop: give a Desk instead of an AsyncDesk.")
    return desk


def claimed(desk: Desk, ruling: Ruling, extra: Mapping[str, Any]) -> Ruling:
    """Claim the right to run a call. If another process has it, wait; if that ended without a result, ask a person again."""
    if not ruling.runs:
        return ruling
    claim = desk._run(leases.claim(desk.patience, ruling.outcome, extra))
    return _of_claim(ruling, claim, leases.keep(desk, claim.resume) if claim.resume else None)


async def aclaimed(desk: AnyDesk, ruling: Ruling, extra: Mapping[str, Any]) -> Ruling:
    """Like `claimed`, without blocking the event loop."""
    if not ruling.runs:
        return ruling
    flow = leases.claim(desk.patience, ruling.outcome, extra)
    claim = await (asyncio.to_thread(desk._run, flow) if isinstance(desk, Desk) else desk._run(flow))
    return _of_claim(ruling, claim, leases.akeep(desk, claim.resume) if claim.resume else None)


def _of_claim(ruling: Ruling, claim: Claim, lease: Lease | None) -> Ruling:
    return replace(ruling, outcome=claim.outcome, earlier=claim.earlier, lease=lease)


def report(desk: Desk, outcome: Outcome, *, output: Any = None, error: BaseException | None = None) -> bool:
    """Report what an approved call did; return whether that is stored. If not, log it: the agent has to know its result."""
    try:
        desk.report(outcome, **calls.result_fields(output, error))
    except DeskError:
        logger.exception("The result of request %s could not be reported.", outcome.request_id)
        return False
    return True


async def areport(desk: AnyDesk, outcome: Outcome, *, output: Any = None, error: BaseException | None = None) -> bool:
    """Like `report`, without blocking the event loop."""
    if not isinstance(desk, AsyncDesk):
        return await asyncio.to_thread(report, desk, outcome, output=output, error=error)
    try:
        await desk.report(outcome, **calls.result_fields(output, error))
    except DeskError:
        logger.exception("The result of request %s could not be reported.", outcome.request_id)
        return False
    return True


def ended(desk: Desk, ruling: Ruling, *, output: Any = None, error: BaseException | None = None) -> None:
    """Report what a call did that was claimed, and complete its lease. Without a report, the lease expires: no one knows then."""
    if ruling.lease:
        ruling.lease.stop()
    if report(desk, ruling.outcome, output=output, error=error) and ruling.lease:
        with _logged(ruling):
            desk._run(_complete(desk.patience, ruling.lease.resume))


async def aended(desk: AnyDesk, ruling: Ruling, *, output: Any = None, error: BaseException | None = None) -> None:
    """Like `ended`, without blocking the event loop, and only for a moment if the run was stopped."""
    if ruling.lease:
        ruling.lease.stop()
    stopped = error is not None and not isinstance(error, Exception)
    with _logged(ruling):
        async with asyncio.timeout(STOPPING if stopped else None):
            if isinstance(desk, Desk):
                await asyncio.to_thread(ended, desk, ruling, output=output, error=error)
            elif await areport(desk, ruling.outcome, output=output, error=error) and ruling.lease:
                await desk._run(_complete(desk.patience, ruling.lease.resume))


@contextlib.contextmanager
def _logged(ruling: Ruling) -> Iterator[None]:
    """Log what went wrong after a call: the agent has to know its result."""
    try:
        yield
    except (DeskError, TimeoutError):
        logger.exception("The lease of request %s could not be completed.", ruling.outcome.request_id)


def release(desk: Desk, ruling: Ruling) -> None:
    """Give a call back that was claimed and did not run, so that it can be claimed at once."""
    if ruling.lease:
        ruling.lease.stop()
        desk._run(_give_back(ruling.lease.resume.taken, NOT_RUN))


async def arelease(desk: AnyDesk, ruling: Ruling) -> None:
    """Like `release`, without blocking the event loop."""
    if isinstance(desk, Desk):
        await asyncio.to_thread(release, desk, ruling)
    elif ruling.lease:
        ruling.lease.stop()
        await desk._run(_give_back(ruling.lease.resume.taken, NOT_RUN))


def run(desk: Desk, ruling: Ruling, act: Callable[..., Any], /, *values: Any, **named: Any) -> Any:
    """Run a call that was claimed, report what it does and return it; return what was reported instead if the call has run.

    Raise NotApproved (Halted if the run has to stop), HasFailed, and what the call raises.
    """
    if not ruling.runs:
        return _known_output(ruling)
    try:
        output = _whole(act(*values, **named))
    except BaseException as error:
        ended(desk, ruling, error=error)
        raise
    ended(desk, ruling, output=output)
    return output


async def arun(desk: AnyDesk, ruling: Ruling, act: Callable[..., Any], /, *values: Any, **named: Any) -> Any:
    """Like `run`, without blocking the event loop for the report; the call may be a coroutine function."""
    if not ruling.runs:
        return _known_output(ruling)
    try:
        output = act(*values, **named)
        output = _whole(await output if inspect.isawaitable(output) else output)
    except BaseException as error:
        await aended(desk, ruling, error=error)
        raise
    await aended(desk, ruling, output=output)
    return output


def _whole(output: Any) -> Any:
    """Return the output of a call, or raise TypeError for a generator, which would run after its result was reported."""
    if inspect.isgenerator(output) or inspect.isasyncgen(output):
        raise TypeError("An approved call may not return a generator, which runs later. Return a list.")
    return output


def _known_output(ruling: Ruling) -> Any:
    result = ruling.outcome.result
    if not ruling.outcome.approved or result is None:
        refused = Halted if ruling.outcome.halted else NotApproved
        raise refused(ruling.outcome, ruling.text)
    if result["state"] != "succeeded":
        raise HasFailed(calls.known_result(result))
    return result["output"]
