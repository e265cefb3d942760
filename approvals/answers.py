"""Answers to questions with options, in the one shape that all our pages give: labels, their places, and free text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest


def answer_to(question: ApprovalRequest, *, chosen: Sequence[int] = (), text: str = "") -> Any:
    """`{fieldName, selected: [label...], selectedIndex, text?}` where there are options, else the text itself.

    `chosen` are places in the options, counted from 0; `selectedIndex` is a list where several may be chosen, else one
    place or null. Raises Invalid, naming the field, for a choice that is not offered and for an answer that says nothing.
    """
    if not question.options:
        if not text:
            raise Invalid("Write an answer first.", {"answer": "is empty"})
        return text
    places = sorted(set(chosen))
    if any(not 0 <= place < len(question.options) for place in places):
        raise Invalid("That choice is not among the options.", {"answer": "is not among the options"})
    if len(places) > 1 and not question.multiple:
        raise Invalid("Choose one option.", {"answer": "holds more than one option"})
    if text and not question.allow_text:
        raise Invalid("This question takes one of its options only.", {"answer": "takes no text"})
    if not places and not text:
        raise Invalid("Choose an option or write an answer.", {"answer": "is empty"})
    answer: dict[str, Any] = {
        "fieldName": question.field_name,
        "selected": [question.options[place]["label"] for place in places],
        "selectedIndex": places if question.multiple else (places[0] if places else None),
    }
    return answer | ({"text": text} if text else {})


def words_of(answer: Any) -> str:
    """An answer as one would say it: text as it is, chosen options by their labels, anything else as JSON; null is ""."""
    if isinstance(answer, dict) and isinstance(answer.get("selected"), list):
        return ", ".join([*map(str, answer["selected"]), *([str(answer["text"])] if answer.get("text") else [])])
    if answer is None:
        return ""
    return answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False)
