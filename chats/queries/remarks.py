"""What is said of a model's answer beside its words: that it was cut off, refused or broken off, or what was left out.

A remark is stored as a code and data, and its words are made when it is shown. Messages hold it as an AI SDK data part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from approvals.db.canonical_json import clean_text

#: The type of the data part (AI SDK) of an assistant's message that holds a remark.
REMARK = "data-remark"
#: The stop reason of a step whose text was streamed before its turn failed.
BROKEN_OFF = "broken_off"
#: The stop reason of a step that someone stopped.
STOPPED_ANSWER = "stopped"
REFUSAL = "refusal"
#: The stop reasons that are told.
TOLD = frozenset({"max_tokens", "model_context_window_exceeded", REFUSAL, "unknown", BROKEN_OFF})
#: The answers among them that may go on when the person asks for it.
CONTINUED = frozenset({"max_tokens", "unknown", BROKEN_OFF})
#: What is left out of what a model is sent, in `stop_details` of the first answer that was made without it.
THOUGHTS_LEFT_OUT, MODEL_CHANGED, FILES_LEFT_OUT = "thoughts_left_out", "model_changed", "files_left_out"
MESSAGES_LEFT_OUT, CONTAINER_LEFT_OUT = "messages_left_out", "container_left_out"
#: That another model answered in place of one that refused.
FALLBACK = "fallback"
MAX_WORD, MAX_EXPLANATION = 100, 1000

Remark = dict[str, Any]


def remarks_on(stop_reason: str, stop_details: Mapping[str, Any]) -> list[Remark]:
    """Return the remarks on an answer that ended like this. What a provider says is bounded, and never trusted."""
    remarks = [
        {
            "code": code,
            **_texts(details, "why", "before", "now", "category"),
            **_counts(details, "answers", "files", "messages"),
        }
        for code in (MODEL_CHANGED, THOUGHTS_LEFT_OUT, FILES_LEFT_OUT, MESSAGES_LEFT_OUT, CONTAINER_LEFT_OUT, FALLBACK)
        if isinstance(details := stop_details.get(code), Mapping)
    ]
    if stop_reason in TOLD:
        names = ("category", "explanation") if stop_reason == REFUSAL else ("reason",)
        remarks.append({"code": stop_reason, **_texts(stop_details, *names)})
    return remarks


def _texts(details: Mapping[str, Any], *names: str) -> dict[str, str]:
    limits = dict.fromkeys(names, MAX_WORD) | {"explanation": MAX_EXPLANATION}
    return {
        name: clean_text(value)[: limits[name]]
        for name in names
        if isinstance(value := details.get(name), str) and value
    }


def _counts(details: Mapping[str, Any], *names: str) -> dict[str, int]:
    return {name: value for name in names if isinstance(value := details.get(name), int) and value > 0}


def remark_part(remark: Remark) -> dict[str, Any]:
    """Return a remark as the data part of a message."""
    return {"type": REMARK, "data": remark}


def remarks_in(parts: Iterable[Mapping[str, Any]]) -> list[Remark]:
    """Return the remarks in a message."""
    return [part["data"] for part in parts if part.get("type") == REMARK]


def with_words(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part as clients get it: that of a remark with its words as `text`."""
    if part.get("type") != REMARK:
        return part
    return part | {"data": part["data"] | {"text": words_of(part["data"])}}


def words_of(remark: Mapping[str, Any]) -> str:
    """Return what a remark says, and what a person can do about it."""
    match remark.get("code"):
        case "max_tokens":
            return _("The answer was cut off because it reached its maximum length. Send “Continue” to get the rest.")
        case "model_context_window_exceeded":
            return _(
                "The answer was cut off because this chat is too long for the model. "
                "Start a new chat, or branch this one from an earlier checkpoint."
            )
        case "refusal":
            return " ".join(_refusal(remark))
        case "broken_off":
            return _("The answer was interrupted by an error. Send “Continue” to get the rest.")
        case "model_changed":
            return _model_changed(remark)
        case "thoughts_left_out":
            return _thoughts_left_out(remark)
        case "messages_left_out":
            return _("From here on the model does not see the beginning of this chat, because it is too long for it.")
        case "container_left_out":
            return _(
                "The container in which code ran before is gone, with the files in it. Code now runs in a new one."
            )
        case "fallback":
            return _fallback(remark)
        case "files_left_out":
            return _("The model did not accept some files of this chat, so it does not see them. Send others.")
        case "unknown" if remark.get("reason"):
            return _("The model ended its answer for an unknown reason: %(reason)s.") % {"reason": remark["reason"]}
        case _:
            return _("The model ended its answer for an unknown reason.")


def words_of_silence(attempt: int, attempts: int) -> str:
    """Return what a reader is told while nothing of an answer has come."""
    return _("The model has not answered yet (try %(attempt)s of %(attempts)s).") % {
        "attempt": attempt,
        "attempts": attempts,
    }


def _refusal(remark: Mapping[str, Any]) -> list[str]:
    category, explanation = str(remark.get("category", "")), str(remark.get("explanation", ""))
    if category:
        sentences = [_("The model refused to answer (%(category)s).") % {"category": _category(category)}]
    else:
        sentences = [_("The model refused to answer.")]
    if explanation:
        sentences.append(_("It says: “%(explanation)s”") % {"explanation": explanation})
    return [*sentences, _("The message and its answer are not sent to the model again. Rephrase it.")]


def _model_changed(remark: Mapping[str, Any]) -> str:
    models = {"before": remark.get("before", "?"), "now": remark.get("now", "?")}
    if models["before"] == models["now"]:
        # It is asked through another API, which keeps other things of an answer.
        text = _("From here on %(now)s is called through another API.") % models
        left_out = _("It does not see its thoughts from before, nor the searches and code that it ran.")
    else:
        text = _("From here on %(now)s answers; before, it was %(before)s.") % models
        left_out = _("It does not see the thoughts of the earlier model, nor the searches and code that it ran.")
    return f"{text} {left_out}" if remark.get("answers") else text


def _fallback(remark: Mapping[str, Any]) -> str:
    values = {"before": remark.get("before", "?"), "now": remark.get("now", "?")}
    if remark.get("category"):
        values["category"] = _category(str(remark["category"]))
        return _("%(before)s refused to answer (%(category)s), and %(now)s answered in its place.") % values
    return _("%(before)s refused to answer, and %(now)s answered in its place.") % values


def _thoughts_left_out(remark: Mapping[str, Any]) -> str:
    if remark.get("why") == "changed":
        return _(
            "From here on the model does not see its earlier thoughts, "
            "because its instructions, its tools or the messages before them have changed."
        )
    return _("From here on the model does not see its earlier thoughts, because its provider no longer accepts them.")


def _category(category: str) -> str:
    """Return the policy category of a refusal in words; one that is not known here as it is."""
    known = {
        "cyber": _("computer security"),
        "bio": _("biology"),
        "frontier_llm": _("development of AI models"),
        "reasoning_extraction": _("internal reasoning of the model"),
        "general_harms": _("possible harm"),
    }
    return known.get(category, category)
