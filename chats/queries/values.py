"""Steps and calls as values with the decisions about them, and the remarks on a model's answer. Pure.

A remark says that an answer was cut off, refused or broken off, or that something was left out. It is stored as a code and data,
and gets its text when it is shown. Messages hold it as an AI SDK data part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from approvals.asking.calls import RequestOfCall
from approvals.db.canonical_json import clean_text
from approvals.json_types import JsonDict, JsonMapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A tool call with the decision about it.

    `approval_id` is the id of its approval request, or "", and `request_id` that of its request of any kind. `approved` is None
    until someone decides; `edited_input` is the input as edited by a person, or None, and `approved_digest` is that of the input
    that may run. `by_rule`: a rule of the policy decided. `declined`: a person declined to answer; `error_text` then holds their
    comment. `decided`: the request about the call has ended; for a call with an unknown outcome, the recovery. `attempt` counts
    the runs and fences the result of each. `request` is the data of the request for its result, if this process has decided it.
    """

    tool_call_id: str
    name: str
    input: Any
    state: str
    output: Any = None
    error_text: str = ""
    approval_id: str = ""
    approved: bool | None = None
    reason: str = ""
    edited_input: Any = None
    declined: bool = False
    decided: bool = False
    request_id: str = ""
    recovery_id: str = ""
    approved_digest: str = ""
    #: The salt in it (`approvals.asking.digests`).
    digest_salt: str | None = ""
    by_rule: bool = False
    executed_digest: str = ""
    attempt: int = 0
    request: RequestOfCall | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: the blocks as the model returned them, its calls, and the provider and model that made it.

    `prefix` is the provider's own data, needed when the answer is sent back to it. `made` caches values derived from the step
    for as long as a runner knows the step; `replace` makes a step without them.
    """

    blocks: Sequence[JsonDict]
    calls: Sequence[CallView] = ()
    provider: str = ""
    model: str = ""
    prefix: str = ""
    stop_reason: str = ""
    stop_details: JsonMapping = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    answered_by: Mapping[str, str] = field(default_factory=dict)
    made: JsonDict = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, name: str, make: Callable[[StepView], T]) -> T:
        """Return the cached result of `make`, a pure function of this name, for the step."""
        if name not in self.made:
            self.made[name] = make(self)
        made: T = self.made[name]
        return made

    @property
    def is_shown(self) -> bool:
        """Whether the answer has anything to show. An unfinished one may only have been billed."""
        return bool(self.blocks) or self.stop_reason not in {BROKEN_OFF, STOPPED_ANSWER}

    @property
    def remarks(self) -> list[Remark]:
        """Remarks on the answer besides its text."""
        return remarks_on(self.stop_reason, self.stop_details)


#: The type of the data part (AI SDK) of an assistant's message that holds a remark.
REMARK = "data-remark"
#: The stop reason of a step whose text was streamed before its turn failed.
BROKEN_OFF = "broken_off"
#: The stop reason of a step that someone stopped.
STOPPED_ANSWER = "stopped"
REFUSAL = "refusal"
#: The stop reasons with a remark.
TOLD = frozenset(
    {"max_tokens", "model_context_window_exceeded", REFUSAL, "unknown", BROKEN_OFF}
)
#: Those whose answers may be continued at a person's request.
CONTINUED = frozenset({"max_tokens", "unknown", BROKEN_OFF})
#: Data left out of a request to a model, in `stop_details` of the first answer made without it.
THOUGHTS_LEFT_OUT = "thoughts_left_out"
MODEL_CHANGED = "model_changed"
FILES_LEFT_OUT = "files_left_out"
MESSAGES_LEFT_OUT = "messages_left_out"
CONTAINER_LEFT_OUT = "container_left_out"
#: Another model answered in place of one that refused.
FALLBACK = "fallback"
MAX_WORD = 100
MAX_EXPLANATION = 1000

Remark = JsonDict


def remarks_on(stop_reason: str, stop_details: JsonMapping) -> list[Remark]:
    """Return the remarks on an answer that ended like this. The provider's texts are bounded and untrusted."""
    remarks = [
        {
            "code": code,
            **_texts(details, "why", "before", "now", "category"),
            **_counts(details, "answers", "files", "messages"),
        }
        for code in (
            MODEL_CHANGED,
            THOUGHTS_LEFT_OUT,
            FILES_LEFT_OUT,
            MESSAGES_LEFT_OUT,
            CONTAINER_LEFT_OUT,
            FALLBACK,
        )
        if isinstance(details := stop_details.get(code), Mapping)
    ]
    if stop_reason in TOLD:
        names = ("category", "explanation") if stop_reason == REFUSAL else ("reason",)
        remarks.append({"code": stop_reason, **_texts(stop_details, *names)})
    return remarks


def _texts(details: JsonMapping, *names: str) -> dict[str, str]:
    limits = dict.fromkeys(names, MAX_WORD) | {"explanation": MAX_EXPLANATION}
    return {
        name: clean_text(value)[: limits[name]]
        for name in names
        if isinstance(value := details.get(name), str) and value
    }


def _counts(details: JsonMapping, *names: str) -> dict[str, int]:
    return {
        name: value
        for name in names
        if isinstance(value := details.get(name), int) and value > 0
    }


def remark_part(remark: Remark) -> JsonDict:
    """Return a remark as the data part of a message."""
    return {"type": REMARK, "data": remark}


def remarks_in(parts: Iterable[JsonMapping]) -> list[Remark]:
    """Return the remarks in a message."""
    return [part["data"] for part in parts if part.get("type") == REMARK]


def with_words(part: JsonDict) -> JsonDict:
    """Return a part for clients: that of a remark with its text as `text`."""
    if part.get("type") != REMARK:
        return part
    return part | {"data": part["data"] | {"text": words_of(part["data"])}}


def words_of(remark: JsonMapping) -> str:
    """Return a remark as text, with advice to the person."""
    match remark.get("code"):
        case "max_tokens":
            return _(
                "The answer was cut off because it reached its maximum length. Send “Continue” to get the rest."
            )
        case "model_context_window_exceeded":
            return _(
                "The answer was cut off because this chat is too long for the model. "
                "Start a new chat, or branch this one from an earlier checkpoint."
            )
        case "refusal":
            return " ".join(_refusal(remark))
        case "broken_off":
            return _(
                "The answer was interrupted by an error. Send “Continue” to get the rest."
            )
        case "model_changed":
            return _model_changed(remark)
        case "thoughts_left_out":
            return _thoughts_left_out(remark)
        case "messages_left_out":
            return _(
                "From here on, the model does not see the beginning of this chat, because the chat is too long."
            )
        case "container_left_out":
            return _(
                "The container that ran code before is gone, with its files. Code now runs in a new one."
            )
        case "fallback":
            return _fallback(remark)
        case "files_left_out":
            return _(
                "The model did not accept some files of this chat, so it does not see them. Send others."
            )
        case "unknown" if remark.get("reason"):
            return _(
                "The model ended its answer for an unknown reason: %(reason)s."
            ) % {"reason": remark["reason"]}
        case _:
            return _("The model ended its answer for an unknown reason.")


def words_of_silence(attempt: int, attempts: int) -> str:
    """Return the notice to readers while no output of an answer has arrived."""
    return _("The model has not answered yet (try %(attempt)s of %(attempts)s).") % {
        "attempt": attempt,
        "attempts": attempts,
    }


def _refusal(remark: JsonMapping) -> list[str]:
    category = str(remark.get("category", ""))
    explanation = str(remark.get("explanation", ""))
    if category:
        sentences = [
            _("The model refused to answer (%(category)s).")
            % {"category": _category(category)}
        ]
    else:
        sentences = [_("The model refused to answer.")]
    if explanation:
        sentences.append(_("It says: “%(explanation)s”") % {"explanation": explanation})
    return [
        *sentences,
        _("The message and its answer are not sent to the model again. Rephrase it."),
    ]


def _model_changed(remark: JsonMapping) -> str:
    models = {"before": remark.get("before", "?"), "now": remark.get("now", "?")}
    if models["before"] == models["now"]:
        # It is asked through another API, which keeps other data of an answer.
        text = _("From here on, %(now)s is called through another API.") % models
        left_out = _(
            "It does not see its earlier thoughts, or the searches and code that it ran."
        )
    else:
        text = _("From here on, %(now)s answers; before, it was %(before)s.") % models
        left_out = _(
            "It does not see the thoughts of the earlier model, or the searches and code that it ran."
        )
    return f"{text} {left_out}" if remark.get("answers") else text


def _fallback(remark: JsonMapping) -> str:
    values = {"before": remark.get("before", "?"), "now": remark.get("now", "?")}
    if remark.get("category"):
        values["category"] = _category(str(remark["category"]))
        return (
            _(
                "%(before)s refused to answer (%(category)s), and %(now)s answered in its place."
            )
            % values
        )
    return (
        _("%(before)s refused to answer, and %(now)s answered in its place.") % values
    )


def _thoughts_left_out(remark: JsonMapping) -> str:
    if remark.get("why") == "changed":
        return _(
            "From here on, the model does not see its earlier thoughts, because its instructions, its tools "
            "or the messages before them have changed."
        )
    return _(
        "From here on, the model does not see its earlier thoughts, because its provider no longer accepts them."
    )


def _category(category: str) -> str:
    """Return the policy category of a refusal in words; unknown ones unchanged."""
    known = {
        "cyber": _("computer security"),
        "bio": _("biology"),
        "frontier_llm": _("development of AI models"),
        "reasoning_extraction": _("internal reasoning of the model"),
        "general_harms": _("possible harm"),
    }
    return known.get(category, category)
