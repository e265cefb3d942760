"""CrewAI: asks people for each `@human_feedback` of a flow, and resumes stored flows once."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.flow import Flow
from crewai.flow.persistence import FlowPersistence

from pausepoint import calls
from pausepoint.desk import Asked, Desk, Outcome, Refused
from pausepoint.gate import NotGated

#: State keys of a stored flow: the id of its request, and the counts of its questions.
REQUEST, COUNTS = "pausepoint_request", "pausepoint_counts"


class NobodyAnswered(Exception):
    """No one gave feedback, and the method has no `default_outcome`. CrewAI would choose its first outcome then."""


class TwoAtOnce(NotGated):
    """Two methods of a flow ask for feedback at the same time. CrewAI would store one of them, and lose the other."""


class DeskFeedback:
    """The provider of `@human_feedback`: `flow_config.hitl_provider = DeskFeedback(desk)`.

    It asks with the decorator's message and the method's output, and offers its outcomes. With `wait=False` the flow is stored
    and ends, and `resume` continues it. If several methods would ask at the same time, none does then: TwoAtOnce is raised.
    `extra` are additional fields of each request.
    """

    def __init__(self, desk: Desk, *, wait: bool = True, **extra: Any) -> None:
        self.desk, self.wait, self.extra = desk, wait, extra
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        #: The questions of flows that were stored or are being resumed, by flow id, with their counts.
        self._stored: dict[str, Counter[str]] = {}
        #: The flows that are about to be stored with a question, by their ids.
        self._pausing: dict[str, str] = {}
        #: The requests whose answers are in use in this process.
        self._in_use: set[str] = set()

    def request_feedback(self, context: PendingFeedbackContext, flow: Flow[Any]) -> str:
        if self.wait:
            with self._lock:
                key = _next_key(self.desk, context, self._counts)
            return _feedback(self.desk.wait(self._ask(context, key)["id"]), context)
        _check_alone(context, flow)
        with self._lock:
            if self._is_pausing(context, flow):
                # The other one cannot be answered either: the next step waits for both.
                self.desk.cancel(
                    self._pausing[context.flow_id],
                    comment=f"{context.method_name} asks at the same time.",
                )
                raise TwoAtOnce(_two_at_once(context.method_name, "another method"))
            request, counts = self._found_or_asked(context)
            self._pausing[context.flow_id] = request["id"]
        context.metadata = {
            **(context.metadata or {}),
            REQUEST: request["id"],
            COUNTS: dict(counts),
        }
        raise HumanFeedbackPending(
            context=context,
            callback_info={"request_id": request["id"], "url": request.get("url")},
        )

    def _is_pausing(self, context: PendingFeedbackContext, flow: Flow[Any]) -> bool:
        """Return whether this run of the flow has already asked, but has not been stored yet."""
        return (
            context.flow_id in self._pausing
            and getattr(flow, "_pending_feedback_context", None) is None
        )

    def resume(
        self, flow_class: type[Flow[Any]], flow_id: str, persistence: FlowPersistence
    ) -> Any:
        """Wait for the answer to a stored flow, continue it, and return its result or its next pause.

        Only one process does that; in others, Refused is raised. If the flow raises an error, it is stored again in its earlier
        state: the next call continues with the same answer.
        """
        stored = persistence.load_pending_feedback(flow_id)
        if stored is None:
            raise LookupError(f"The flow {flow_id} is not waiting for feedback.")
        state, context = stored
        metadata = context.metadata or {}
        if (request_id := metadata.get(REQUEST)) is None:
            raise LookupError(
                f"The flow {flow_id} was not stored by DeskFeedback, so no one was asked."
            )
        feedback = _feedback(self.desk.wait(request_id), context)
        with (
            self.desk.resume(request_id),
            self._using(flow_id, request_id, metadata.get(COUNTS) or {}),
        ):
            try:
                return flow_class.from_pending(flow_id, persistence=persistence).resume(
                    feedback
                )
            except Exception:
                # CrewAI forgets the pause before the next method begins.
                if persistence.load_pending_feedback(flow_id) is None:
                    persistence.save_pending_feedback(flow_id, context, state)
                raise

    @contextlib.contextmanager
    def _using(
        self, flow_id: str, request_id: str, counts: Mapping[str, int]
    ) -> Iterator[None]:
        with self._lock:
            self._stored[flow_id] = Counter(counts)
            self._in_use.add(request_id)
            self._pausing.pop(flow_id, None)
        try:
            yield
        finally:
            with self._lock:
                self._stored.pop(flow_id, None)
                self._in_use.discard(request_id)

    def _found_or_asked(
        self, context: PendingFeedbackContext
    ) -> tuple[dict[str, Any], Counter[str]]:
        """Ask, or return the unused request of an earlier run of the flow; with the counts of the flow's questions."""
        counts = Counter(self._stored.get(context.flow_id, {}))
        while True:
            request = self._ask(context, _next_key(self.desk, context, counts))
            if request["status"] == "pending" or (
                request["status"] == "answered" and not self._is_used(request["id"])
            ):
                return request, counts

    def _is_used(self, request_id: str) -> bool:
        """Return whether a flow has continued with the answer to a request."""
        if request_id in self._in_use:
            return True
        try:
            with self.desk.resume(request_id) as resume:
                resume.give_back(
                    "The flow began anew, and waits with the same question."
                )
        except Refused as refused:
            if refused.code not in {"resume_taken", "already_resumed"}:
                raise
            return refused.code == "already_resumed"
        return False

    def _ask(self, context: PendingFeedbackContext, key: str) -> dict[str, Any]:
        title, message = calls.title_and_message(context.message)
        fields: Asked = {
            **message,
            "kind": "question",
            "context": json.loads(json.dumps(context.method_output, default=str)),
            "thread_id": calls.shortened(context.flow_id, 200),
            "agent": calls.shortened(context.flow_class.rpartition(".")[2], 100),
        }
        if context.emit:
            # No free text: CrewAI would let a model guess the matching outcome.
            fields["options"] = list(context.emit)
        return self.desk.ask(title, idempotency_key=key, **{**fields, **self.extra})


def _check_alone(context: PendingFeedbackContext, flow: Flow[Any]) -> None:
    """Raise TwoAtOnce if another method with feedback always begins together with this one."""
    methods: Mapping[str, Any] = (
        getattr(getattr(flow, "_definition", None), "methods", None) or {}
    )
    mine = methods.get(context.method_name)
    if mine is None:
        return
    for name, other in methods.items():
        if (
            name != context.method_name
            and other.human_feedback
            and _triggers(mine) & _triggers(other)
        ):
            raise TwoAtOnce(_two_at_once(context.method_name, name))


def _two_at_once(name: str, other: str) -> str:
    return (
        f"The method {name!r} and {other} of the flow ask for feedback at the same time. CrewAI stores one pause of a flow, and "
        "throws the other answer away, so no one was asked. Let one ask after the other, or use DeskFeedback(wait=True)."
    )


def _triggers(method: Any) -> set[str]:
    """Return the triggers of a method: the start of the flow, methods, outcomes, and sets of them that are all required."""
    conditions = [condition for condition in (method.start, method.listen) if condition]
    triggers: set[str] = set()
    while conditions:
        match conditions.pop():
            case True:
                triggers.add("the start")
            case str(name):
                triggers.add(f"name:{name}")
            case {"or": [*some]}:
                conditions.extend(some)
            case other:
                triggers.add(json.dumps(other, sort_keys=True, default=str))
    return triggers


def _next_key(desk: Desk, context: PendingFeedbackContext, counts: Counter[str]) -> str:
    """Return a key that is the same when a flow with the same id runs again from its start, and count the question."""
    about = [
        context.flow_id,
        context.method_name,
        context.method_output,
        context.message,
    ]
    content = desk.name_of(text_of(about))
    counts[content] += 1
    return f"{content}-{counts[content]}"


def _feedback(outcome: Outcome, context: PendingFeedbackContext) -> str:
    """Return the feedback for CrewAI, or raise NobodyAnswered."""
    if outcome.answer is not None:
        return calls.answer_text(outcome)
    if outcome.halted or (context.emit and context.default_outcome is None):
        raise NobodyAnswered(f"{context.method_name}: {calls.answer_text(outcome)}")
    return ""


def text_of(value: Any) -> str:
    """Return any value as a text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, default=str)
