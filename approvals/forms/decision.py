"""Parse the forms of a request's card, and check the conditions for accepting a page's decision. Form data is untrusted.

The input must have been shown as it is and in full, and critical requests must be confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.access.permissions import GuardedRequest, wants_typed_name
from approvals.actions.checking import NOTHING_KNOWN, check
from approvals.asking.answered_files import TYPE, file_fields, with_names
from approvals.asking.answers import ABSENT, Answer, answer_to
from approvals.asking.secrets import (
    RequestContent,
    masked_input,
    request_content,
    with_secrets,
)
from approvals.db.canonical_json import NotCanonical
from approvals.db.cursors import number_from
from approvals.exceptions import Invalid
from approvals.forms.fields import FormControl, Widget
from approvals.forms.from_schema import form_from_schema
from approvals.forms.reading import MAX_DIGITS, Reading
from approvals.forms.shown_calls import TYPES
from approvals.forms.texts import parse_json
from approvals.forms.unseen_parts import amount_of, check_read
from approvals.forms.values import edit_form
from approvals.models import ApprovalRequest
from approvals.schema.check import schema_errors
from approvals.states import APPROVING, Door, Kind, Priority, Verdict, verdict_from
from approvals.text.text import normalize_newlines, visible
from approvals.text.translation import translated
from approvals.text.true_values import true_values

#: The prefix of a form's field names, and that of its errors.
EDIT = ("input", "edited_input")
ANSWER = ("answer", "answer")


def sent_decision(
    request: ApprovalRequest,
    data: QueryDict,
    files: MultiValueDict[str, UploadedFile[Any]] | None = None,
) -> Answer:
    """Parse a card's form. Raise Invalid, naming the field, if it does not match the request."""
    verdict = verdict_from(data.get("verdict", ""))
    if verdict is None:
        raise Invalid(_("Press one of the buttons."), {"verdict": _("is unknown")})
    mistyped = mistyped_name(request, verdict, data)
    try:
        left = check_read(request, verdict, data) if mistyped is None else []
        sent = _answer(request, verdict, data, files or MultiValueDict())
        if mistyped is not None:
            check(request, sent, sent_door(data), NOTHING_KNOWN)
    except Invalid as refusal:
        if mistyped is None:
            raise
        raise Invalid(str(mistyped), refusal.errors | mistyped.errors) from refusal
    if mistyped is not None:
        raise mistyped
    return replace(sent, unseen=amount_of(left) if left else None)


def _answer(
    request: ApprovalRequest,
    verdict: Verdict,
    data: QueryDict,
    files: MultiValueDict[str, UploadedFile[Any]],
) -> Answer:
    comment = data.get("comment", "")
    if verdict == Verdict.REJECT and request.kind == Kind.QUESTION:
        # The one text field of a question is also for the reason to decline it.
        comment = comment or data.get("text", "")
    return Answer(
        verdict,
        normalize_newlines(comment),
        edited_input(request, data) if verdict == Verdict.EDIT else ABSENT,
        _answer_value(request, data, files) if verdict == Verdict.RESPOND else ABSENT,
        break_glass=data.get("break_glass") == "yes",
    )


def sent_door(data: QueryDict) -> Door:
    """Return the page that submitted the form."""
    return Door.CHAT if data.get("from") == Door.CHAT else Door.DASHBOARD


def input_form(request: RequestContent, *, as_json: bool = False) -> FormControl:
    """Return the form for editing the input of an approval, in fields or as one JSON text."""
    if as_json:
        return FormControl(widget=Widget.JSON, label=_("Input"))
    return edit_form(
        masked_input(request, request.input), request.response_schema, _("Input")
    )


class Asking(Protocol):
    """The part of a request that its answer depends on."""

    @property
    def kind(self) -> str: ...

    @property
    def response_schema(self) -> Any: ...

    @property
    def options(self) -> Any: ...


def answer_form(request: Asking) -> FormControl | None:
    """Return the form for an answer with a schema; None if the card asks for text, options or JSON."""
    form = _schema_form(request)
    return (
        None
        if form is None or form.widget == Widget.JSON or _is_text(form, request)
        else form
    )


def wants_json(request: Asking) -> bool:
    """Return whether the answer has to be written as JSON, because there are no fields for it."""
    if request.kind in {Kind.RECOVERY, Kind.FORM}:
        return answer_form(request) is None
    form = _schema_form(request)
    return (
        form is not None
        and form.widget == Widget.JSON
        and "type" in (request.response_schema or {})
    )


def _schema_form(request: Asking) -> FormControl | None:
    asks = request.kind == Kind.FORM or (
        request.kind == Kind.QUESTION and not request.options
    )
    if not asks or request.response_schema is None:
        return None
    form = form_from_schema(request.response_schema, _("Answer"))
    files = file_fields(request.response_schema)
    children = [
        child if child.merged else _file_field(child, files.get(child.path[-1]))
        for child in form.children
    ]
    return replace(form, children=tuple(children))


def _file_field(field: FormControl, schema: Mapping[str, Any] | None) -> FormControl:
    """Return a file field if its schema asks for a file."""
    if schema is None:
        return field
    types = TYPES.get(schema.get(TYPE, ""), _("PNG, JPEG, GIF, WebP, PDF, text or CSV"))
    limits = _(
        "%(types)s. Choose it last: it is not kept if you leave the page, or if the answer is refused."
    )
    limits %= {"types": types}
    return replace(field, widget=Widget.FILE, limits=limits, default=ABSENT)


def _is_text(form: FormControl, request: Asking) -> bool:
    """Return whether a question asks for plain text, for which its card always has a field."""
    return (
        request.kind == Kind.QUESTION
        and form.widget in {Widget.LINE, Widget.LINES}
        and form.input_type == "text"
    )


def edits_as_json(data: QueryDict) -> bool:
    """Return whether the person edits the input as one JSON text instead of in fields."""
    return data.get("edit_as") == "json"


def edited_input(request: ApprovalRequest, data: QueryDict) -> Any:
    """Return the edited input with unchanged hidden values restored. Raise Invalid, naming each unreadable field."""
    control = input_form(request_content(request), as_json=edits_as_json(data))
    value, reading = read_edit(data, control, request)
    if reading.errors:
        errors = reading.errors | _schema_errors(request, value, reading)
        raise Invalid(_("The changed input could not be read."), errors)
    return value


def read_edit(
    data: QueryDict, control: FormControl, request: ApprovalRequest
) -> tuple[Any, Reading]:
    """Return the submitted input of a control, and its Reading. Raise Invalid for a mask where nothing is hidden."""
    value = request.voted_input
    shown = masked_input(request, value)
    reading = Reading(data, *EDIT, edits=True, known=true_values(value, shown))
    return with_secrets(reading.read(control, shown), value, shown), reading


def _answer_value(
    request: ApprovalRequest,
    data: QueryDict,
    files: MultiValueDict[str, UploadedFile[Any]],
) -> Any:
    form = answer_form(request)
    if form is not None:
        reading = Reading(data, *ANSWER, files=files)
        value = reading.read(form)
        if reading.errors or value is ABSENT:
            shown = with_names(request.response_schema, value)
            errors = reading.errors | _schema_errors(request, shown, reading)
            raise Invalid(
                _("The answer is invalid."), errors or {"answer": _("is missing")}
            )
        return value
    text = data.get("text", "").strip().replace("\r\n", "\n")
    if not wants_json(request):
        sent = data.getlist("choice")
        chosen = [
            index
            for text in sent
            if (index := number_from(text, digits=MAX_DIGITS)) is not None
        ]
        if len(chosen) != len(sent):
            raise Invalid(
                _("That choice is not one of the options."),
                {"answer": _("is not one of the options")},
            )
        return _in_requested_shape(
            request, answer_to(request, chosen=chosen, text=text)
        )
    try:
        return parse_json(text)
    except NotCanonical as error:
        raise Invalid(
            _("The answer is not valid JSON."), {"answer": translated(error)}
        ) from error


def _schema_errors(
    request: ApprovalRequest, value: Any, reading: Reading
) -> dict[str, str]:
    """Return the schema errors of the readable values, so that all errors are shown together."""
    if value is ABSENT:
        return {}
    errors = schema_errors(request.response_schema, value, plain=True)
    named = {
        f"{reading.about}.{path}" if path else reading.about: error
        for path, error in errors.items()
    }
    # Leave out "is missing" for unreadable values.
    return {
        key: error
        for key, error in named.items()
        if not any(f"{name}.".startswith(f"{key}.") for name in reading.errors)
    }


def _in_requested_shape(request: ApprovalRequest, answer: Any) -> Any:
    """Return a choice in the form of the request's schema: our own, or the bare labels."""
    if request.response_schema is None or not isinstance(answer, dict):
        return answer
    bare = (
        answer["selected"]
        if request.multiple
        else (*answer["selected"], answer.get("text", ""))[0]
    )
    fits = [
        each
        for each in (answer, bare)
        if not schema_errors(request.response_schema, each)
    ]
    return (fits or [answer])[0]


#: Labels of the members of a decision.
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


class Named(GuardedRequest, Protocol):
    """The part of a request that says which name to type to approve it."""

    @property
    def tool_name(self) -> str: ...

    @property
    def title(self) -> str: ...


def name_to_type(request: Named) -> str:
    """Return the text to type in order to approve a request: its tool, or else its title. Empty if none is required."""
    typed = wants_typed_name(request) and request.kind in {Kind.APPROVAL, Kind.RECOVERY}
    return " ".join((request.tool_name or request.title).split()) if typed else ""


def shown_digest(data: QueryDict) -> str:
    """Return the digest of the input displayed with the form. Raise Invalid if it is missing."""
    digest = data.get("digest", "")
    if not digest:
        message = _(
            "This form is incomplete, so nothing was decided. Reload the page and try again."
        )
        raise Invalid(message, {"digest": _("is missing")})
    return digest


def mistyped_name(
    request: ApprovalRequest, verdict: Verdict, data: QueryDict
) -> Invalid | None:
    """Return the refusal if a critical request is approved without typing its name."""
    wanted = name_to_type(request)
    if not wanted or verdict not in APPROVING or not request.pending:
        return None
    if " ".join(data.get("typed_name", "").split()) == wanted:
        return None
    message = _("This request is critical. To approve it, type “%(name)s”.")
    if request.priority != Priority.CRITICAL:
        message = _("To approve this request, type “%(name)s”.")
    error = _("is not “%(name)s”") % {"name": wanted}
    return Invalid(message % {"name": wanted}, {"typed_name": error})
