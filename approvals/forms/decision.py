"""Parse the forms of a request's card. Nothing in them is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.asking.answered_files import TYPE, file_fields, with_names
from approvals.asking.answers import ABSENT, Answer, answer_to
from approvals.asking.secrets import masked_input, with_secrets
from approvals.db.canonical_json import NotCanonical
from approvals.db.cursors import number_from
from approvals.exceptions import Invalid
from approvals.forms.fields import Control, Widget
from approvals.forms.from_schema import form_from_schema
from approvals.forms.reading import MAX_DIGITS, Reading
from approvals.forms.safeguards import amount_of, check_read, check_typed_name, unseen
from approvals.forms.shown_files import TYPES
from approvals.forms.texts import normalize_newlines, parse_json
from approvals.forms.values import edit_form
from approvals.models import ApprovalRequest
from approvals.schema.check import schema_errors
from approvals.states import Door, Kind, Verdict, verdict_from
from approvals.text.text import visible
from approvals.text.translation import translated

#: The prefix of a form's field names, and that of its errors.
EDIT, ANSWER = ("input", "edited_input"), ("answer", "answer")


def sent_decision(
    request: ApprovalRequest, data: QueryDict, files: MultiValueDict[str, UploadedFile[Any]] | None = None
) -> Answer:
    """Parse a card's form; Invalid, naming the field, if it does not fit the request."""
    verdict = verdict_from(data.get("verdict", ""))
    if verdict is None:
        raise Invalid(_("Press one of the buttons."), {"verdict": _("is unknown")})
    check_typed_name(request, verdict, data)
    check_read(request, verdict, data)
    edited = edited_input(request, data) if verdict == Verdict.EDIT else ABSENT
    answer = _answer_value(request, data, files or MultiValueDict()) if verdict == Verdict.RESPOND else ABSENT
    left = amount_of(unseen(request, verdict, data))
    comment, alone = normalize_newlines(data.get("comment", "")), data.get("break_glass") == "yes"
    return Answer(verdict, comment, edited, answer, unseen=left or None, break_glass=alone)


def sent_door(data: QueryDict) -> Door:
    """Return which page sent the form."""
    return Door.CHAT if data.get("from") == Door.CHAT else Door.DASHBOARD


def input_form(request: ApprovalRequest, *, as_json: bool = False) -> Control:
    """Return the form that changes the input of an approval, in fields or as one JSON text."""
    if as_json:
        return Control(widget=Widget.JSON, label=_("Input"))
    return edit_form(masked_input(request, request.input), request.response_schema, _("Input"))


def answer_form(request: ApprovalRequest) -> Control | None:
    """Return the form for an answer with a schema; None if the card asks for text, options or JSON."""
    form = _schema_form(request)
    return None if form is None or form.widget == Widget.JSON or _is_text(form, request) else form


def wants_json(request: ApprovalRequest) -> bool:
    """Whether the answer has to be written as JSON, because there are no fields for it."""
    if request.kind in {Kind.RECOVERY, Kind.FORM}:
        return answer_form(request) is None
    form = _schema_form(request)
    return form is not None and form.widget == Widget.JSON and "type" in (request.response_schema or {})


def _schema_form(request: ApprovalRequest) -> Control | None:
    asks = request.kind == Kind.FORM or (request.kind == Kind.QUESTION and not request.options)
    if not asks or request.response_schema is None:
        return None
    form = form_from_schema(request.response_schema, _("Answer"))
    files = file_fields(request.response_schema)
    children = [child if child.merged else _file_field(child, files.get(child.path[-1])) for child in form.children]
    return replace(form, children=tuple(children))


def _file_field(field: Control, schema: Mapping[str, Any] | None) -> Control:
    """Return the field in which a person chooses a file, if its schema asks for one."""
    if schema is None:
        return field
    types = TYPES.get(schema.get(TYPE, ""), _("PNG, JPEG, GIF, WebP, PDF, text or CSV"))
    limits = _("%(types)s. Choose it last: it is not kept if you leave the page, or if the answer is refused.")
    limits %= {"types": types}
    return replace(field, widget=Widget.FILE, limits=limits, default=ABSENT)


def _is_text(form: Control, request: ApprovalRequest) -> bool:
    """Whether a question asks for plain text, for which its card has a field anyway."""
    return request.kind == Kind.QUESTION and form.widget in {Widget.LINE, Widget.LINES} and form.input_type == "text"


def edits_as_json(data: QueryDict) -> bool:
    """Whether the person edits the input as one JSON text instead of in fields."""
    return data.get("edit_as") == "json"


def edited_input(request: ApprovalRequest, data: QueryDict) -> Any:
    """Return the changed input, in which what was left hidden is as it was. Invalid, naming each field that cannot be read."""
    reading = Reading(data, *EDIT, edits=True)
    value = read_edit(reading, input_form(request, as_json=edits_as_json(data)), request)
    if reading.errors:
        errors = reading.errors | _schema_errors(request, value, reading)
        raise Invalid(_("The changed input could not be read."), errors)
    return value


def read_edit(reading: Reading, control: Control, request: ApprovalRequest) -> Any:
    """Return the input that was sent for a control. Invalid if it has a mask where nothing is hidden."""
    shown = masked_input(request, request.input)
    return with_secrets(reading.read(control, shown), shown)


def _answer_value(request: ApprovalRequest, data: QueryDict, files: MultiValueDict[str, UploadedFile[Any]]) -> Any:
    form = answer_form(request)
    if form is not None:
        reading = Reading(data, *ANSWER, files=files)
        value = reading.read(form)
        if reading.errors or value is ABSENT:
            shown = with_names(request.response_schema, value)
            errors = reading.errors | _schema_errors(request, shown, reading)
            raise Invalid(_("The answer is invalid."), errors or {"answer": _("is missing")})
        return value
    text = data.get("text", "").strip().replace("\r\n", "\n")
    if not wants_json(request):
        sent = data.getlist("choice")
        chosen = [index for text in sent if (index := number_from(text, digits=MAX_DIGITS)) is not None]
        if len(chosen) != len(sent):
            raise Invalid(_("That choice is not one of the options."), {"answer": _("is not one of the options")})
        return _in_requested_shape(request, answer_to(request, chosen=chosen, text=text))
    try:
        return parse_json(text)
    except NotCanonical as error:
        raise Invalid(_("The answer is not valid JSON."), {"answer": translated(error)}) from error


def _schema_errors(request: ApprovalRequest, value: Any, reading: Reading) -> dict[str, str]:
    """Return the schema errors of the values that could be read, so that all errors are shown together."""
    if value is ABSENT:
        return {}
    errors = schema_errors(request.response_schema, value, plain=True)
    named = {f"{reading.about}.{path}" if path else reading.about: error for path, error in errors.items()}
    # Leave out "is missing" for values that could not be read.
    return {
        key: error
        for key, error in named.items()
        if not any(f"{name}.".startswith(f"{key}.") for name in reading.errors)
    }


def _in_requested_shape(request: ApprovalRequest, answer: Any) -> Any:
    """Return a choice in the shape that fits the request's schema: our own, or the bare labels."""
    if request.response_schema is None or not isinstance(answer, dict):
        return answer
    bare = answer["selected"] if request.multiple else (*answer["selected"], answer.get("text", ""))[0]
    fits = [each for each in (answer, bare) if not schema_errors(request.response_schema, each)]
    return (fits or [answer])[0]


#: How the members of a decision are called on the card.
LABELS = {
    "verdict": gettext_lazy("The button"),
    "digest": gettext_lazy("This form"),
    "answer": gettext_lazy("The answer"),
    "edited_input": gettext_lazy("The changed input"),
}


def label_of(name: str) -> str:
    """Return the label of an error without a field of its own: that of the member, or the path within it."""
    member, _dot, path = name.partition(".")
    return visible(path) if path else str(LABELS.get(member, member))
