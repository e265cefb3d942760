"""Dialogs for messages, changes, answers and flat forms, and their submitted values, with the errors of each field."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.actions.checking import MAX_COMMENT, NOTHING_KNOWN, check
from approvals.asking.answers import ABSENT
from approvals.asking.secrets import request_content
from approvals.channels.content import cut
from approvals.channels.slack.elements import BLOCK, section, text_object
from approvals.exceptions import Invalid
from approvals.forms.decision import (
    ANSWER,
    EDIT,
    answer_form,
    input_form,
    sent_decision,
    wants_json,
)
from approvals.forms.fields import SECRET, FormControl, Offer, Widget
from approvals.forms.texts import index_of, text_for
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict
from approvals.text.text import in_one_line, visible

REASON = "reason"
VERDICTS = {
    "approve": Verdict.APPROVE,
    "edit": Verdict.EDIT,
    "reject": Verdict.REJECT,
    "answer": Verdict.RESPOND,
}
#: The dialogs with fields, and the prefixes of the names of their fields and errors.
WITH_FIELDS = {"edit": EDIT, "answer": ANSWER}
#: Characters and spellings that Slack's text fields may not give back as they were.
_ALTERED = re.compile(r"&(amp|lt|gt);|:[\w+-]+:|\r|\u20e3")
#: Slack's limits: inputs of a dialog, radio buttons and check boxes, options of a menu, characters of a text.
MAX_FIELDS = 40
MAX_BOXES = 10
MAX_OPTIONS = 100
MAX_TEXT = 3_000
MAX_LABEL = 75
#: Inputs for moments, by the type of the page's field.
PICKERS = {"date": "datepicker", "datetime-local": "datetimepicker"}
#: Widgets that one input can show.
FLAT = frozenset(
    {Widget.LINE, Widget.LINES, Widget.NUMBER, Widget.CHOICE, Widget.SEVERAL}
)


def fields_of(request: ApprovalRequest, action: str) -> Sequence[FormControl] | None:
    """Return the fields of a dialog beside its message; None if it cannot show them in full."""
    if action not in WITH_FIELDS:
        return ()
    fields = _fields(request, action)
    shown = 0 < len(fields) <= MAX_FIELDS and all(map(_is_flat, fields))
    if action == "edit" and shown:
        shown = all(_is_kept(each, _proposed(request, each)) for each in fields)
    return fields if shown else None


def _fields(request: ApprovalRequest, action: str) -> Sequence[FormControl]:
    if request.options:
        return _question(request)
    if action == "edit":
        form = input_form(request_content(request)) if request.voted_input else None
    else:
        form = answer_form(request)
    if form is not None:
        controls = form.children if form.widget == Widget.GROUP else (form,)
        return [each for each in controls if each.widget != Widget.FIXED]
    if action == "edit" or wants_json(request):
        return ()
    return [_lines("text", _("Your answer"))]


def _proposed(request: ApprovalRequest, field: FormControl) -> Any:
    return request.voted_input.get(field.path[-1], ABSENT)


def _is_kept(field: FormControl, value: Any) -> bool:
    """Return whether Slack gives a proposed value back as it is, if no one changes it."""
    if field.widget in {Widget.CHOICE, Widget.SEVERAL}:
        return True
    text = text_for(field, value)
    return (
        field.input_type != "datetime-local"
        and len(text) <= MAX_TEXT
        and text == text.strip() == visible(text)
        and not _ALTERED.search(text)
        and not any(unicodedata.category(letter) == "So" for letter in text)
    )


def _question(request: ApprovalRequest) -> list[FormControl]:
    choice = FormControl(
        widget=Widget.SEVERAL if request.multiple else Widget.CHOICE,
        label=_("Your answer"),
        path=("choice",),
        offers=tuple(Offer(str(each["label"]), each) for each in request.options),
        required=not request.allow_text,
    )
    text = _lines("text", _("Or write an answer"), required=False)
    return [choice, text] if request.allow_text else [choice]


def _lines(name: str, label: str, *, required: bool = True) -> FormControl:
    return FormControl(
        widget=Widget.LINES, label=label, path=(name,), required=required
    )


def _is_flat(control: FormControl) -> bool:
    labels = [_label(offer) for offer in control.offers]
    chooses = control.widget in {Widget.CHOICE, Widget.SEVERAL}
    return (
        control.widget in FLAT
        and not control.merged
        and control.input_type != SECRET
        and (not chooses or 0 < len(labels) <= MAX_OPTIONS)
        and all(len(label) <= MAX_LABEL for label in labels)
    )


def _label(offer: Offer) -> str:
    return in_one_line(visible(str(offer.label))) or '""'


def modal(
    request: ApprovalRequest,
    action: str,
    fields: Sequence[FormControl],
    *,
    required: bool,
    about: JsonDict,
) -> JsonDict:
    """Return a dialog with these fields, and with one for the message to the agent, unless it is an answer."""
    titles = {
        "approve": _("Approve"),
        "edit": _("Change and approve"),
        "reject": _("Reject") if request.kind == Kind.APPROVAL else _("Decline"),
        "answer": _("Answer"),
    }
    title = titles[action]
    inputs = []
    for number, field in enumerate(fields):
        value = _proposed(request, field) if action == "edit" else ABSENT
        # The text of a proposed input may be empty on purpose; what is missing is found at the submission.
        shown = replace(field, required=False) if action == "edit" else field
        inputs.append(input_block(shown, block_of(number), value))
    if action != "answer":
        inputs.append(message_block(required=required))
    return dialog(action, title, title, about, [name_of(request), *inputs])


def dialog(
    action: str, title: str, submit: str, about: JsonDict, shown: Sequence[JsonDict]
) -> JsonDict:
    """Return a dialog whose submission has this action, and is about the same as its button."""
    return {
        "type": "modal",
        "callback_id": f"{BLOCK}.{action}",
        "title": text_object(title, 24),
        "submit": text_object(submit, 24),
        "close": text_object(_("Go back"), 24),
        "private_metadata": json.dumps(about, ensure_ascii=False),
        "blocks": list(shown),
    }


def name_of(request: ApprovalRequest) -> JsonDict:
    return section(visible(request.title))


def block_of(number: int) -> str:
    return f"field.{number}"


def message_block(*, required: bool = False) -> JsonDict:
    """Return the input for the message to the agent."""
    message = _lines("comment", _("Message to the agent"), required=required)
    return input_block(message, REASON)


def input_block(field: FormControl, block: str, value: Any = ABSENT) -> JsonDict:
    about = " ".join(filter(None, (field.help, field.limits)))
    hint = {"hint": text_object(visible(about), 2_000)} if about else {}
    return {
        "type": "input",
        "block_id": block,
        "optional": not field.required,
        "label": text_object(visible(field.label), 2_000),
        **hint,
        "element": {"action_id": "value", **_element(field, value)},
    }


def _element(field: FormControl, value: Any) -> JsonDict:
    """Return an input that holds a proposed value."""
    if field.offers:
        options = [
            {"text": text_object(_label(offer), MAX_LABEL), "value": str(number)}
            for number, offer in enumerate(field.offers)
        ]
        several = field.widget == Widget.SEVERAL
        boxes = "checkboxes" if several else "radio_buttons"
        menu = "multi_static_select" if several else "static_select"
        values = value if several and isinstance(value, list) else [value]
        places = [index_of(field, each) for each in values if each is not ABSENT]
        chosen = [options[place] for place in places if place is not None]
        return {
            "type": boxes if len(options) <= MAX_BOXES else menu,
            "options": options,
            **({"initial_options": chosen} if several and chosen else {}),
            **({"initial_option": chosen[0]} if chosen and not several else {}),
        }
    text = text_for(field, value)
    if field.input_type in PICKERS:
        return {
            "type": PICKERS[field.input_type],
            **({"initial_date": text} if text else {}),
        }
    return {
        "type": "plain_text_input",
        "multiline": field.widget == Widget.LINES,
        "max_length": MAX_TEXT,
        **({"initial_value": text} if text else {}),
    }


def message_in(state: JsonMapping) -> str:
    """Return the message of a submitted dialog. Raise Invalid."""
    [text] = texts_of(state.get(REASON)) or [""]
    if len(text) > MAX_COMMENT:
        raise Invalid(_("The decision is invalid."), {"comment": _("is too long")})
    return text


def value_in(
    request: ApprovalRequest,
    action: str,
    fields: Sequence[FormControl],
    state: JsonMapping,
) -> tuple[str, Any]:
    """Return the name and value of the answer or the changed input in a submitted dialog. Raise Invalid, naming the fields."""
    prefix, name = WITH_FIELDS[action]
    edits = action == "edit"
    # The fields of a question are named as on its page, those of a schema by their path.
    by_path = edits or (not request.options and answer_form(request) is not None)
    data = QueryDict(mutable=True)
    data["verdict"] = VERDICTS[action]
    for number, field in enumerate(fields):
        texts = texts_of(state.get(block_of(number)))
        if edits and not texts and field.widget != Widget.SEVERAL:
            # As on the page, an emptied field is sent.
            texts = [""]
        if texts:
            data.setlist(field.name(prefix) if by_path else field.path[-1], texts)
    answer = sent_decision(request, data)
    checked = check(request, answer, Door.SLACK, NOTHING_KNOWN)
    # Without a change, an edit is checked as an approval.
    return name, answer.edited_input if edits else checked.answer


def errors_by_block(
    action: str, fields: Sequence[FormControl], refusal: Invalid
) -> dict[str, str]:
    """Return the errors of a refused dialog by its blocks; those of no field are at the first one."""
    if not fields:
        return {REASON: error_text(str(refusal))}
    blocks: dict[str, str] = {}
    about = WITH_FIELDS[action][1]
    keys = [".".join([about, *field.path]) for field in fields]
    for key, error in refusal.errors.items():
        number = next(
            (at for at, known in enumerate(keys) if f"{key}.".startswith(f"{known}.")),
            0,
        )
        blocks.setdefault(block_of(number), error_text(f"{error}."))
    return blocks or {block_of(0): error_text(str(refusal))}


def error_text(text: str) -> str:
    return cut(f"{text[:1].upper()}{text[1:]}", 200)


def texts_of(block: object) -> list[str]:
    """Return the entered values of one input, as the page's form would send it; empty for nothing or anything unexpected."""
    element = block.get("value") if isinstance(block, Mapping) else None
    if not isinstance(element, Mapping):
        return []
    chosen = element.get("selected_options")
    if isinstance(chosen, list):
        values = [each.get("value") for each in chosen if isinstance(each, Mapping)]
        return [value for value in values if isinstance(value, str)]
    option = element.get("selected_option")
    if isinstance(option, Mapping) and isinstance(option.get("value"), str):
        return [option["value"]]
    moment = element.get("selected_date_time")
    if isinstance(moment, int) and 0 <= moment < 10**10:
        return [datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")]
    texts = (element.get("selected_date"), element.get("value"))
    return [text for text in texts if isinstance(text, str)]
