"""CrewAI: asks people before tools run, and puts `@human_feedback` to them.

    ask_before_tools(desk, "refund", thread_id="order-4711")
    flow_config.hitl_provider = DeskFeedback(desk)

The process waits. Install with `pip install "pausepoint[crewai]"`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.flow import Flow
from crewai.flow.persistence import FlowPersistence
from crewai.hooks import (
    ToolCallHookContext,
    register_after_tool_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)
from crewai.utilities.string_utils import sanitize_tool_name

from pausepoint import calls
from pausepoint.calls import ToolCall
from pausepoint.desk import Asked, Desk, Outcome

logger = logging.getLogger("pausepoint")


def ask_before_tools(
    desk: Desk, *tools: str, thread_id: str, questions: Collection[str] = (), **asked: Any
) -> Callable[[], None]:
    """Ask before each call of the named tools, or of all tools if none is named, in all crews of this process.

    The call runs with the input that was approved, and its result is reported. If it was not approved, the model is told why.
    A tool named in `questions` never runs: a person answers the first text of its input, and the answer is its result.
    `thread_id` names the run: CrewAI does not tell the ids of calls, so a call is known by the run, its input, and how often
    it was made. `asked` are more fields of each request, such as `priority` or `timeout`. Call what is returned to stop asking.
    """
    # CrewAI calls the tool "Send Mail" `send_mail` in its hooks; a name that fits no call would never ask.
    names, question_names = (frozenset(map(sanitize_tool_name, given)) for given in (tools, questions))
    hooks = _Hooks(desk, names, question_names, thread_id, asked)
    register_before_tool_call_hook(hooks.before)
    register_after_tool_call_hook(hooks.after)

    def stop() -> None:
        unregister_before_tool_call_hook(hooks.before)
        unregister_after_tool_call_hook(hooks.after)

    return stop


class _Hooks:
    def __init__(
        self, desk: Desk, names: frozenset[str], questions: frozenset[str], thread_id: str, asked: dict[str, Any]
    ) -> None:
        self.desk, self.names, self.questions, self.thread_id, self.asked = desk, names, questions, thread_id, asked
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        #: What was decided about calls that have not ended, by the identity of their input, which is kept for that.
        self._decided: dict[int, tuple[dict[str, Any], Outcome | str]] = {}

    def before(self, context: ToolCallHookContext) -> bool | None:
        """Ask; False blocks the call. CrewAI would run the call if an error left this method."""
        name = context.tool_name
        if self.names and name not in self.names and name not in self.questions:
            return None
        try:
            decided = self._ask(context)
        except Exception as error:
            logger.exception("Nobody could be asked about a call of %s, so it was not run.", name)
            decided = f"Nobody could be asked about this call, so it was not run: {type(error).__name__}."
        with self._lock:
            self._decided[id(context.tool_input)] = (context.tool_input, decided)
        if isinstance(decided, str):
            return False
        # In place: CrewAI calls the tool with this dict.
        context.tool_input.clear()
        context.tool_input.update(decided.input or {})
        return None

    def after(self, context: ToolCallHookContext) -> str | None:
        """Report the result, or tell the model why there is none."""
        with self._lock:
            _, decided = self._decided.pop(id(context.tool_input), (None, None))
        if decided is None or isinstance(decided, str):
            return decided
        raw = getattr(context, "raw_tool_result", None)
        calls.report(self.desk, decided, output=context.tool_result if raw is None else raw)
        return f"{calls.change(decided)}\n\n{context.tool_result}" if decided.edited else None

    def _ask(self, context: ToolCallHookContext) -> Outcome | str:
        """Return the approval, or what the model is told."""
        call = self._call(context)
        if call.name in self.questions:
            return calls.answer_text(self.desk.await_human(call.question_title, **{**call.question(), **self.asked}))
        outcome = self.desk.await_human(call.title, **{**call.approval(), **self.asked})
        return outcome if outcome.approved else calls.refusal(outcome)

    def _call(self, context: ToolCallHookContext) -> ToolCall:
        wanted = dict(context.tool_input)
        content = _digest([context.tool_name, wanted])
        with self._lock:
            self._counts[content] += 1
            known_by = f"{content}-{self._counts[content]}"
        agent = str(getattr(context.agent, "role", None) or "").strip()
        return ToolCall(context.tool_name, known_by, wanted, self.thread_id, agent)


class NobodyAnswered(Exception):
    """Nobody gave feedback, and the method has no `default_outcome`. CrewAI would choose its first outcome then."""


class DeskFeedback:
    """The provider of `@human_feedback`: `flow_config.hitl_provider = DeskFeedback(desk)`.

    It asks the message of the decorator, with the output of the method, and offers its outcomes. With `wait=False` the flow is
    stored and ends, and `resume` goes on with it. `asked` are more fields of each request.
    """

    def __init__(self, desk: Desk, *, wait: bool = True, **asked: Any) -> None:
        self.desk, self.wait, self.asked = desk, wait, asked
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def request_feedback(self, context: PendingFeedbackContext, flow: Flow[Any]) -> str:
        if self.wait:
            return _feedback(self.desk.wait(self._ask(context, self._repeatable_key(context))["id"]), context)
        found = self._ask(context, _stored_key(context))
        raise HumanFeedbackPending(context=context, callback_info={"request_id": found["id"], "url": found["url"]})

    def resume(self, flow_class: type[Flow[Any]], flow_id: str, persistence: FlowPersistence) -> Any:
        """Wait for the answer to a flow that was stored, go on with it, and return its result or its next pause."""
        stored = persistence.load_pending_feedback(flow_id)
        if stored is None:
            raise LookupError(f"The flow {flow_id} is not waiting for feedback.")
        _, context = stored
        outcome = self.desk.wait(self._ask(context, _stored_key(context))["id"])
        return flow_class.from_pending(flow_id, persistence=persistence).resume(_feedback(outcome, context))

    def _ask(self, context: PendingFeedbackContext, key: str) -> dict[str, Any]:
        title, message = calls.title_and_message(context.message)
        asked: Asked = {
            **message,
            "kind": "question",
            "context": json.loads(json.dumps(context.method_output, default=str)),
            "thread_id": calls.shortened(context.flow_id, 200),
            "agent": calls.shortened(context.flow_class.rpartition(".")[2], 100),
        }
        if context.emit:
            # No free text: CrewAI would let a model guess which outcome it means.
            asked["options"] = list(context.emit)
        return self.desk.ask(title, idempotency_key=key, **{**asked, **self.asked})

    def _repeatable_key(self, context: PendingFeedbackContext) -> str:
        """Return a key that is the same when a flow with the same id runs again from its start."""
        content = _digest([context.flow_id, context.method_name, context.method_output, context.message])
        with self._lock:
            self._counts[content] += 1
            return f"{content}-{self._counts[content]}"


def _stored_key(context: PendingFeedbackContext) -> str:
    """Return a key that is the same whenever the stored flow is loaded."""
    return _digest([context.flow_id, context.method_name, context.requested_at.isoformat()])


def _feedback(outcome: Outcome, context: PendingFeedbackContext) -> str:
    """Return what CrewAI gets as the feedback, or raise NobodyAnswered."""
    if outcome.answer is not None:
        return calls.answer_text(outcome)
    if context.emit and context.default_outcome is None:
        raise NobodyAnswered(f"{context.method_name}: {calls.answer_text(outcome)}")
    return ""


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:40]
