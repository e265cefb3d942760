"""Dialogs for messages, answers and flat forms, and reading what was entered, with the errors of each field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from approvals.text.text import visible

REASON = "reason"
#: Slack's limits: inputs of a dialog, radio buttons and check boxes, options of a menu, characters of a text.
MAX_FIELDS = 40
MAX_BOXES = 10
MAX_OPTIONS = 100
MAX_TEXT = 3_000
#: Widgets that one input can show.
FLAT = frozenset(
    {Widget.LINE, Widget.LINES, Widget.NUMBER, Widget.CHOICE, Widget.SEVERAL}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalField:
    """One input of a dialog: the name of the page's form field that it stands for, and the key of its errors."""

    name: str
    key: str
    label: str
    hint: str = ""
    kind: str = "line"
    offers: Sequence[str] = ()
    several: bool = False
    required: bool = True


def fields_of(request: ApprovalRequest) -> list[ModalField] | None:
    """Return the inputs for an answer to a question or a form; None if a dialog cannot show it."""
    if request.options:
        return _question(request)
    if wants_json(request):
        return None
    form = answer_form(request)
    if form is None:
        label = _("Your answer")
        return [ModalField(name="text", key="answer", label=label, kind="lines")]
    controls = form.children if form.widget == Widget.GROUP else (form,)
    entered = [each for each in controls if each.widget != Widget.FIXED]
    if not entered or len(entered) > MAX_FIELDS or not all(map(_is_flat, entered)):
        return None
    return [_field(each) for each in entered]


def _question(request: ApprovalRequest) -> list[ModalField] | None:
    if len(request.options) > MAX_OPTIONS:
        return None
    choice = ModalField(
        name="choice",
        key="answer",
        label=_("Your answer"),
        kind="choice",
        offers=[visible(str(option["label"])) for option in request.options],
        several=request.multiple,
        required=not request.allow_text,
    )
    text = ModalField(
        name="text",
        key="answer",
        label=_("Or write an answer"),
        kind="lines",
        required=False,
    )
    return [choice, text] if request.allow_text else [choice]


def _is_flat(control: FormControl) -> bool:
    offers = len(control.offers)
    chooses = control.widget in {Widget.CHOICE, Widget.SEVERAL}
    return (
        control.widget in FLAT
        and not control.merged
        and control.input_type != SECRET
        and (not chooses or 0 < offers <= MAX_OPTIONS)
    )


def _field(control: FormControl) -> ModalField:
    chooses = control.widget in {Widget.CHOICE, Widget.SEVERAL}
    kinds = {"date": "date", "datetime-local": "moment"}
    kind = "lines" if control.widget == Widget.LINES else "line"
    return ModalField(
        name=control.name(ANSWER[0]),
        key=".".join([ANSWER[1], *control.path]),
        label=control.label,
        hint=" ".join(filter(None, (control.help, control.limits))),
        kind="choice" if chooses else kinds.get(control.input_type, kind),
        offers=[_label(offer) for offer in control.offers],
        several=control.widget == Widget.SEVERAL,
        required=control.required,
    )


def _label(offer: Offer) -> str:
    return visible(str(offer.label)) or '""'


def message_modal(
    request: ApprovalRequest, verdict: Verdict, *, required: bool, about: JsonDict
) -> JsonDict:
    """Return the dialog for the message to the agent with an approval or a rejection."""
    approves = verdict == Verdict.APPROVE
    rejects = request.kind == Kind.APPROVAL
    field = ModalField(
        name="comment",
        key="comment",
        label=_("Message to the agent"),
        kind="lines",
        required=required,
    )
    names = (_("Reject"), "reject") if rejects else (_("Decline"), "reject")
    title, action = (_("Approve"), "approve") if approves else names
    return _modal(action, title, [_input(field, REASON)], about, request)


def answer_modal(
    request: ApprovalRequest, fields: Sequence[ModalField], *, about: JsonDict
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


def _input(field: ModalField, block: str) -> JsonDict:
    hint = {"hint": _plain(visible(field.hint), 2_000)} if field.hint else {}
    return {
        "type": "input",
        "block_id": block,
        "optional": not field.required,
        "label": _plain(visible(field.label), 2_000),
        **hint,
        "element": {"action_id": "value", **_element(field)},
    }


def _element(field: ModalField) -> JsonDict:
    if field.kind == "choice":
        options = [
            {"text": _plain(offer, 75), "value": str(number)}
            for number, offer in enumerate(field.offers)
        ]
        few = len(options) <= MAX_BOXES
        boxes = "checkboxes" if field.several else "radio_buttons"
        menu = "multi_static_select" if field.several else "static_select"
        return {"type": boxes if few else menu, "options": options}
    if field.kind in {"date", "moment"}:
        return {"type": "datepicker" if field.kind == "date" else "datetimepicker"}
    return {
        "type": "plain_text_input",
        "multiline": field.kind == "lines",
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
    request: ApprovalRequest, fields: Sequence[ModalField], state: JsonMapping
) -> Answer:
    """Return the answer of a submitted dialog. Raise Invalid, naming the fields."""
    data = QueryDict(mutable=True)
    data["verdict"] = Verdict.RESPOND
    for number, field in enumerate(fields):
        texts = _texts(state.get(block_of(number)))
        if texts:
            data.setlist(field.name, texts)
    answer = sent_decision(request, data)
    return check(request, answer, Door.SLACK, NOTHING_KNOWN)


def errors_by_block(fields: Sequence[ModalField], refusal: Invalid) -> dict[str, str]:
    """Return the errors of a refused answer by the blocks of its dialog; those of no field are at the first one."""
    blocks: dict[str, str] = {}
    keys = [field.key for field in fields]
    for key, error in refusal.errors.items():
        matching = [
            number
            for number, known in enumerate(keys)
            if key == known or key.startswith(f"{known}.")
        ]
        block = block_of(matching[0] if matching else 0)
        blocks.setdefault(block, cut(f"{error[:1].upper()}{error[1:]}.", 200))
    return blocks or {block_of(0): cut(str(refusal), 200)}


def _texts(block: Any) -> list[str]:
    """Return what was entered in one input, as the page's form would send it; empty for nothing or anything unexpected."""
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
