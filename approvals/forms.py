"""What a person sends from a request's card, parsed strictly; nothing in it is trusted but the buttons it may press."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from approvals.answers import answer_to
from approvals.asks import ABSENT
from approvals.canonical import NotCanonical, canonical, parse
from approvals.care import check_typed_name
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict, verdict_from

MAX_FIELDS = 200


@dataclass(frozen=True, slots=True)
class Sent:
    """A decision as it was sent: what `actions.decide` takes."""

    verdict: Verdict
    comment: str
    edited_input: Any
    answer: Any


@dataclass(frozen=True, slots=True)
class EditField:
    """One value of the input as a form field; `kind` is text, number, checkbox or json."""

    name: str
    kind: str
    value: str
    checked: bool = False


def edit_fields(value: Mapping[str, Any]) -> list[EditField]:
    """The input, value by value: plain ones as fields of their type, all others as JSON."""
    return [_edit_field(name, item) for name, item in value.items()]


def _edit_field(name: str, item: Any) -> EditField:
    match item:
        case bool():
            return EditField(name, "checkbox", "", checked=item)
        case int() | float():
            return EditField(name, "number", canonical(item).decode())
        case str():
            return EditField(name, "text", item)
        case _:
            return EditField(name, "json", canonical(item).decode())


def sent_decision(request: ApprovalRequest, data: QueryDict) -> Sent:
    """Parse a card's form; Invalid, naming the field, if it does not fit the request."""
    verdict = verdict_from(data.get("verdict", ""))
    if verdict is None:
        raise Invalid("Press one of the buttons.", {"verdict": "is unknown"})
    check_typed_name(request, verdict, data)
    edited = _edited_input(request, data) if verdict == Verdict.EDIT else ABSENT
    answer = _answer(request, data) if verdict == Verdict.RESPOND else ABSENT
    return Sent(verdict, _lines(data.get("comment", "")), edited, answer)


def sent_door(data: QueryDict) -> Door:
    """Which of our pages the form stood on."""
    return Door.CHAT if data.get("from") == Door.CHAT else Door.DASHBOARD


def _edited_input(request: ApprovalRequest, data: QueryDict) -> dict[str, Any]:
    fields = edit_fields(request.input)
    if len(fields) > MAX_FIELDS:
        raise Invalid("This input has too many values to be edited here.", {"edited_input": "is too large"})
    values, errors = {}, {}
    for field in fields:
        try:
            values[field.name] = _value(field, data, request.input[field.name])
        except NotCanonical as error:
            errors[f"edited_input.{field.name}"] = str(error)
    if errors:
        raise Invalid("The changed input cannot be read.", errors)
    return values


def _value(field: EditField, data: QueryDict, proposed: Any) -> Any:
    name = f"input.{field.name}"
    if field.kind == "checkbox":
        return name in data
    if name not in data:
        raise NotCanonical("is missing")
    sent = str(data[name])
    raw = _lines(sent)
    if raw == _lines(field.value):
        # What was not touched must not look edited, whatever became of its line breaks or its large numbers.
        return proposed
    if field.kind == "text":
        return sent if "\r\n" in field.value else raw
    if field.kind == "number":
        return _number(raw)
    return parse(raw)


def _lines(text: str) -> str:
    """Browsers send every line break as CRLF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _number(raw: str) -> int | float:
    if re.fullmatch(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", raw.strip()):
        raise NotCanonical("can be read in two ways; write it without a thousands separator")
    try:
        value = parse(raw.strip().replace(",", "."))
    except NotCanonical:
        value = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise NotCanonical("must be a number")


def _answer(request: ApprovalRequest, data: QueryDict) -> Any:
    text = data.get("text", "").strip().replace("\r\n", "\n")
    if request.kind == Kind.QUESTION:
        chosen = [
            int(place) for place in data.getlist("choice") if place.isascii() and place.isdigit() and len(place) < 6
        ]
        if len(chosen) != len(data.getlist("choice")):
            raise Invalid("That choice is not among the options.", {"answer": "is not among the options"})
        return answer_to(request, chosen=chosen, text=text)
    try:
        return parse(text)
    except NotCanonical as error:
        raise Invalid("The answer is not JSON.", {"answer": str(error)}) from error
