"""The answer of a person to a request, and the one shape of answers to questions with options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.utils.translation import gettext as _

from approvals.asking.attachments import NewFile
from approvals.exceptions import Invalid
from approvals.policy.grants import GrantTerms
from approvals.states import Verdict

#: The members of an answer to a question with options, besides `text`.
SHAPE = frozenset({"fieldName", "selected", "selectedIndex"})


class _Absent:
    """No value at all, where None is a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answers to a request, whichever way it comes in: a verdict, and what belongs to it.

    `edited_input` is the changed input of an EDIT, `answer` the JSON value of a RESPOND; either is ABSENT for any other
    verdict. Nothing in it is checked before `actions.decide`. `unseen` says how much of an approved input was never
    in view of the person, for the audit log. `grant` has the terms on which equal calls may run without asking from now on.
    """

    verdict: Verdict
    comment: str = ""
    edited_input: Any = ABSENT
    answer: Any = ABSENT
    unseen: Mapping[str, int] | None = None
    grant: GrantTerms | None = None
    #: The new files in `answer`, by its members.
    files: Mapping[str, NewFile] = field(default_factory=dict)
    signed_in_at: datetime | None = None
    break_glass: bool = False


class Question(Protocol):
    """The fields of a request, or of one about to be created, that say which answers it takes."""

    @property
    def options(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def multiple(self) -> bool: ...
    @property
    def allow_text(self) -> bool: ...
    @property
    def field_name(self) -> str: ...


def answer_to(question: Question, *, chosen: Sequence[int] = (), text: str = "") -> Any:
    """Return `{fieldName, selected: [label...], selectedIndex, text?}` if there are options, else the text itself.

    `chosen` are indexes of options, from 0; `selectedIndex` is a list if several may be chosen, else one index or null.
    Invalid, naming the field, for an option that is not offered and for an empty answer.
    """
    if not question.options:
        if not text:
            raise Invalid(_("Write an answer first."), {"answer": _("is empty")})
        return text
    places = sorted(set(chosen))
    if any(not 0 <= place < len(question.options) for place in places):
        raise _not_offered()
    if len(places) > 1 and not question.multiple:
        raise Invalid(_("Choose one option."), {"answer": _("has more than one option")})
    if text and not question.allow_text:
        raise Invalid(_("This question only accepts one of its options."), {"answer": _("does not accept text")})
    if not places and not text:
        message = _("Choose an option or write an answer.") if question.allow_text else _("Choose an option.")
        raise Invalid(message, {"answer": _("is empty")})
    answer: dict[str, Any] = {
        "fieldName": question.field_name,
        "selected": [question.options[place]["label"] for place in places],
        "selectedIndex": places if question.multiple else (places[0] if places else None),
    }
    return answer | ({"text": text} if text else {})


def to_choice(question: Question, answer: Any) -> dict[str, Any]:
    """Return a program's answer to a question with options in the shape of `answer_to`.

    Accepted are a label, a list of labels, and the shape itself, without its indexes and its name if need be. A text that
    is no label is the free text, if the question takes one. Invalid, naming the field, for anything else.
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


def _read(question: Question, labels: Sequence[str], answer: Mapping[str, Any]) -> dict[str, Any]:
    errors = {}
    for name in answer.keys() - {"fieldName", "selected", "selectedIndex", "text"}:
        errors[f"answer.{name[:100]}"] = _("is not allowed here")
    if answer.get("fieldName", question.field_name) != question.field_name:
        errors["answer.fieldName"] = _("is not “%(name)s”, which was asked about") % {"name": question.field_name}
    selected, text = answer.get("selected", []), answer.get("text", "")
    if not isinstance(selected, list):
        errors["answer.selected"] = _("is not a list of labels")
    if not isinstance(text, str):
        errors["answer.text"] = _("is not text")
    if errors:
        raise Invalid(_("This answer does not fit the question."), errors)
    places = _places(answer, len(labels))
    if places is None:
        places = [_place(labels, label) for label in selected]
    elif "selected" in answer and [labels[place] for place in places] != selected:
        raise Invalid(
            _("This answer contradicts itself."),
            {"answer.selectedIndex": _("does not match the options in `selected`")},
        )
    return _chosen(question, places, text.strip())


def _places(answer: Mapping[str, Any], offered: int) -> list[int] | None:
    """Return the indexes in an answer, None if it has none."""
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


def _chosen(question: Question, places: Sequence[int], text: str = "") -> dict[str, Any]:
    choice: dict[str, Any] = answer_to(question, chosen=places, text=text)
    return choice


def _not_offered(field: str = "answer") -> Invalid:
    return Invalid(_("That choice is not one of the options."), {field: _("is not one of the options")})


def is_choice(answer: Any) -> bool:
    """Return whether an answer has the shape of `answer_to`."""
    shaped = isinstance(answer, dict) and SHAPE <= answer.keys() <= {*SHAPE, "text"}
    return shaped and isinstance(answer["selected"], list)


def answer_text(answer: Any) -> str:
    """Return an answer for people: text as it is, chosen options by their labels, anything else as JSON; null is ""."""
    if is_choice(answer):
        return ", ".join([*map(str, answer["selected"]), *([str(answer["text"])] if answer.get("text") else [])])
    if answer is None:
        return ""
    return answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False)
