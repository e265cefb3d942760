"""LangGraph's interrupts as requests, and people's decisions as the values that the interrupts return.

Four formats are known: LangChain's `HITLRequest` (batched), its `tool_approval` (one per call), the list of the Agent Inbox, and
anything else: a dict with a `title` has the fields of a request, other values are questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pausepoint import calls
from pausepoint.calls import ToolCall, shortened, title_and_message
from pausepoint.desk import Asked, DeskError, Outcome

#: The allowed decisions where LangChain specifies none.
ALL = ("approve", "edit", "reject", "respond")
#: The fields of an outcome that an interrupt with the fields of a request returns.
TOLD = ("status", "answer", "input", "comment", "by", "request_id", "halted")


class CannotTell(DeskError):
    """The interrupt accepts no answer that can express people's decision."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request of an interrupt. `call_id` is the model's, if the interrupt names it or the messages show it."""

    title: str
    fields: Asked
    #: Returns the interrupt's value for the outcome.
    value_for: Callable[[Outcome], Any]
    name: str = ""
    args: Mapping[str, Any] | None = None
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """One open interrupt: its requests, and the value that it returns for their outcomes."""

    id: str
    questions: Sequence[Question]
    resumed: Callable[[Sequence[Any]], Any]

    def value(self, outcomes: Sequence[Outcome]) -> Any:
        pairs = zip(self.questions, outcomes, strict=True)
        return self.resumed(
            [question.value_for(outcome) for question, outcome in pairs]
        )


def pause_of(interrupt: Any, thread: str) -> Pause:
    """Return an interrupt as requests, which have the same names whenever and wherever they are made."""
    value, schema = interrupt.value, getattr(interrupt, "response_schema", None)
    key = _Key(thread, interrupt.id)
    if isinstance(value, Mapping) and "action_requests" in value:
        configs = value.get("review_configs", [])
        questions = [
            _action(
                action,
                _allowed(configs, place, action["name"]),
                key.call(action["name"], action["args"], place),
            )
            for place, action in enumerate(value["action_requests"])
        ]
        return Pause(
            interrupt.id, questions, lambda decisions: {"decisions": list(decisions)}
        )
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        call = key.call(value["name"], value["args"])
        question = _action(
            value, _allowed_by(schema), call, str(value.get("tool_call_id") or "")
        )
        if question.name and (edits := _schema_of_edits(schema)):
            question.fields["response_schema"] = edits
        return Pause(interrupt.id, [question], _only)
    if inbox := _inbox(value):
        questions = [
            _human_interrupt(each, key, place) for place, each in enumerate(inbox)
        ]
        return Pause(interrupt.id, questions, list)
    return Pause(interrupt.id, [_plain(value, schema, key)], _only)


def _only(values: Sequence[Any]) -> Any:
    return values[0]


@dataclass(frozen=True, slots=True)
class _Key:
    thread: str
    id: str

    def call(self, name: str, args: Any, place: int = 0) -> ToolCall:
        """Return a call. Raise Unreadable if its effect cannot be shown to people."""
        if not name:
            raise calls.unreadable(name, "it does not name a tool")
        if args is None:
            raise calls.unreadable(name, "it has no input")
        arguments: Mapping[str, Any] = (
            args if isinstance(args, Mapping) else {"args": args}
        )
        calls.readable_input(name, arguments)
        return ToolCall(name, f"{self.id}:{place}", arguments, self.thread)


# LangChain


def _allowed(
    configs: Sequence[Mapping[str, Any]], place: int, name: str
) -> Sequence[str]:
    """Return the allowed decisions on an action, from its own configuration or that of its name."""
    own = (
        configs[place]
        if place < len(configs) and configs[place].get("action_name") == name
        else None
    )
    config = own or next(
        (each for each in configs if each.get("action_name") == name), {}
    )
    return list(config.get("allowed_decisions") or ALL)


def _allowed_by(schema: Any) -> Sequence[str]:
    """Return the decisions that the JSON Schema of an answer allows."""
    if not isinstance(schema, Mapping):
        return ALL
    if mapping := (schema.get("discriminator") or {}).get("mapping"):
        return list(mapping)
    only = ((schema.get("properties") or {}).get("type") or {}).get("const")
    return [only] if only else ALL


def _schema_of_edits(schema: Any) -> dict[str, Any] | None:
    """Return the schema of changed arguments: LangGraph refuses others, and then no decision can be given."""
    defined = dict(schema.get("$defs") or {}) if isinstance(schema, Mapping) else {}
    args = ((defined.get("EditedAction") or {}).get("properties") or {}).get("args")
    if not isinstance(args, Mapping):
        return None
    edited = defined.get(str(args.get("$ref", "")).removeprefix("#/$defs/"), args)
    own = {
        name: each
        for name, each in defined.items()
        if not name.endswith(("Decision", "EditedAction"))
    }
    return {**edited, "$defs": own} if own else dict(edited)


def _action(
    action: Mapping[str, Any], allowed: Sequence[str], call: ToolCall, call_id: str = ""
) -> Question:
    question = (
        "respond" in allowed and "approve" not in allowed and "edit" not in allowed
    )
    fields = call.question() if question else call.approval()
    if not question and (description := action.get("description")):
        fields["message"] = str(description)

    def told(outcome: Outcome) -> dict[str, Any]:
        if outcome.approved:
            if not outcome.edited:
                return {"type": "approve"}
            if "edit" in allowed:
                return {
                    "type": "edit",
                    "edited_action": {
                        "name": call.name,
                        "args": dict(outcome.input or {}),
                    },
                }
            return _refused(
                allowed,
                f"{calls.note(outcome)} It was not run. Make the call again with that input.",
            )
        if outcome.status == "answered" or (question and outcome.answer is not None):
            return {"type": "respond", "message": calls.answer_text(outcome)}
        return _refused(
            allowed, calls.answer_text(outcome) if question else calls.refusal(outcome)
        )

    title = call.question_title if question else call.title
    return Question(
        title, fields, told, "" if question else call.name, call.input, call_id
    )


def _refused(allowed: Sequence[str], message: str) -> dict[str, Any]:
    for decision in ("reject", "respond"):
        if decision in allowed:
            return {"type": decision, "message": message}
    raise CannotTell(
        f"This call accepts only {', '.join(allowed)}, so it cannot be told: {message}"
    )


# The Agent Inbox


def _inbox(value: Any) -> Sequence[Mapping[str, Any]]:
    each = value if isinstance(value, list) else [value]
    return (
        each
        if each
        and all(isinstance(item, Mapping) and "action_request" in item for item in each)
        else []
    )


def _human_interrupt(value: Mapping[str, Any], key: _Key, place: int) -> Question:
    action, config = value["action_request"], value.get("config") or {}
    question = not config.get("allow_accept") and not config.get("allow_edit")
    args = action.get("args")
    call = key.call(
        str(action.get("action") or ("ask" if question else "")),
        {} if question and args is None else args,
        place,
    )
    fields = call.question() if question else call.approval()
    if description := value.get("description"):
        _, message = title_and_message(
            call.question_text if question else "", str(description)
        )
        fields.update(message)

    def told(outcome: Outcome) -> dict[str, Any]:
        if outcome.approved and not outcome.edited:
            return {"type": "accept", "args": None}
        if outcome.approved:
            return {
                "type": "edit",
                "args": {"action": call.name, "args": dict(outcome.input or {})},
            }
        if outcome.answer is not None:
            return {"type": "response", "args": calls.answer_text(outcome)}
        if config.get("allow_respond") and (
            outcome.comment or not config.get("allow_ignore")
        ):
            return {"type": "response", "args": calls.refusal(outcome)}
        return {"type": "ignore", "args": None}

    return Question(
        call.question_title if question else call.title,
        fields,
        told,
        "" if question else call.name,
        call.input,
    )


# Values of the graph's own


def _plain(value: Any, schema: Any, key: _Key) -> Question:
    call = ToolCall("", f"{key.id}:0", {}, key.thread)
    named: Asked = {
        "tool_call_id": call.key,
        **({"thread_id": shortened(key.thread, 200)} if key.thread else {}),
    }
    if isinstance(value, Mapping) and isinstance(value.get("title"), str):
        rest = {name: field for name, field in value.items() if name != "title"}
        return Question(value["title"], {**named, **rest}, _outcome_told)
    fields: Asked = {**named, "kind": "question"}
    if isinstance(schema, Mapping):
        fields = {**named, "kind": "form", "response_schema": schema}
    if isinstance(value, Mapping):
        fields["context"] = dict(value)
        title = ToolCall("The run", "", value).question_title
    else:
        title, message = title_and_message(
            str(value).strip() or "The run needs an answer."
        )
        fields.update(message)
    return Question(title, fields, _answer_told)


def _outcome_told(outcome: Outcome) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in TOLD}


def _answer_told(outcome: Outcome) -> Any:
    """Return the answer as it was given; None if there is none."""
    return outcome.answer
