"""Shared code of the adapters: a framework's tool call as a request, and a person's decision as text for the model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pausepoint import strict_json
from pausepoint.desk import Asked, DeskError, Outcome

#: Maximum length of fields; longer ones are rejected by Pausepoint (`approvals/asking/asks.py`).
MAX_CALL_ID, MAX_TITLE, MAX_MESSAGE = 200, 200, 20_000
#: Maximum length of a reported output; the rest is for the model only. Such an output stays below Pausepoint's limit on values.
MAX_OUTPUT, MAX_ERROR = 20_000, 2000
#: Deeper outputs, and those with larger integers, are reported as text; one more level is still below Pausepoint's limit.
MAX_LEVELS, MAX_INTEGER = 60, 2**53 - 1
#: Reported for a call that was cancelled or interrupted.
STOPPED = "It was stopped before it returned, so it may have run in part."
#: Characters that databases cannot store: NUL, and halves of surrogate pairs.
_DIRTY = re.compile("[\x00\ud800-\udfff]")


class Unreadable(DeskError):
    """People cannot be shown a call's effect, so no one is asked and it does not run. The text is for the model."""


def unreadable(name: str, reason: str) -> Unreadable:
    return Unreadable(
        f"This call of {name!r} was not run, and no one was asked about it: {reason}. Make the call again in a form that people "
        "can read."
    )


def readable_input(name: str, value: Any) -> dict[str, Any]:
    """Return the input of a call, an object or its JSON, in the form displayed to people, which is exactly what runs. Other JSON
    values are displayed as `arguments`. Raise Unreadable if there is none, or if parsers could read it differently.
    """
    if value is None:
        raise unreadable(name, "it has no input")
    try:
        text = (
            value
            if isinstance(value, str | bytes)
            else json.dumps(value, allow_nan=False)
        )
        plain = strict_json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise unreadable(name, f"its input is not JSON ({error})") from error
    return plain if isinstance(plain, dict) else {"arguments": plain}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that waits for a person. `id` is the framework's own, `thread` its conversation, if it has one."""

    name: str
    id: str
    input: Mapping[str, Any]
    thread: str = ""
    agent: str = ""

    @property
    def key(self) -> str:
        """The identity of the call for Pausepoint. Models repeat ids in other conversations, so the thread is part of it.

        Empty without an id: otherwise every equal call in the thread would get the decision about the first.
        """
        if not self.id:
            return ""
        key = f"{self.thread}:{self.id}" if self.thread else self.id
        if len(key) <= MAX_CALL_ID:
            return key
        return hashlib.sha256(json.dumps([self.thread, self.id]).encode()).hexdigest()

    def approval(self) -> Asked:
        """Return the fields of a request for approval of the call."""
        return {
            **self._of_thread(),
            "tool_name": self.name,
            "tool_call_id": self.key,
            "input": dict(self.input),
        }

    def question(self) -> Asked:
        """Return the fields of a request that asks the question in the call's input, with its `options`."""
        _, message = title_and_message(self.question_text)
        fields: Asked = {
            **self._of_thread(),
            **message,
            "kind": "question",
            "tool_call_id": self.key,
        }
        options = self.input.get("options")
        if (
            isinstance(options, list)
            and options
            and all(isinstance(option, str) for option in options)
        ):
            fields["options"] = options
            fields["allow_text"] = True
        return fields

    @property
    def title(self) -> str:
        return shortened(f"Run {self.name}?", MAX_TITLE)

    @property
    def question_title(self) -> str:
        """The title of the question. `question` also has the whole text if the title is shorter."""
        return title_and_message(self.question_text)[0]

    @property
    def question_text(self) -> str:
        """The text of the question: the first text of the input."""
        texts = (
            value
            for value in self.input.values()
            if isinstance(value, str) and value.strip()
        )
        return next(texts, f"{self.name} needs an answer.")

    def _of_thread(self) -> Asked:
        fields: Asked = {}
        if self.thread:
            fields["thread_id"] = shortened(self.thread, 200)
        if self.agent:
            fields["agent"] = shortened(self.agent, 100)
        return fields


def same_input(left: Any, right: Any) -> bool:
    """Return whether two inputs are the same JSON; unlike in Python, `true` is not 1."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def title_and_message(text: str, *more: str) -> tuple[str, Asked]:
    """Return a title, and a message of `more` texts, preceded by the whole text unless the title contains all of it."""
    first, *rest = text.strip().splitlines() or [""]
    whole = text if rest or len(first) > MAX_TITLE else ""
    message = shortened("\n\n".join(filter(None, (whole, *more))), MAX_MESSAGE)
    return shortened(first, MAX_TITLE), {"message": message} if message else {}


def shortened(text: str, limit: int) -> str:
    """Return the text cut to `limit` characters, with an ellipsis for the rest."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


#: Tells the model that the policy stops the run.
STOPS = (
    "the policy stops the run now. Do nothing else, and tell the person you work for."
)
HALTED = f"No one decided in time, so this call was not run, and {STOPS}"


def refusal(outcome: Outcome) -> str:
    """Return the text for the model about a call that was not approved."""
    if outcome.halted:
        return HALTED
    if outcome.status == "expired":
        return "No one decided in time, so this call was not run."
    if outcome.status == "cancelled":
        return f"This call was cancelled{_end(outcome)} Do not repeat it."
    if outcome.rule is not None:
        return f"The rule {outcome.rule!r} of the policy denies this call{_end(outcome)} Do not repeat it."
    return f"A person declined this call{_end(outcome)} Do not repeat it."


def note(outcome: Outcome) -> str:
    """Return the note for the model beside an approved call's result: changes, and the person's comment, if any."""
    if not outcome.edited:
        allowed = (
            "A person approved"
            if outcome.rule is None
            else f"The rule {outcome.rule!r} of the policy allows"
        )
        return f"{allowed} this call{_end(outcome)}" if outcome.comment.strip() else ""
    changed = f"A person changed the input of this call to {json.dumps(dict(outcome.input or {}), ensure_ascii=False)}"
    return (
        f"{changed} and says{_end(outcome)}"
        if outcome.comment.strip()
        else f"{changed}."
    )


def known_result(result: Mapping[str, Any]) -> str:
    """Return the text for the model about a call that ran in an earlier attempt."""
    if (state := result.get("state")) != "succeeded":
        return f"This call has run already, and failed: {result.get('error') or state}"
    return (
        f"This call has run already, and returned: {output_text(result.get('output'))}"
    )


def output_text(output: Any) -> str:
    """Return an output as text for the model."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def answer_text(outcome: Outcome) -> str:
    """Return the answer to a question as text, or why there is none."""
    answer = outcome.answer
    if isinstance(answer, str):
        return answer
    if isinstance(answer, dict) and isinstance(
        selected := answer.get("selected"), list
    ):
        return str(answer.get("text") or ", ".join(map(str, selected)))
    if answer is not None:
        return json.dumps(answer, ensure_ascii=False)
    if outcome.halted:
        return f"No one answered in time, and {STOPS}"
    if outcome.status == "rejected":
        return f"A person declined to answer{_end(outcome)}"
    return (
        "No one answered in time."
        if outcome.status == "expired"
        else f"The question was cancelled{_end(outcome)}"
    )


def _end(outcome: Outcome) -> str:
    """End a sentence with the comment, if there is one."""
    comment = outcome.comment.strip()
    if not comment:
        return "."
    return f": {comment}" if comment.endswith((".", "!", "?")) else f": {comment}."


def result_fields(output: Any, error: BaseException | None) -> dict[str, Any]:
    """Return a result for Pausepoint: an output that is too large or cannot be stored as JSON becomes cleaned text."""
    if error is not None:
        text = _text(error) if isinstance(error, Exception) else STOPPED
        return {"error": shortened(f"{type(error).__name__}: {text}", MAX_ERROR)}
    try:
        text = json.dumps(output, allow_nan=False, ensure_ascii=False)
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {"output": shortened(_text(output), MAX_OUTPUT)}
    if len(text) <= MAX_OUTPUT and _is_storable(plain):
        return {"output": plain}
    return {
        "output": shortened(
            _cleaned(plain if isinstance(plain, str) else text), MAX_OUTPUT
        )
    }


def _is_storable(value: Any, levels: int = MAX_LEVELS) -> bool:
    """Return whether Pausepoint can store a JSON value unchanged."""
    match value:
        case str():
            return not _DIRTY.search(value)
        case int():
            return abs(value) <= MAX_INTEGER
        case dict():
            return levels > 0 and all(
                _is_storable(name) and _is_storable(value[name], levels - 1)
                for name in value
            )
        case list():
            return levels > 0 and all(_is_storable(item, levels - 1) for item in value)
    return True


def _text(value: object) -> str:
    try:
        return _cleaned(str(value))
    except Exception as error:
        # For example, a cyclic value, or one of a foreign class.
        return f"({type(value).__name__}: no text, because of {type(error).__name__})"


def _cleaned(text: str) -> str:
    return _DIRTY.sub("\ufffd", text)
