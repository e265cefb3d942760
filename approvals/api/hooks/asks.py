"""Turn calls of coding agents into requests: approvals, questions and forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from approvals.api.hooks.bodies import HookCall
from approvals.asking.asks import MAX_OPTIONS, Ask
from approvals.asking.titles import title_and_message, title_of_call
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict, JsonMapping
from approvals.states import Kind

MAX_QUESTIONS = 20
#: Prefix of question names in a form, followed by the question's number.
QUESTION = "question"


def ask_from(call: HookCall) -> Ask:
    """Return the request for a call. Raise Invalid for malformed questions."""
    if call.server:
        return _elicitation(call)
    return (
        _questions(call)
        if call.asks_questions
        else _ask(
            call, Kind.APPROVAL, title_of_call(call.tool, call.input, call.directory)
        )
    )


def _ask(call: HookCall, kind: Kind, title: str, message: str = "", **more: Any) -> Ask:
    """Return a request about a call; its directory and the asking server become the context."""
    context = {
        name: text
        for name, text in (("directory", call.directory), ("server", call.server))
        if text
    }
    return Ask(
        kind=kind,
        title=title,
        message=message,
        tool_name=call.tool,
        tool_call_id=call.key,
        context=context or None,
        **{"input": call.input, **more},
    )


def _elicitation(call: HookCall) -> Ask:
    title, message = title_and_message(call.message)
    if call.address:
        # Approving means that someone has opened the address.
        return _ask(call, Kind.APPROVAL, title, message, input={"url": call.address})
    return _ask(call, Kind.FORM, title, message, response_schema=call.requested_schema)


def questions_of(call: HookCall) -> list[JsonMapping]:
    """Return the questions of an `AskUserQuestion`, each with at least text and options. Raise Invalid."""
    questions = call.input.get("questions")
    wanted = _(
        "must be 1 to %(limit)s different questions, each with a text and options"
    ) % {"limit": MAX_QUESTIONS}
    if (
        not isinstance(questions, list)
        or not 1 <= len(questions) <= MAX_QUESTIONS
        or not all(map(_is_question, questions))
    ):
        raise Invalid(
            _("The body of the hook is invalid."), {"tool_input.questions": wanted}
        )
    if len({question["question"] for question in questions}) < len(questions):
        raise Invalid(
            _("The body of the hook is invalid."), {"tool_input.questions": wanted}
        )
    return questions


def _is_question(question: Any) -> bool:
    if (
        not isinstance(question, dict)
        or not isinstance(question.get("question"), str)
        or not question["question"].strip()
    ):
        return False
    options = question.get("options")
    if not isinstance(options, list) or not 1 <= len(options) <= MAX_OPTIONS:
        return False
    return all(
        isinstance(option, dict)
        and isinstance(option.get("label"), str)
        and option["label"]
        for option in options
    )


def _questions(call: HookCall) -> Ask:
    questions = questions_of(call)
    if len(questions) == 1:
        return _one_question(call, questions[0])
    properties = {
        f"{QUESTION}{number}": _property(question)
        for number, question in enumerate(questions, 1)
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    title, message = title_and_message(
        " · ".join(question["question"].strip() for question in questions)
    )
    return _ask(call, Kind.FORM, title, message, response_schema=schema)


def _one_question(call: HookCall, question: JsonMapping) -> Ask:
    title, message = title_and_message(question["question"])
    options = [
        {
            name: option[name]
            for name in ("label", "description")
            if isinstance(option.get(name), str) and option[name]
        }
        for option in question["options"]
    ]
    multiple = question.get("multiSelect") is True
    return _ask(
        call,
        Kind.QUESTION,
        title,
        message,
        options=options,
        multiple=multiple,
        allow_text=True,
    )


def _property(question: JsonMapping) -> JsonDict:
    offered: Sequence[str] = list(
        dict.fromkeys(option["label"] for option in question["options"])
    )
    item = {"type": "string", "enum": offered}
    about = {"title": question["question"]}
    explained = [
        f"{option['label']}: {description}"
        for option in question["options"]
        if isinstance(description := option.get("description"), str) and description
    ]
    if explained:
        about["description"] = " · ".join(explained)
    if question.get("multiSelect") is True:
        return {
            **about,
            "type": "array",
            "items": item,
            "minItems": 1,
            "uniqueItems": True,
        }
    return {**about, **item}
