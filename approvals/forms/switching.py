"""Switch between editing an input in fields and as one JSON text, without losing typed text."""

from __future__ import annotations

import json
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.asking.secrets import masked_input, request_content
from approvals.db.canonical_json import same_json
from approvals.exceptions import Invalid
from approvals.forms.decision import (
    EDIT,
    edited_input,
    edits_as_json,
    input_form,
    read_edit,
)
from approvals.forms.fields import Widget
from approvals.forms.rendering import FormView, RenderedField
from approvals.models import ApprovalRequest
from approvals.text.true_values import concealed


def switched(request: ApprovalRequest, data: QueryDict) -> QueryDict:
    """Return the same form edited the other way. Raise Invalid if a value cannot be read, or does not fit the fields."""
    value = edited_input(request, data)
    shown = concealed(
        value, request.voted_input, masked_input(request, request.voted_input)
    )
    names, _about = EDIT
    typed = data.copy()
    for name in [
        name for name in typed if name == names or name.startswith(f"{names}.")
    ]:
        del typed[name]
    typed["verdict"] = "edit"
    if not edits_as_json(data):
        typed["edit_as"] = "json"
        typed[names] = json.dumps(shown, indent=2, ensure_ascii=False)
        return typed
    del typed["edit_as"]
    control = input_form(request_content(request))
    for field in FormView("", *EDIT, {}).field(control, shown).walk():
        if field.in_row:
            # The cells of a column share one name.
            typed.appendlist(field.name, field.value)
        else:
            typed.setlist(field.name, _texts(field))
    if not _reads_back(control, request, typed, value):
        message = _(
            "These values do not match the fields. Continue to edit them as JSON."
        )
        raise Invalid(
            message, {"edited_input": _("has more or other values than the fields")}
        )
    return typed


def _texts(field: RenderedField) -> list[str]:
    """Return the texts that a browser submits for a field."""
    match field.control.widget:
        case Widget.GROUP | Widget.FIXED | Widget.ROWS:
            return []
        case Widget.CHOICE | Widget.SEVERAL:
            return [str(number) for number in sorted(field.chosen)]
        case Widget.LIST:
            return [row.value for row in field.rows]
        case _:
            return [field.value]


def _reads_back(
    control: Any, request: ApprovalRequest, typed: QueryDict, value: Any
) -> bool:
    read, reading = read_edit(typed, control, request)
    return same_json(read, value) and not reading.errors
