"""Answers to questions with options, in the one shape that all our pages give: labels, their places, and free text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django.utils.translation import gettext as _

from approvals.exceptions import Invalid

#: The names in an answer to a question with options, beside `text`.
SHAPE = frozenset({"fieldName", "selected", "selectedIndex"})


class Question(Protocol):
    """What of a request, asked or about to be, says which answers it takes."""

    @property
    def options(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def multiple(self) -> bool: ...
    @property
    def allow_text(self) -> bool: ...
    @property
    def field_name(self) -> str: ...


def answer_to(question: Question, *, chosen: Sequence[int] = (), text: str = "") -> Any:
    """`{fieldName, selected: [label...], selectedIndex, text?}` where there are options, else the text itself.

    `chosen` are places in the options, counted from 0; `selectedIndex` is a list where several may be chosen, else one
    place or null. Raises Invalid, naming the field, for a choice that is not offered and for an answer that says nothing.
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
        words = _("Choose an option or write an answer.") if question.allow_text else _("Choose an option.")
        raise Invalid(words, {"answer": _("is empty")})
    answer: dict[str, Any] = {
        "fieldName": question.field_name,
        "selected": [question.options[place]["label"] for place in places],
        "selectedIndex": places if question.multiple else (places[0] if places else None),
    }
    return answer | ({"text": text} if text else {})


def shaped(question: Question, answer: Any) -> dict[str, Any]:
    """A program's answer to a question with options, in the shape of `answer_to`.

    Taken are a label, a list of labels, and the shape itself (its places and name may be left out); a text that is no
    label is the free text, where one is taken. Raises Invalid, naming the field, for anything else.
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
    """The places that an answer names, None if it names none."""
    given = answer.get("selectedIndex")
    if given is None:
        return None
    places = given if isinstance(given, list) else [given]
    if any(type(place) is not int or not 0 <= place < offered for place in places):
        raise _not_offered("answer.selectedIndex")
    return places


def _place(labels: Sequence[str], label: Any) -> int:
    if not isinstance(label, str) or label not in labels:
        raise _not_offered()
    return labels.index(label)


def _chosen(question: Question, places: Sequence[int], text: str = "") -> dict[str, Any]:
    found: dict[str, Any] = answer_to(question, chosen=places, text=text)
    return found


def _not_offered(field: str = "answer") -> Invalid:
    return Invalid(_("That choice is not one of the options."), {field: _("is not one of the options")})


def words_of(answer: Any) -> str:
    """An answer as one would say it: text as it is, chosen options by their labels, anything else as JSON; null is ""."""
    if isinstance(answer, dict) and SHAPE <= answer.keys() <= {*SHAPE, "text"} and isinstance(answer["selected"], list):
        return ", ".join([*map(str, answer["selected"]), *([str(answer["text"])] if answer.get("text") else [])])
    if answer is None:
        return ""
    return answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False)
