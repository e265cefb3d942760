"""One pause of a stored LangGraph thread: its questions to people, and the graph's values for their decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from pausepoint.calls import MAX_MESSAGE, shortened
from pausepoint.desk import DeskError, Outcome, Resume
from pausepoint.interrupts import Pause, Question, pause_of
from pausepoint.threads.tool_guard import DecidedCall, ToolGuard, result_of

#: The node that marks a copy of the last checkpoint for LangGraph: the thread pauses again, with new interrupt ids.
COPY = "__copy__"
#: The message to people about an error, and the maximum length of the error in it.
FAILED = "An earlier attempt to go on after this was decided ended in an error, and may have run in part: `{error}`"
MAX_FAILURE = 1000


class CannotGoOn(DeskError):
    """The thread cannot continue without running something unapproved, or a second time."""


class RanRejected(DeskError):
    """An unapproved call has run: the graph ran it although it was told not to."""


@dataclass(frozen=True, slots=True)
class Advance:
    """The next action on the graph: an update of its state, if needed, and then its invocation."""

    command: Any
    #: The values and the node of an update of the state.
    update: tuple[Any, str] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One pause of a thread: all interrupts that were open at that time."""

    pauses: Sequence[Pause]
    #: The ids of the model's calls, in the order of the questions; empty where there is none.
    call_ids: Sequence[str]
    #: The node that has paused, if it is only one: the graph continues after it.
    node: str
    #: The error in which an earlier attempt to continue ended.
    error: str

    @classmethod
    def of(cls, history: Iterable[Any], config: Mapping[str, Any]) -> Step | None:
        """Return the last pause, newest state first; None if there is none."""
        thread = str(config["configurable"]["thread_id"])
        states = list(history)
        place = next(
            (place for place, each in enumerate(states) if each.interrupts), None
        )
        if place is None:
            return None
        state, earlier = states[place], states[place + 1 : place + 2]
        pauses = [pause_of(interrupt, thread) for interrupt in state.interrupts]
        nodes = {task.name for task in state.tasks if task.interrupts}
        questions = [question for pause in pauses for question in pause.questions]
        error = _error_of(earlier[0], nodes) if earlier and is_copy(state) else ""
        return cls(
            pauses,
            _call_ids(state, questions),
            nodes.pop() if len(nodes) == 1 else "",
            error,
        )

    @property
    def questions(self) -> list[Question]:
        return [question for pause in self.pauses for question in pause.questions]

    def fields(self, question: Question, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a request; if it is asked again, they include the reason."""
        fields: dict[str, Any] = {**question.fields, **asked}
        if self.error:
            error = shortened(self.error, MAX_FAILURE).replace("`", "'")
            message = "\n\n".join(
                filter(None, (FAILED.format(error=error), fields.get("message")))
            )
            fields["message"] = shortened(message, MAX_MESSAGE)
        return fields

    def guard(self, resume: Resume) -> ToolGuard:
        """Return a guard that keeps tools from running against the decisions."""
        return ToolGuard(
            [
                DecidedCall(question.name, question.args or {}, call_id, outcome)
                for question, call_id, outcome in self._decided(resume)
                if question.name
            ]
        )

    def advance(self, state: Any, resume: Resume, guard: ToolGuard) -> Advance | None:
        """Return how the graph continues from its present state; None if this pause is over. Raise CannotGoOn."""
        waiting = {interrupt.id for interrupt in state.interrupts}
        mine = [pause for pause in self.pauses if pause.id in waiting]
        if mine and _is_stuck(state):
            return self._past_error(state, guard)
        if mine:
            outcomes = iter(resume.outcomes.values())
            decided = {
                pause.id: [next(outcomes) for _ in pause.questions]
                for pause in self.pauses
            }
            return Advance(
                Command(
                    resume={pause.id: pause.value(decided[pause.id]) for pause in mine}
                )
            )
        if not was_cut_off(state):
            return None
        if messages := self._settled(state, guard):
            return Advance(None, ({"messages": messages}, self.node))
        return Advance(None)

    def takes_over(self, state: Any, guard: ToolGuard) -> bool:
        """Return whether a node that only asks has ended in an error although all its questions are decided: the decisions can
        then be used without it.
        """
        wanted = {call["id"] for call in last_calls(state)[0]}
        ids = {call.call_id for call in guard.decided}
        return bool(
            _is_stuck(state)
            and self.node
            and len(ids) == len(self.questions)
            and ids <= wanted
        )

    def _past_error(self, state: Any, guard: ToolGuard) -> Advance:
        """Return how a thread continues whose node ended in an error: LangGraph would give it the same answers for ever."""
        if self.takes_over(state, guard):
            return Advance(None, ({"messages": self._settled(state, guard)}, self.node))
        if refused := sorted(
            {call.name for call in guard.decided if not call.outcome.approved}
        ):
            raise CannotGoOn(
                f"A node has ended in an error after people have refused calls of {', '.join(map(repr, refused))}. If it asked "
                "anew, they could run unasked. Write their messages with update_state."
            )
        _check_can_be_asked_anew(state)
        return Advance(None, (None, COPY))

    def _settled(self, state: Any, guard: ToolGuard) -> list[Any]:
        """Return the messages of calls that are settled without running their tools now, and of neighboring calls that have run,
        which an update of the state would otherwise lose.
        """
        last, answered = last_calls(state)
        wanted = [call["id"] for call in last]
        ended = [
            ToolMessage(
                refusal, tool_call_id=call.call_id, name=call.name, status="error"
            )
            for call in guard.decided
            if call.call_id in wanted
            and call.call_id not in answered
            and (refusal := call.refusal(call.args))
        ]
        if ended and not self.node:
            raise CannotGoOn(
                "Several nodes have paused, so no one knows which of them goes on without its tools."
            )
        return [*answered.values(), *ended] if ended else []

    def results(
        self, state: Any, guard: ToolGuard
    ) -> Iterator[tuple[Outcome, dict[str, Any]]]:
        """Yield the results of approved calls, from their tools or from the thread."""
        _, answered = last_calls(state, everywhere=True)
        for call in guard.decided:
            if not call.outcome.approved or call.outcome.result is not None:
                continue
            if call.result is not None:
                yield call.outcome, call.result
            elif call.call_id in answered:
                yield call.outcome, result_of(answered[call.call_id])

    def failures(
        self, state: Any, resume: Resume, guard: ToolGuard, error: BaseException
    ) -> Iterator[tuple[Outcome, dict[str, Any]]]:
        """Yield the results of approved calls in a run that ended in an error, and of nodes that did more than ask."""
        for call in guard.decided:
            if (
                call.outcome.approved
                and call.outcome.result is None
                and (result := call.stopped())
            ):
                yield call.outcome, result
        failed = {
            interrupt.id
            for task in state.tasks
            if task.error
            for interrupt in task.interrupts
        }
        outcomes = iter(resume.outcomes.values())
        for pause in self.pauses:
            for question in pause.questions:
                outcome = next(outcomes)
                if (
                    pause.id in failed
                    and not question.name
                    and outcome.approved
                    and outcome.result is None
                ):
                    yield outcome, {"error": error}

    def check(self, state: Any, guard: ToolGuard) -> None:
        """Raise RanRejected if an unapproved call has a result that shows that it ran."""
        _, answered = last_calls(state, everywhere=True)
        for call in guard.decided:
            message = answered.get(call.call_id)
            if (
                message is None
                or call.outcome.approved
                or call.outcome.answer is not None
            ):
                continue
            if getattr(message, "status", "") != "error" and call.refusal(
                {}
            ) not in str(message.text):
                raise RanRejected(
                    f"The call of {call.name!r} has run although request {call.outcome.request_id} is {call.outcome.status}: the "
                    "graph did not take the decision. Find out what the call has done."
                )

    def _decided(self, resume: Resume) -> Iterator[tuple[Question, str, Outcome]]:
        return zip(self.questions, self.call_ids, resume.outcomes.values(), strict=True)


def was_cut_off(state: Any) -> bool:
    """Return whether a thread is between two steps: someone is running it now, or died while doing so."""
    return bool(state.next) and not state.interrupts


def check_not_repeated(checkpoints: Iterable[Any]) -> None:
    """Raise CannotGoOn if a task pauses again after an approval in it: it starts over for each answer, so the approved action
    may have run, and would run again with the next answer.
    """
    for checkpoint in checkpoints:
        of_tasks: dict[str, dict[str, Any]] = {}
        for task_id, channel, value in (
            getattr(checkpoint, "pending_writes", None) or ()
        ):
            of_tasks.setdefault(task_id, {})[channel] = value
        for writes in of_tasks.values():
            answers = writes.get("__resume__", [])
            if (
                "__interrupt__" in writes
                and "__error__" not in writes
                and any(map(_is_approval, answers))
            ):
                raise CannotGoOn(
                    "A node of the thread has paused again after people have approved something in it. It begins anew with each "
                    "answer, so what was approved would run twice. Let each call be a task of its own, such as by Send, with one "
                    "interrupt before what it does."
                )


def inner_configs(state: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the configurations that find the checkpoints of a thread and of its subgraphs."""
    yield state.config
    for task in state.tasks:
        if isinstance(task.state, Mapping):
            yield task.state


def _is_approval(value: Any) -> bool:
    """Return whether the value that an interrupt returned lets something run."""
    each = value if isinstance(value, list) else [value]
    return any(
        isinstance(item, Mapping)
        and (
            item.get("status") == "approved"
            or item.get("type") in {"approve", "edit", "accept"}
        )
        for item in each
    )


def _is_stuck(state: Any) -> bool:
    return any(task.error and task.interrupts for task in state.tasks)


def _check_can_be_asked_anew(state: Any) -> None:
    ended = sorted(
        {
            task.name
            for task in state.tasks
            if task.result is not None and not task.error
        }
    )
    if ended:
        raise CannotGoOn(
            f"A node has ended in an error, and people cannot be asked anew: {', '.join(map(repr, ended))} has run beside it and "
            "would run again. Write what it has done with update_state."
        )


def is_copy(state: Any) -> bool:
    """Return whether a thread asks again; the preceding state has the reason."""
    return (state.metadata or {}).get("source") == "fork"


def _error_of(state: Any, nodes: set[str]) -> str:
    return next(
        (str(task.error) for task in state.tasks if task.error and task.name in nodes),
        "",
    )


def _call_ids(state: Any, questions: Sequence[Question]) -> list[str]:
    """Return the ids of the calls in question: a batched request does not name them."""
    left, ids = last_calls(state)[0], []
    for question in questions:
        wanted = question.name, question.args
        same = next(
            (
                call
                for call in left
                if question.name and (call["name"], call["args"]) == wanted
            ),
            None,
        )
        if same is not None:
            left.remove(same)
        ids.append(question.call_id or (str(same["id"]) if same is not None else ""))
    return ids


def last_calls(
    state: Any, *, everywhere: bool = False
) -> tuple[list[Any], dict[str, Any]]:
    """Return the model's last calls, and the messages of tools by the id of their call: only later ones, or `everywhere`."""
    messages = _messages(state)
    place = next(
        (
            place
            for place in reversed(range(len(messages)))
            if getattr(messages[place], "tool_calls", None)
        ),
        -1,
    )
    last = list(messages[place].tool_calls) if place >= 0 else []
    after = messages if everywhere else messages[place + 1 :]
    return last, {
        each.tool_call_id: each for each in after if getattr(each, "tool_call_id", None)
    }


def _messages(state: Any) -> list[Any]:
    values = state.values
    messages = values.get("messages") if isinstance(values, Mapping) else None
    return messages if isinstance(messages, list) else []
