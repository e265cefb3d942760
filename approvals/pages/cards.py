"""A request as one person sees it: its values in readable rows, its forms, and the buttons available to the person."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from approvals.access import permissions
from approvals.access.assignees import NOBODY, Holder, holder_for
from approvals.access.fresh_sign_in import SignInAgain
from approvals.access.standing import Standing
from approvals.actions.callbacks.settling import may_settle
from approvals.asking.answered_files import files_in_answer, with_names
from approvals.asking.answers import answer_text, is_choice
from approvals.asking.secrets import VALUES, hidden_pointers
from approvals.asking.titles import is_made, title_of_call
from approvals.db.canonical_json import canonical
from approvals.exceptions import Invalid, Refusal, UnreadParts
from approvals.forms.formatted import formatted
from approvals.forms.shown_calls import (
    ShownFile,
    ShownInput,
    directory_in,
    shown_files,
    shown_input,
)
from approvals.models import ApprovalRequest
from approvals.pages.card_forms import Answering
from approvals.pages.votes import Ballots, Voting, voting_of
from approvals.queries.engines import ShownCallback, callback_of
from approvals.queries.policy.grants.covered import NONE_WAITING, CoveredRequests
from approvals.queries.policy.votes.stages import Voter
from approvals.queries.policy.why_not import why_not
from approvals.shown.requests import (
    ShownDecision,
    ShownRequest,
    shown_decision,
    shown_request,
)
from approvals.states import ASKS, Door, Kind, Verdict
from approvals.text.differences import Change, changed_members, changes
from approvals.text.names import full_name
from approvals.text.tables import (
    TableRow,
    context_rows,
    leave_out,
    misread,
    rows,
    secret_rows,
)
from approvals.text.text import visible, visible_json
from approvals.text.translation import in_one_line


@dataclass(frozen=True, slots=True)
class About:
    """What a card shows of a request before anyone decides it."""

    request: ShownRequest
    #: The same with the input that runs, and its digest: another one if it was approved with changes.
    runs: ShownRequest

    @property
    def asks(self) -> bool:
        """Whether this is a question or form, not something to approve."""
        return self.request.kind in ASKS

    @property
    def quotes_title(self) -> bool:
        """Whether to quote the title: it is the agent's, and says more than the heading."""
        request = self.request
        if request.kind != Kind.APPROVAL or is_made(request.title, request.tool_name):
            return False
        arguments = request.input if isinstance(request.input, dict) else {}
        directory = directory_in(request.context)
        return request.title != title_of_call(request.tool_name, arguments, directory)

    @property
    def title_note(self) -> str:
        """A warning about easily misread characters in the title; empty if there are none."""
        return "; ".join(misread(self.request.title))

    @property
    def needs_fresh_sign_in(self) -> bool:
        return permissions.needs_fresh_sign_in(self.request)

    @property
    def shown(self) -> ShownInput:
        """The input that runs, the context and the agent's message, as the card shows them."""
        return shown_input(self.runs)

    @property
    def changed(self) -> set[str]:
        """The names of the values that were changed before approving."""
        if self.runs is self.request:
            return set()
        return changed_members(self.request.input, self.runs.input)

    @property
    def input_json(self) -> str:
        """The input in canonical form, as covered by the digest, with invisible characters escaped."""
        return visible_json(canonical(self.runs.input).decode())

    @property
    def context_json(self) -> str:
        """The whole context if the table does not show all of it; else empty."""
        context = self.request.context
        if not context or not leave_out(context_rows(context)):
            return ""
        return visible_json(canonical(context).decode())

    @property
    def default_words(self) -> str:
        """The answer that is used at the deadline, as text."""
        return visible(answer_text(self.request.default_response))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOutcome:
    """How a request ended, as its card shows it.

    `changed_rows` are the differences between the proposed and the approved input. `answer_text` is the answer as text;
    `answer_rows` are its rows, like those of an input, with the files that the card links to: none for a text or a choice.
    """

    decision: ShownDecision
    changed_rows: Sequence[Change] = ()
    answer_text: str = ""
    answer_rows: Sequence[TableRow] = ()
    answer_files: Sequence[ShownFile] = ()
    #: Requests that keep waiting although the grant just given covers them.
    waiting: CoveredRequests = NONE_WAITING


def shown_outcome(request: ShownRequest, decision: ShownDecision) -> ShownOutcome:
    """Return how a request ended, for its card."""
    outcome = ShownOutcome(decision=decision)
    if decision.edited_input is not None:
        changed = changes(request.input, decision.edited_input, request.secrets or ())
        outcome = replace(outcome, changed_rows=changed)
    answer = decision.answer
    if answer is None or decision.verdict not in {Verdict.RESPOND, Verdict.EXPIRE}:
        return outcome
    outcome = replace(outcome, answer_text=visible(answer_text(answer)))
    if not (answer and isinstance(answer, dict | list)) or is_choice(answer):
        return outcome
    schema = request.response_schema
    named = with_names(schema, answer)
    return replace(
        outcome,
        answer_rows=formatted(rows(named, "answer"), named, schema),
        answer_files=shown_files(request.pk, files_in_answer(schema, answer)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The context of `approvals/request/_card.html`: what it is `about`, the forms for `answering` it, and its `outcome`.

    `why_not` says why the person may not decide it; empty if they may, or if it has ended.
    """

    request: ShownRequest
    about: About
    answering: Answering
    outcome: ShownOutcome | None
    may_close: bool
    may_cancel: bool
    why_not: str = ""
    door: str = Door.DASHBOARD
    holder: Holder = NOBODY
    #: Whether the person may reveal hidden values; false if there are none.
    may_reveal: bool = False
    #: The pointers to what is hidden, which no table shows a button for.
    hidden: Sequence[str] = ()
    #: The votes, if the request is decided by them.
    voting: Voting | None = None
    #: The delivery of the decision to its engine, and whether the person may settle it.
    callback: ShownCallback | None = None
    may_settle: bool = False

    @property
    def deciders(self) -> Sequence[Voter]:
        """The people whose votes decided it, if they are several."""
        if self.outcome is None or self.voting is None:
            return ()
        decision = self.outcome.decision
        return self.voting.ballot.deciders(
            decision.verdict, break_glass=decision.break_glass
        )

    @property
    def decided_by(self) -> str:
        """The people who decided it; empty if no one did."""
        if self.outcome is None or not self.outcome.decision.by_name:
            return ""
        names = [
            full_name(voter.username, voter.display_name) for voter in self.deciders
        ]
        name = full_name(self.outcome.decision.by_name, self.request.decided_display)
        return in_one_line(names or [name])

    @property
    def version(self) -> str:
        """Changes with the request and with permissions, but not with each vote. While it is equal, pushes replace no form."""
        votes_on = (
            self.request.input_digest if self.voting and self.request.pending else ""
        )
        delivery = self.callback.state if self.callback else ""
        return f"{self.request.status}-{votes_on or self.request.changed_at.timestamp()}-{self.may_close}{delivery}"

    @property
    def render_key(self) -> Hashable:
        """The cache key of the card: people with the same key see the same card."""
        more = (self.may_reveal, self.why_not, self.voting and self.voting.look)
        delivery = (self.callback, self.may_settle)
        return (
            self.request.pk,
            self.version,
            self.door,
            self.may_cancel,
            self.holder,
            *more,
            *delivery,
        )

    @property
    def hidden_elsewhere(self) -> list[str]:
        """The pointers to hidden values that no row shows, such as in a message or a command."""
        shown = self.about.shown
        rows_shown = [
            *shown.rows,
            *shown.context,
            *(self.outcome.answer_rows if self.outcome is not None else ()),
        ]
        beside = {row.secret for row in secret_rows(rows_shown)}
        return [pointer for pointer in self.hidden if pointer not in beside]


def card_for(
    viewer: Standing,
    request: ApprovalRequest,
    *,
    door: str = Door.DASHBOARD,
    ballots: Ballots | None = None,
) -> Card:
    """Return the card of a request for a person, without secrets.

    It shows the input being decided now. `ballots` are those of several requests, if read together.
    """
    shown = shown_request(request)
    made = getattr(request, "decision", None)
    decision = None if made is None else shown_decision(request, made, grant=made.grant)
    hidden: Sequence[str] = ()
    if permissions.may_reveal(viewer):
        decided = (
            ()
            if decision is None
            else (decision.comment, decision.edited_input, decision.answer)
        )
        hidden = hidden_pointers(*(getattr(shown, name) for name in VALUES), *decided)
    runs = shown
    if decision is not None and decision.edited_input is not None:
        runs = replace(
            shown,
            input=decision.edited_input,
            input_digest=decision.approved_digest,
        )
    voting = voting_of(viewer, request, ballots) if request.terms else None
    callback = callback_of(request)
    may_close = request.pending and permissions.may_close(viewer, request)
    admitted = may_close and (voting is None or voting.admitted)
    return Card(
        request=shown,
        about=About(shown, runs),
        answering=Answering(request=shown, may_close=admitted),
        outcome=None if decision is None else shown_outcome(shown, decision),
        may_close=admitted,
        why_not=why_not(viewer, request) if request.pending and not may_close else "",
        may_cancel=request.pending and permissions.may_cancel(viewer, request),
        holder=holder_for(viewer, request),
        door=door,
        may_reveal=bool(hidden),
        hidden=hidden,
        voting=voting,
        callback=callback,
        may_settle=callback is not None and may_settle(viewer, request),
    )


def named_in(request: ApprovalRequest) -> set[int | None]:
    """Return the ids of the people for whom this request's card differs from that of others with the same rights."""
    # The owner of the workflow: as a person running the agent, they may confirm its calls, or may not decide them.
    return {
        request.requested_by_id,
        request.assigned_to_id,
        request.claimed_by_id,
        request.workflow.owner_id,
    }


def refused_card(
    viewer: Standing,
    request: ApprovalRequest,
    refusal: Refusal,
    typed: QueryDict,
    door: str,
) -> Card:
    """Return the card with the reason for the refusal, and with the submitted entries."""
    card = card_for(viewer, request, door=door)
    return with_answering(
        card,
        refusal=str(refusal),
        errors=refusal.errors if isinstance(refusal, Invalid) else {},
        typed=typed,
        unread=refusal.parts if isinstance(refusal, UnreadParts) else 0,
        unread_files=refusal.files if isinstance(refusal, UnreadParts) else 0,
        log_in_again=isinstance(refusal, SignInAgain),
    )


def with_answering(card: Card, **sent: Any) -> Card:
    """Return the card whose forms have this of what was sent."""
    return replace(card, answering=replace(card.answering, **sent))
