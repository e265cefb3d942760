"""Dialogs in any channel: the fields for changes, answers and flat forms, their submitted values, and the errors of fields."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import standing_of
from approvals.actions.checking import MAX_COMMENT, NOTHING_KNOWN, check
from approvals.asking.answers import ABSENT
from approvals.asking.secrets import request_content
from approvals.channels.content import cut
from approvals.exceptions import Invalid, NotFound
from approvals.forms.decision import (
    ANSWER,
    EDIT,
    answer_form,
    input_form,
    sent_decision,
    wants_json,
)
from approvals.forms.fields import SECRET, FormControl, Offer, Widget
from approvals.forms.texts import text_for
from approvals.models import ApprovalRequest
from approvals.models.actors import ChannelActor
from approvals.queries.requests import get_request_for
from approvals.states import Door, Verdict
from approvals.text.text import in_one_line, visible

VERDICTS = {
    "approve": Verdict.APPROVE,
    "edit": Verdict.EDIT,
    "reject": Verdict.REJECT,
    "answer": Verdict.RESPOND,
}
#: The dialogs with fields, and the prefixes of the names of their fields and errors.
WITH_FIELDS = {"edit": EDIT, "answer": ANSWER}
#: Characters and spellings that text fields of a channel may not give back as they were.
_ALTERED = re.compile(r"&(amp|lt|gt);|:[\w+-]+:|\r|\u20e3")
#: Limits of Slack, which every channel keeps: inputs of a dialog, options of a menu, characters of a text and of a label.
MAX_FIELDS = 40
MAX_OPTIONS = 100
MAX_TEXT = 3_000
MAX_LABEL = 75
#: Widgets that one input can show.
FLAT = frozenset(
    {Widget.LINE, Widget.LINES, Widget.NUMBER, Widget.CHOICE, Widget.SEVERAL}
)


def open_request(
    request_id: UUID, digest: str, actor: ChannelActor
) -> ApprovalRequest | None:
    """Return the request of a click if this person may decide it now as it was shown; else the click is answered in words."""
    standing = standing_of(actor)
    try:
        request = get_request_for(standing, request_id)
    except NotFound:
        return None
    allowed = permissions.may_close(standing, request)
    shown = digest == request.voted_digest
    return request if request.pending and shown and allowed else None


def fields_of(request: ApprovalRequest, action: str) -> Sequence[FormControl] | None:
    """Return the fields of a dialog beside its message; None if it cannot show them in full."""
    if action not in WITH_FIELDS:
        return ()
    fields = _fields(request, action)
    shown = 0 < len(fields) <= MAX_FIELDS and all(map(_is_flat, fields))
    if action == "edit" and shown:
        shown = all(_is_kept(each, proposed_value(request, each)) for each in fields)
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
    return [lines_field("text", _("Your answer"))]


def proposed_value(request: ApprovalRequest, field: FormControl) -> Any:
    return request.voted_input.get(field.path[-1], ABSENT)


def _is_kept(field: FormControl, value: Any) -> bool:
    """Return whether a channel gives a proposed value back as it is, if no one changes it."""
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
    text = lines_field("text", _("Or write an answer"), required=False)
    return [choice, text] if request.allow_text else [choice]


def lines_field(name: str, label: str, *, required: bool = True) -> FormControl:
    return FormControl(
        widget=Widget.LINES, label=label, path=(name,), required=required
    )


def _is_flat(control: FormControl) -> bool:
    labels = [label_of(offer) for offer in control.offers]
    chooses = control.widget in {Widget.CHOICE, Widget.SEVERAL}
    return (
        control.widget in FLAT
        and not control.merged
        and control.input_type != SECRET
        and (not chooses or 0 < len(labels) <= MAX_OPTIONS)
        and all(len(label) <= MAX_LABEL for label in labels)
    )


def label_of(offer: Offer) -> str:
    return in_one_line(visible(str(offer.label))) or '""'


def checked_message(text: str) -> str:
    """Return the message of a submitted dialog. Raise Invalid."""
    if len(text) > MAX_COMMENT:
        raise Invalid(_("The decision is invalid."), {"comment": _("is too long")})
    return text


def value_in(
    request: ApprovalRequest,
    action: str,
    fields: Sequence[FormControl],
    entered: Sequence[Sequence[str]],
    via: Door,
) -> tuple[str, Any]:
    """Return the name and value of the answer or the changed input in a submitted dialog. Raise Invalid, naming the fields.

    `entered` holds the texts of each field, as the page's form would send them.
    """
    prefix, name = WITH_FIELDS[action]
    edits = action == "edit"
    # The fields of a question are named as on its page, those of a schema by their path.
    by_path = edits or (not request.options and answer_form(request) is not None)
    data = QueryDict(mutable=True)
    data["verdict"] = VERDICTS[action]
    for field, texts in zip(fields, entered, strict=True):
        if edits and not texts and field.widget != Widget.SEVERAL:
            # As on the page, an emptied field is sent.
            texts = [""]
        if texts:
            data.setlist(field.name(prefix) if by_path else field.path[-1], texts)
    answer = sent_decision(request, data)
    checked = check(request, answer, via, NOTHING_KNOWN)
    # Without a change, an edit is checked as an approval.
    return name, answer.edited_input if edits else checked.answer


def errors_by_field(
    action: str, fields: Sequence[FormControl], refusal: Invalid
) -> dict[int, str]:
    """Return the errors of a refused dialog by the numbers of its fields; those of no field are at the first one."""
    errors: dict[int, str] = {}
    about = WITH_FIELDS[action][1]
    keys = [".".join([about, *field.path]) for field in fields]
    for key, error in refusal.errors.items():
        number = next(
            (at for at, known in enumerate(keys) if f"{key}.".startswith(f"{known}.")),
            0,
        )
        errors.setdefault(number, cut(f"{error[:1].upper()}{error[1:]}.", 200))
    return errors or {0: cut(str(refusal), 200)}
