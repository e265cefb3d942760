"""Dialogs for messages, answers and flat forms, and their submitted values, with the errors of each field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.actions.checking import MAX_COMMENT, NOTHING_KNOWN, check
from approvals.asking.answers import Answer
from approvals.channels.content import cut
from approvals.exceptions import Invalid
from approvals.forms.decision import ANSWER, answer_form, sent_decision, wants_json
from approvals.forms.fields import SECRET, FormControl, Offer, Widget
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict
from approvals.text.text import in_one_line, visible

REASON = "reason"
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


def fields_of(request: ApprovalRequest) -> Sequence[FormControl] | None:
    """Return the fields for an answer to a question or a form; None if a dialog cannot show them in full."""
    form = None if request.options else answer_form(request)
    if form is not None:
        controls = form.children if form.widget == Widget.GROUP else (form,)
        fields = [each for each in controls if each.widget != Widget.FIXED]
    elif request.options:
        fields = _question(request)
    else:
        fields = [] if wants_json(request) else [_lines("text", _("Your answer"))]
    shown = 0 < len(fields) <= MAX_FIELDS and all(map(_is_flat, fields))
    return fields if shown else None


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


def message_modal(
    request: ApprovalRequest, verdict: Verdict, *, required: bool, about: JsonDict
) -> JsonDict:
    """Return the dialog for the message to the agent with an approval or a rejection."""
    approves = verdict == Verdict.APPROVE
    rejects = request.kind == Kind.APPROVAL
    field = _lines("comment", _("Message to the agent"), required=required)
    names = (_("Reject"), "reject") if rejects else (_("Decline"), "reject")
    title, action = (_("Approve"), "approve") if approves else names
    return _modal(action, title, [_input(field, REASON)], about, request)


def answer_modal(
    request: ApprovalRequest, fields: Sequence[FormControl], *, about: JsonDict
) -> JsonDict:
    """Return the dialog for an answer."""
    inputs = [_input(field, block_of(number)) for number, field in enumerate(fields)]
    return _modal("answer", _("Answer"), inputs, about, request)


def block_of(number: int) -> str:
    return f"field.{number}"


def _modal(
    action: str,
    title: str,
    inputs: Sequence[JsonDict],
    about: JsonDict,
    request: ApprovalRequest,
) -> JsonDict:
    name = {"type": "section", "text": _plain(visible(request.title), 2_900)}
    return {
        "type": "modal",
        "callback_id": f"pausepoint.{action}",
        "title": _plain(title, 24),
        "submit": _plain(title, 24),
        "close": _plain(_("Go back"), 24),
        "private_metadata": json.dumps(about),
        "blocks": [name, *inputs],
    }


def _input(field: FormControl, block: str) -> JsonDict:
    about = " ".join(filter(None, (field.help, field.limits)))
    hint = {"hint": _plain(visible(about), 2_000)} if about else {}
    return {
        "type": "input",
        "block_id": block,
        "optional": not field.required,
        "label": _plain(visible(field.label), 2_000),
        **hint,
        "element": {"action_id": "value", **_element(field)},
    }


def _element(field: FormControl) -> JsonDict:
    if field.offers:
        options = [
            {"text": _plain(_label(offer), MAX_LABEL), "value": str(number)}
            for number, offer in enumerate(field.offers)
        ]
        several = field.widget == Widget.SEVERAL
        boxes = "checkboxes" if several else "radio_buttons"
        menu = "multi_static_select" if several else "static_select"
        return {
            "type": boxes if len(options) <= MAX_BOXES else menu,
            "options": options,
        }
    if field.input_type in PICKERS:
        return {"type": PICKERS[field.input_type]}
    return {
        "type": "plain_text_input",
        "multiline": field.widget == Widget.LINES,
        "max_length": MAX_TEXT,
    }


def _plain(text: str, most: int) -> JsonDict:
    return {"type": "plain_text", "text": cut(text, most) or " ", "emoji": False}


def message_in(state: JsonMapping) -> str:
    """Return the message of a submitted dialog. Raise Invalid."""
    [text] = _texts(state.get(REASON)) or [""]
    if len(text) > MAX_COMMENT:
        raise Invalid(_("The decision is invalid."), {"comment": _("is too long")})
    return text


def answer_in(
    request: ApprovalRequest, fields: Sequence[FormControl], state: JsonMapping
) -> Answer:
    """Return the answer of a submitted dialog. Raise Invalid, naming the fields."""
    # The fields of a question are named as on its page, those of a schema by their path.
    by_path = not request.options and answer_form(request) is not None
    data = QueryDict(mutable=True)
    data["verdict"] = Verdict.RESPOND
    for number, field in enumerate(fields):
        name = field.name(ANSWER[0]) if by_path else field.path[-1]
        if texts := _texts(state.get(block_of(number))):
            data.setlist(name, texts)
    answer = sent_decision(request, data)
    return check(request, answer, Door.SLACK, NOTHING_KNOWN)


def errors_by_block(fields: Sequence[FormControl], refusal: Invalid) -> dict[str, str]:
    """Return the errors of a refused answer by the blocks of its dialog; those of no field are at the first one."""
    blocks: dict[str, str] = {}
    keys = [".".join([ANSWER[1], *field.path]) for field in fields]
    for key, error in refusal.errors.items():
        number = next(
            (at for at, known in enumerate(keys) if f"{key}.".startswith(f"{known}.")),
            0,
        )
        blocks.setdefault(
            block_of(number), cut(f"{error[:1].upper()}{error[1:]}.", 200)
        )
    return blocks or {block_of(0): cut(str(refusal), 200)}


def _texts(block: Any) -> list[str]:
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
