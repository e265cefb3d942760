"""The forms of a request's card, with what was sent before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.forms.decision import (
    ANSWER,
    EDIT,
    answer_form,
    edits_as_json,
    input_form,
    label_of,
    name_to_type,
    wants_json,
)
from approvals.forms.rendering import FormView, RenderedField
from approvals.forms.unseen_parts import ACCEPTED
from approvals.pages.grants.panel import Granting
from approvals.queries.policy.grants.grant_case import bar_of_waiting
from approvals.shown.requests import ShownRequest
from approvals.states import Kind, Priority, Verdict, verdict_from
from approvals.text.differences import Change
from approvals.text.tables import pretty


@dataclass(frozen=True, slots=True)
class Review:
    """An edit to confirm: its changes, and the fields of its form, which are resubmitted unchanged."""

    changes: Sequence[Change]
    fields: Sequence[tuple[str, str]]
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The forms of a card, with what was sent before. `refusal` is the reason for refusing the last attempt."""

    request: ShownRequest
    may_close: bool
    refusal: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    typed: QueryDict = field(default_factory=QueryDict)
    review: Review | None = None
    granting: Granting | None = None
    #: How many unseen parts the person was warned about; they are then open, and the next press approves.
    unread: int = 0
    #: How many of them are files.
    unread_files: int = 0
    #: Whether the person has to log in again to decide it.
    log_in_again: bool = False

    @property
    def name_to_type(self) -> str:
        """The text to type in order to approve the request; empty if none is required."""
        return name_to_type(self.request)

    @property
    def retyped(self) -> str:
        """The verdict for which the name was mistyped; empty if it was not."""
        return self.typed.get("verdict", "") if "typed_name" in self.errors else ""

    @property
    def may_grant(self) -> bool:
        """Whether a grant can accompany an approval, judged by the request alone."""
        return bar_of_waiting(self.request) is None

    @property
    def accepts_unread(self) -> bool:
        return bool(self.unread) or self.typed.get("unread") == ACCEPTED

    @property
    def by_key(self) -> bool:
        """Whether keyboard shortcuts approve and reject it: a critical request requires the buttons."""
        return (
            self.request.kind == Kind.APPROVAL
            and self.request.priority != Priority.CRITICAL
        )

    @property
    def warns_in_bar(self) -> bool:
        """Whether the button bar lists the unseen parts, so that they can be viewed beside it."""
        return (
            self.unread > 0
            and self.typed.get("verdict") == Verdict.APPROVE
            and self.review is None
            and self.granting is None
        )

    @property
    def edit_form(self) -> RenderedField | None:
        """The form to edit the input, with the entries from before a refusal; None if nothing can be changed."""
        if self.request.kind != Kind.APPROVAL or not self.request.input:
            return None
        control = input_form(self.request, as_json=self.edits_as_json)
        return self._form_view(*EDIT, Verdict.EDIT).field(control, self.request.input)

    @property
    def edits_as_json(self) -> bool:
        return edits_as_json(self.typed)

    @property
    def answer_form(self) -> RenderedField | None:
        """The form for an answer with a schema; None if the card asks for text, options or JSON."""
        form = answer_form(self.request)
        return (
            self._form_view(*ANSWER, Verdict.RESPOND).field(form)
            if form is not None
            else None
        )

    @property
    def takes_fields(self) -> bool:
        """Whether an answer consists of fields or JSON, instead of options or a text."""
        return self.wants_json or answer_form(self.request) is not None

    @property
    def is_open(self) -> bool:
        """Whether the person may decide it, and is neither reviewing changes nor giving a grant."""
        return self.may_close and self.review is None and self.granting is None

    def _form_view(self, names: str, about: str, verdict: Verdict) -> FormView:
        typed = (
            self.typed
            if verdict_from(self.typed.get("verdict", "")) == verdict
            else None
        )
        return FormView(f"field-{self.request.pk}", names, about, self.errors, typed)

    @property
    def error_list(self) -> list[tuple[str, str, str]]:
        """Each error as (label, text, id of its field on the card or "")."""
        forms = (self.edit_form, self.answer_form)
        fields = [each for form in forms if form is not None for each in form.walk()]
        known = {
            each.key: (each.control.label, each.id) for each in fields if each.error
        }
        for each in fields:
            for number, row in enumerate(each.rows):
                name = f"{each.control.label} {number + 1}"
                known[f"{each.key}.{number}"] = (name, row.id)
                known |= {
                    cell.key: (f"{name}, {cell.control.label}", cell.id)
                    for cell in row.cells
                }
        known["typed_name"] = (_("The typed name"), "")
        known |= self.granting.errors if self.granting is not None else {}
        known["comment"] = (_("The message to the agent"), f"comment-{self.request.pk}")
        # In the order of the fields.
        order = [*known]
        errors = sorted(
            self.errors.items(),
            key=lambda each: order.index(each[0]) if each[0] in known else len(order),
        )
        named = [
            (*known.get(name, (label_of(name), "")), error) for name, error in errors
        ]
        return [(label, error, field_id) for label, field_id, error in named]

    @property
    def answer_error(self) -> str:
        """The errors of a JSON answer, with their paths."""
        names = [
            name
            for name in self.errors
            if name == "answer" or name.startswith("answer.")
        ]
        return "; ".join(
            f"{name.removeprefix('answer').lstrip('.')} {self.errors[name]}".strip()
            for name in names
        )

    @property
    def comment_error(self) -> str:
        """The error of the message to the agent; empty if there is none."""
        return self.errors.get("comment", "")

    @property
    def schema_json(self) -> str:
        return pretty(self.request.response_schema)

    @property
    def wants_json(self) -> bool:
        return wants_json(self.request)

    @property
    def takes_text(self) -> bool:
        """Whether a question accepts an answer in the person's own words."""
        return self.request.allow_text or not self.request.options

    @property
    def chosen(self) -> list[str]:
        """The options that were selected before a refusal."""
        return self.typed.getlist("choice")
