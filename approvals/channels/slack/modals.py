"""The dialogs of Slack, and the values that were entered in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from approvals.asking.answers import ABSENT
from approvals.channels.content import cut
from approvals.channels.dialogs import (
    MAX_LABEL,
    MAX_TEXT,
    checked_message,
    errors_by_field,
    label_of,
    lines_field,
    proposed_value,
)
from approvals.channels.slack.elements import BLOCK, section, text_object
from approvals.exceptions import Invalid
from approvals.forms.fields import FormControl, Widget
from approvals.forms.texts import index_of, text_for
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest
from approvals.states import Kind
from approvals.text.text import visible

REASON = "reason"
#: Radio buttons and check boxes that Slack allows; more options are a menu.
MAX_BOXES = 10
#: Inputs for moments, by the type of the page's field.
PICKERS = {"date": "datepicker", "datetime-local": "datetimepicker"}


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
        value = proposed_value(request, field) if action == "edit" else ABSENT
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
    message = lines_field("comment", _("Message to the agent"), required=required)
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
            {"text": text_object(label_of(offer), MAX_LABEL), "value": str(number)}
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
    return checked_message(text)


def entered_in(
    fields: Sequence[FormControl], state: JsonMapping
) -> list[Sequence[str]]:
    """Return the texts that were entered in each field of a dialog."""
    return [texts_of(state.get(block_of(number))) for number in range(len(fields))]


def errors_by_block(
    action: str, fields: Sequence[FormControl], refusal: Invalid
) -> dict[str, str]:
    """Return the errors of a refused dialog by its blocks."""
    if not fields:
        return {REASON: error_text(str(refusal))}
    errors = errors_by_field(action, fields, refusal)
    return {block_of(number): error for number, error in errors.items()}


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
