"""A request as one person sees it: its values in readable rows, its forms, and the buttons the person may press."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.assignees import NOBODY, Holder, holder_for
from approvals.access.fresh_sign_in import SignInAgain
from approvals.access.standing import Standing
from approvals.asking.answered_files import with_names
from approvals.asking.answers import answer_text, is_choice
from approvals.asking.secrets import OUTPUT, hidden_values, masked_request
from approvals.db.canonical_json import canonical
from approvals.exceptions import Invalid, Refusal, UnreadParts
from approvals.forms.decision import ANSWER, EDIT, answer_form, edits_as_json, input_form, label_of, wants_json
from approvals.forms.formatted import formatted
from approvals.forms.rendering import Field, FormView
from approvals.forms.safeguards import ACCEPTED, name_to_type
from approvals.forms.shown_calls import ShownInput, shown_input
from approvals.forms.shown_files import ShownFile, shown_answer_files
from approvals.models import ApprovalRequest, Decision
from approvals.pages.policy.panel import Granting
from approvals.pages.voting import Ballots, Voting, voting_of
from approvals.queries.policy.cases import bar_of_waiting
from approvals.queries.policy.covered import NONE_WAITING, Waiting
from approvals.queries.policy.proposals import as_proposed
from approvals.queries.policy.why_not import why_not
from approvals.states import Door, Kind, Priority, Verdict, verdict_from
from approvals.text.differences import Change, changes
from approvals.text.tables import Row, has_more_than_rows, misread, pretty, rows, secret_rows
from approvals.text.text import visible, visible_json


@dataclass(frozen=True, slots=True)
class Review:
    """An edit to confirm: what it changes, and the fields of its form, which are sent again unchanged."""

    changes: Sequence[Change]
    fields: Sequence[tuple[str, str]]
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The context of `approvals/request/_card.html`. `refusal` says why the last attempt was refused."""

    request: ApprovalRequest
    decision: Decision | None
    may_close: bool
    may_cancel: bool
    #: Why the person may not decide it; empty if they may, or if it has ended.
    why_not: str = ""
    door: str = Door.DASHBOARD
    holder: Holder = NOBODY
    refusal: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    typed: QueryDict = field(default_factory=QueryDict)
    review: Review | None = None
    granting: Granting | None = None
    #: What goes on waiting though the grant that was just given covers it.
    waiting: Waiting = NONE_WAITING
    #: Whether the person was warned about unseen parts, which are then open; the next press approves.
    unread: bool = False
    #: Whether the person has to log in again to decide it.
    log_in_again: bool = False
    #: Whether the person may show what is hidden; false where nothing is.
    may_reveal: bool = False
    #: The votes, if the request is decided by them.
    voting: Voting | None = None

    @property
    def version(self) -> str:
        """Changes with the request, but not with each vote, and with permissions. Until then, a push replaces no form."""
        votes_on = self.request.voted_digest if self.voting and self.request.pending else ""
        return f"{self.request.status}-{votes_on or self.request.changed_at.timestamp()}-{self.may_close}"

    @property
    def render_key(self) -> Hashable:
        """The cache key of the card: people with the same key see the same card."""
        more = (self.may_reveal, self.why_not, self.voting and self.voting.look)
        return self.request.pk, self.version, self.door, self.may_cancel, self.holder, *more

    @property
    def hidden_elsewhere(self) -> list[str]:
        """The pointers to hidden values that no row shows, such as in a message or a command."""
        shown = self.shown
        rows_shown = [*shown.rows, *shown.context, *self.answer_rows]
        beside = {row.secret for row in secret_rows(rows_shown)}
        pointers = (pointer for pointer in hidden_values(self.request) if not pointer.startswith(OUTPUT))
        return [pointer for pointer in pointers if pointer not in beside]

    @property
    def name_to_type(self) -> str:
        """What has to be typed to approve the request; empty if nothing has to be typed."""
        return name_to_type(self.request)

    @property
    def retyped(self) -> str:
        """The verdict for which the name was mistyped; empty if none was."""
        return self.typed.get("verdict", "") if "typed_name" in self.errors else ""

    @property
    def may_grant(self) -> bool:
        """Whether a grant can go with an approval, as far as the request itself says."""
        return bar_of_waiting(self.request) is None

    @property
    def accepts_unread(self) -> bool:
        return self.unread or self.typed.get("unread") == ACCEPTED

    @property
    def by_key(self) -> bool:
        """Whether keys approve and reject it: a critical request needs the buttons."""
        return self.request.kind == Kind.APPROVAL and self.request.priority != Priority.CRITICAL

    @property
    def warns_in_bar(self) -> bool:
        """Whether the bar with the buttons says what was not in view, so that this can be looked at beside it."""
        return (
            self.unread
            and self.typed.get("verdict") == Verdict.APPROVE
            and self.review is None
            and self.granting is None
        )

    @property
    def title_note(self) -> str:
        """A warning about characters of the title that are easily misread; empty if there are none."""
        return "; ".join(misread(self.request.title))

    @property
    def asks(self) -> bool:
        """Whether this is a question or form, not something to approve."""
        return self.request.kind in {Kind.QUESTION, Kind.FORM}

    @property
    def shows_input(self) -> bool:
        """Whether to show the input; that of a question only repeats what the card shows."""
        return not self.asks and bool(self.request.input)

    @property
    def shown(self) -> ShownInput:
        """The input, the context and the message of the agent as the card shows them."""
        return shown_input(self.request)

    @property
    def input_json(self) -> str:
        """The input in canonical form, as the digest covers it, with invisible characters escaped."""
        return visible_json(canonical(self.request.input).decode())

    @property
    def context_json(self) -> str:
        """The whole context if the table does not show all of it; else empty."""
        context = self.request.context
        return visible_json(canonical(context).decode()) if has_more_than_rows(context) else ""

    @property
    def edit_form(self) -> Field | None:
        """The form to change the input, with what was typed before a refusal; None if nothing can be changed."""
        if self.request.kind != Kind.APPROVAL or not self.request.input:
            return None
        control = input_form(self.request, as_json=self.edits_as_json)
        return self._form_view(*EDIT, Verdict.EDIT).field(control, self.request.input)

    @property
    def edits_here(self) -> Field | None:
        """The form to change the input, if this person may, and reviews no changes yet."""
        return self.edit_form if self._is_open else None

    @property
    def edits_as_json(self) -> bool:
        return edits_as_json(self.typed)

    @property
    def answer_form(self) -> Field | None:
        """The form for an answer with a schema; None if the card asks for text, options or JSON."""
        form = answer_form(self.request)
        return self._form_view(*ANSWER, Verdict.RESPOND).field(form) if form is not None else None

    @property
    def takes_fields(self) -> bool:
        """Whether the person answers in fields, which stand above what surrounds the request."""
        as_json = self.request.kind == Kind.QUESTION and self.wants_json
        return self._is_open and (as_json or answer_form(self.request) is not None)

    @property
    def _is_open(self) -> bool:
        """Whether the person may decide it, and neither reviews changes nor gives a grant."""
        return self.may_close and self.review is None and self.granting is None

    def _form_view(self, names: str, about: str, verdict: Verdict) -> FormView:
        typed = self.typed if verdict_from(self.typed.get("verdict", "")) == verdict else None
        return FormView(f"field-{self.request.pk}", names, about, self.errors, typed)

    @property
    def error_list(self) -> list[tuple[str, str, str]]:
        """Each error as (label, text, id of its field on the card or "")."""
        forms = (self.edit_form, self.answer_form)
        fields = [each for form in forms if form is not None for each in form.walk()]
        known = {each.key: (each.control.label, each.id) for each in fields if each.error}
        for each in fields:
            for number, row in enumerate(each.rows):
                name = f"{each.control.label} {number + 1}"
                known[f"{each.key}.{number}"] = (name, row.id)
                known |= {cell.key: (f"{name}, {cell.control.label}", cell.id) for cell in row.cells}
        known["typed_name"] = (_("The typed name"), "")
        known |= self.granting.errors if self.granting is not None else {}
        known["comment"] = (_("The message to the agent"), f"comment-{self.request.pk}")
        named = [(*known.get(name, (label_of(name), "")), error) for name, error in self.errors.items()]
        return [(label, error, field_id) for label, field_id, error in named]

    @property
    def answer_error(self) -> str:
        """The errors of an answer in JSON, with the path of each."""
        names = [name for name in self.errors if name == "answer" or name.startswith("answer.")]
        return "; ".join(f"{name.removeprefix('answer').lstrip('.')} {self.errors[name]}".strip() for name in names)

    @property
    def comment_error(self) -> str:
        """What is wrong with the message to the agent; empty if nothing is."""
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
        fields = self.wants_json or answer_form(self.request) is not None
        return not fields and (self.request.allow_text or not self.request.options)

    @property
    def chosen(self) -> list[str]:
        """The options that were selected before a refusal."""
        return self.typed.getlist("choice")

    @property
    def default_words(self) -> str:
        """The answer that is given at the deadline, as text."""
        return visible(answer_text(self.request.default_response))

    @property
    def changed_rows(self) -> list[Change]:
        """The differences between the proposed and the approved input."""
        if self.decision is None or self.decision.edited_input is None:
            return []
        return changes(self.request.input, self.decision.edited_input, self.request.secrets or ())

    @property
    def answer(self) -> Any:
        """The answer that the decision gave; None if it gave none."""
        answered = self.decision is not None and self.decision.verdict in {Verdict.RESPOND, Verdict.EXPIRE}
        return self.decision.answer if self.decision is not None and answered else None

    @property
    def answer_rows(self) -> list[Row]:
        """The answer as rows, like an input; none for a text or a choice."""
        structured = isinstance(self.answer, dict | list) and not is_choice(self.answer)
        if not structured or not self.answer:
            return []
        answer = with_names(self.request.response_schema, self.answer)
        return formatted(rows(answer, "answer"), answer, self.request.response_schema)

    @property
    def answer_files(self) -> list[ShownFile]:
        """The files in the answer, which the card links to."""
        return shown_answer_files(self.request)

    @property
    def answer_text(self) -> str:
        """The answer as text."""
        return visible(answer_text(self.answer))


def card_for(
    viewer: Standing, request: ApprovalRequest, *, door: str = Door.DASHBOARD, ballots: Ballots | None = None
) -> Card:
    """Return the card of a request for a person. Its request is a copy, of which no secret can get onto a page.

    It shows the input that is decided now. `ballots` are those of several requests, where they were read together.
    """
    shown, voting = masked_request(as_proposed(request)), voting_of(viewer, request, ballots)
    may_close = request.pending and permissions.may_close(viewer, request)
    return Card(
        request=shown,
        decision=getattr(shown, "decision", None),
        may_close=may_close and (voting is None or voting.admitted),
        why_not=why_not(viewer, request) if request.pending and not may_close else "",
        may_cancel=request.pending and permissions.may_cancel(viewer, request),
        holder=holder_for(viewer, request),
        door=door,
        may_reveal=shown.hides and permissions.may_reveal(viewer),
        voting=voting,
    )


def named_in(request: ApprovalRequest) -> set[int | None]:
    """Return the ids of the people to whom the card of this request looks different than to others with the same rights."""
    # The owner of the workflow: whoever runs the agent may confirm its calls, or may not decide them.
    return {request.requested_by_id, request.assigned_to_id, request.claimed_by_id, request.workflow.owner_id}


def refused_card(viewer: Standing, request: ApprovalRequest, refusal: Refusal, typed: QueryDict, door: str) -> Card:
    """Return the card with the reason for the refusal and with what was typed."""
    return replace(
        card_for(viewer, request, door=door),
        refusal=str(refusal),
        errors=refusal.errors if isinstance(refusal, Invalid) else {},
        typed=typed,
        unread=isinstance(refusal, UnreadParts),
        log_in_again=isinstance(refusal, SignInAgain),
    )
