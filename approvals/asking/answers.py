"""A person's answer to a request, and the common form of answers to questions with options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.utils.translation import gettext as _

from approvals.asking.attachments import NewFile
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict, JsonMapping
from approvals.policy.grants import GrantTerms
from approvals.states import Verdict

#: Members of an answer to a question with options, besides `text`.
SHAPE = frozenset({"fieldName", "selected", "selectedIndex"})


class _Absent:
    """No value at all, as distinct from None."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to a request, over any channel: a verdict and its data.

    `edited_input` is the changed input of an EDIT, `answer` the JSON value of a RESPOND; for other verdicts they are ABSENT.
    Nothing is validated before `actions.decide`. `unseen` says, for the audit log, how much of an approved input the person
    never had in view. `grant` has the terms on which equal calls may run without asking from now on.
    """

    verdict: Verdict
    comment: str = ""
    edited_input: Any = ABSENT
    answer: Any = ABSENT
    unseen: Mapping[str, int] | None = None
    grant: GrantTerms | None = None
    #: New files in `answer`, by member.
    files: Mapping[str, NewFile] = field(default_factory=dict)
    signed_in_at: datetime | None = None
    break_glass: bool = False


class Answerable(Protocol):
    """The fields of a stored or new request that determine its valid answers."""

    @property
    def options(self) -> Sequence[JsonMapping]: ...
    @property
    def multiple(self) -> bool: ...
    @property
    def allow_text(self) -> bool: ...
    @property
    def field_name(self) -> str: ...


def answer_to(
    question: Answerable, *, chosen: Sequence[int] = (), text: str = ""
) -> Any:
    """Return `{fieldName, selected: [label...], selectedIndex, text?}` if there are options, else the text itself.

    `chosen` are 0-based indexes of options; `selectedIndex` is a list for multiple choice, else one index or null. Raise Invalid,
    naming the field, for an unknown option or an empty answer.
    """
    if not question.options:
        if not text:
            raise Invalid(_("Write an answer first."), {"answer": _("is empty")})
        return text
    places = sorted(set(chosen))
    if any(not 0 <= place < len(question.options) for place in places):
        raise _not_offered()
    if len(places) > 1 and not question.multiple:
        raise Invalid(
            _("Choose one option."), {"answer": _("has more than one option")}
        )
    if text and not question.allow_text:
        raise Invalid(
            _("This question only accepts one of its options."),
            {"answer": _("does not accept text")},
        )
    if not places and not text:
        message = (
            _("Choose an option or write an answer.")
            if question.allow_text
            else _("Choose an option.")
        )
        raise Invalid(message, {"answer": _("is empty")})
    only_place = places[0] if places else None
    answer: JsonDict = {
        "fieldName": question.field_name,
        "selected": [question.options[place]["label"] for place in places],
        "selectedIndex": places if question.multiple else only_place,
    }
    return answer | ({"text": text} if text else {})


def to_choice(question: Answerable, answer: Any) -> JsonDict:
    """Convert a program's answer to a question with options into the form of `answer_to`.

    Accepts a label, a list of labels, and the form itself, with or without its indexes and name. A text that is no label is the
    free text, if the question takes one. Raise Invalid, naming the field, for anything else.
    """
    labels = [option["label"] for option in question.options]
    match answer:
        case str() if answer in labels or not question.allow_text:
            return _chosen(question, [_place(labels, answer)])
        case str():
            return _chosen(question, [], answer.strip())
        case list():
            return _chosen(question, [_place(labels, label) for label in answer])
        case dict():
            return _read(question, labels, answer)
        case _:
            raise Invalid(
                _("Answer with one of the options."),
                {"answer": _("is not a label, a list of labels, or an answer object")},
            )


def _read(question: Answerable, labels: Sequence[str], answer: JsonMapping) -> JsonDict:
    errors = {}
    for name in answer.keys() - {"fieldName", "selected", "selectedIndex", "text"}:
        errors[f"answer.{name[:100]}"] = _("is not allowed here")
    if answer.get("fieldName", question.field_name) != question.field_name:
        errors["answer.fieldName"] = _(
            "is not “%(name)s”, the subject of the request"
        ) % {"name": question.field_name}
    selected = answer.get("selected", [])
    text = answer.get("text", "")
    if not isinstance(selected, list):
        errors["answer.selected"] = _("is not a list of labels")
    if not isinstance(text, str):
        errors["answer.text"] = _("is not text")
    if errors:
        raise Invalid(_("This answer does not match the question."), errors)
    places = _places(answer, len(labels))
    if places is None:
        places = [_place(labels, label) for label in selected]
    elif "selected" in answer and [labels[place] for place in places] != selected:
        raise Invalid(
            _("This answer contradicts itself."),
            {"answer.selectedIndex": _("does not match the options in `selected`")},
        )
    return _chosen(question, places, text.strip())


def _places(answer: JsonMapping, offered: int) -> list[int] | None:
    """Return the indexes in an answer; None if it has none."""
    selected = answer.get("selectedIndex")
    if selected is None:
        return None
    places = selected if isinstance(selected, list) else [selected]
    if any(type(place) is not int or not 0 <= place < offered for place in places):
        raise _not_offered("answer.selectedIndex")
    return places


def _place(labels: Sequence[str], label: Any) -> int:
    if not isinstance(label, str) or label not in labels:
        raise _not_offered()
    return labels.index(label)


def _chosen(question: Answerable, places: Sequence[int], text: str = "") -> JsonDict:
    choice: JsonDict = answer_to(question, chosen=places, text=text)
    return choice


def _not_offered(field: str = "answer") -> Invalid:
    return Invalid(
        _("That choice is not one of the options."),
        {field: _("is not one of the options")},
    )


def is_choice(answer: Any) -> bool:
    """Return whether an answer has the form of `answer_to`."""
    shaped = isinstance(answer, dict) and SHAPE <= answer.keys() <= {*SHAPE, "text"}
    return shaped and isinstance(answer["selected"], list)


def answer_text(answer: Any) -> str:
    """Return an answer for people: text unchanged, chosen options by label, anything else as JSON; null is ""."""
    if is_choice(answer):
        return ", ".join(
            [
                *map(str, answer["selected"]),
                *([str(answer["text"])] if answer.get("text") else []),
            ]
        )
    if answer is None:
        return ""
    return (
        answer
        if isinstance(answer, str)
        else json.dumps(answer, indent=2, ensure_ascii=False)
    )
