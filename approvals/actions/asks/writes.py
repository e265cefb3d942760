"""Store and publish the outcome of an ask: one function per kind of outcome, with its effects in order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from approvals import signals
from approvals.actions import attachments, publishing, rows
from approvals.actions.asks.facts import AskFacts, RequestDraft
from approvals.actions.asks.outcome import AskRefused, Outcome, RefusedBecause
from approvals.actions.ending import decision_on
from approvals.actions.policy.asks import AskedUnderRules, Granted, Ruled
from approvals.actions.policy.duty.reminders import schedule_follow_ups
from approvals.actions.policy.grants.events import send_recorded, use_entries
from approvals.actions.policy.grants.use import use_grant
from approvals.actions.publishing import publish_event
from approvals.asking.answers import Answer
from approvals.asking.digests import digest_of_new
from approvals.asking.secrets import masked_column, masked_input
from approvals.db.prepared_writes import Write
from approvals.db.transactions import after_commit
from approvals.exceptions import CannotBeAssigned, Conflict
from approvals.models import ApprovalRequest, Grant, Workflow
from approvals.queries.search_words import HIDDEN_AMOUNT, texts_in, words_to_index
from approvals.record.amounts import amount_at
from approvals.record.audit import Entry
from approvals.states import (
    CLIENT,
    OUTCOMES,
    PROGRAMS,
    Door,
    Status,
    Verdict,
    WorkflowState,
)


@dataclass(frozen=True, slots=True)
class GrantLost:
    """A grant that covered the ask when its facts were read, but can no longer be used. Nothing was stored."""

    grant: Grant


def write(facts: AskFacts, outcome: Outcome) -> ApprovalRequest | GrantLost:
    """Store a request according to its outcome, and publish it. Raise Conflict or CannotBeAssigned if it is refused.

    Raise IntegrityError if its call was stored at the same moment: then the whole transaction is undone, including a grant's use.
    """
    match outcome:
        case AskRefused(why=RefusedBecause.WORKFLOW_ENDED):
            raise Conflict(
                _(
                    "This workflow has ended. Start a new workflow to make more requests."
                )
            )
        case AskRefused():
            raise CannotBeAssigned("assigned_to")
        case Ruled():
            return _write_ruled(facts, outcome)
        case Granted(grant=grant):
            # Counted before the request is stored, because a stored one never changes between approved and not.
            used = use_grant(grant, alone=facts.alone)
            return GrantLost(grant) if used is None else _write_granted(facts, used)
        case AskedUnderRules():
            return _write_asked(facts, outcome.record)


def _write_asked(facts: AskFacts, why: dict[str, str]) -> ApprovalRequest:
    """Store a request that waits for people.

    Writes together the workflow (new, or its counters), the request, its search words, and the entry `request.created`; then its
    event, with which open pages and, by rules, people are notified; its files; and the due time of the first reminder.
    """
    draft = facts.draft
    workflow = draft.workflow
    request = draft.row()
    shown = masked_input(request, request.input)
    _set_digest(request, draft, shown)
    _count_up(workflow, request.urgency, draft.created_at)
    counted = [] if workflow.pk is None else [rows.counted(workflow)]
    changes = [*_new_rows(request), *counted, _words(request, shown)]
    record = publishing.request_record(request) | why
    asked_by = facts.asked_by
    via = workflow.source
    publish_event(
        "request.created",
        request,
        workflow,
        record=record,
        actor=asked_by,
        via=via,
        changes=changes,
    )
    _after_storing(request, draft)
    if request.terms:
        schedule_follow_ups(request)
    return request


def _write_ruled(facts: AskFacts, ruled: Ruled) -> ApprovalRequest:
    """Store a request that a rule or an earlier rejection decides.

    Writes together a new workflow (ended if it was created for this request), the request with its end, and its decision;
    together the entries `request.created` and `request.decided`; their events; and its files. It never waits, so no counters
    change. Most requests may be of this kind, so nothing is indexed, and neither pages nor people are notified.
    """
    draft = facts.draft
    workflow = draft.workflow
    answer = ruled.answer
    request = draft.row(OUTCOMES[answer.verdict], repeats=ruled.repeats)
    _set_digest(request, draft, masked_input(request, request.input))
    _end_new(workflow, request)
    decision = decision_on(
        request, answer, by=None, via=Door.RULE, at=request.created_at
    )
    changes = [*_new_rows(request), rows.DECISION.of(decision)]
    decided = publishing.decision_record(decision) | publishing.rule_record(request)
    entries = [
        _created(facts, request),
        Entry(event="request.decided", data=decided, actor=None, via=Door.RULE),
    ]
    publishing.publish_at_once(entries, request, workflow, changes=changes)
    _after_storing(request, draft)
    _signal(request, workflow, Door.RULE)
    return request


def _write_granted(facts: AskFacts, grant: Grant) -> ApprovalRequest:
    """Store a request that a grant approves, after counting the use.

    Writes together a new workflow (ended if it was created for this request), the approved request, its search words, and its
    decision by the grant's giver; together the entries `request.created`, `request.decided` and `grant.used`, and `grant.ended`
    after the last use; their events; and its files. Open pages are notified, but no people, because it never waits.
    """
    draft = facts.draft
    workflow = draft.workflow
    request = draft.row(Status.APPROVED)
    shown = masked_input(request, request.input)
    _set_digest(request, draft, shown)
    _end_new(workflow, request)
    answer = Answer(Verdict.APPROVE)
    decision = decision_on(
        request,
        answer,
        by=grant.giver,
        via=Door.GRANT,
        at=request.created_at,
        grant=grant,
    )
    changes = [*_new_rows(request), _words(request, shown), rows.DECISION.of(decision)]
    decided = publishing.decision_record(decision) | {
        "grant_id": str(grant.pk),
        "grant_use": grant.used,
    }
    entries = [
        _created(facts, request),
        Entry(event="request.decided", data=decided, actor=grant.giver, via=Door.GRANT),
    ]
    used = use_entries(grant, str(request.pk))
    heard = publishing.publish_at_once(
        entries, request, workflow, changes=changes, also=used
    )
    _after_storing(request, draft)
    send_recorded(used, grant, str(request.pk), heard=heard)
    publishing.notify(
        workflow,
        request.requested_by_id,
        request.assigned_to_id,
        request_id=str(request.pk),
    )
    _signal(request, workflow, Door.GRANT)
    return request


def _set_digest(request: ApprovalRequest, draft: RequestDraft, shown: Any) -> None:
    """Set the digest of a new request's input; `shown` is the input as displayed, with masks."""
    digest = digest_of_new(request, draft.text, shown)
    request.input_digest = digest.text
    request.digest_salt = digest.salt


def _count_up(workflow: Workflow, urgency: int, now: datetime) -> None:
    """Add a pending request to the workflow's counters, without storing them."""
    workflow.open_count += 1
    workflow.state = WorkflowState.SUSPENDED
    workflow.suspended_at = workflow.suspended_at or now
    workflow.urgency = min(
        urgency, urgency if workflow.urgency is None else workflow.urgency
    )


def _end_new(workflow: Workflow, request: ApprovalRequest) -> None:
    """End a new workflow with its request if it was created for that, without storing it."""
    if workflow.pk is not None:
        return
    if workflow.source in PROGRAMS and (
        workflow.source != CLIENT or workflow.key == str(request.pk)
    ):
        workflow.state = WorkflowState.COMPLETED
        workflow.ended_at = request.created_at


def _new_rows(request: ApprovalRequest) -> list[Write]:
    """Return the writes of a new request, preceded by its workflow if that is new; they must come first in the batch."""
    workflow = request.workflow
    if workflow.pk is not None:
        return [rows.REQUEST.of(request)]
    return [
        rows.WORKFLOW.of(workflow),
        rows.REQUEST.of(request, keys={"workflow_id": 0}),
    ]


def _after_storing(request: ApprovalRequest, draft: RequestDraft) -> None:
    """Give a stored request its files, and the key of its workflow, which may be new."""
    request.workflow = draft.workflow
    if draft.ask.attachments:
        attachments.attach(request, draft.ask.attachments)


def _words(request: ApprovalRequest, shown: Any) -> Write:
    """Return the write of a new request's search words; `shown` is its input with masks."""
    title, message, context = (
        masked_column(request, name) for name in ("title", "message", "context")
    )
    facts = {"tool": request.tool_name, "agent": request.agent}
    if amount_at(shown, request.amount_pointer) != request.amount:
        facts |= HIDDEN_AMOUNT
    # Of the context, only the words: it repeats the same fields in each message.
    context_words = [text for _field, text in texts_in(context)]
    call = (request.tool_name, request.tool_call_id or "")
    words = words_to_index(title, message, *call, context_words, shown, facts=facts)
    return rows.SEARCH_TEXT.of_row(request_id=request.pk, words=words)


def _created(facts: AskFacts, request: ApprovalRequest) -> Entry:
    record = publishing.request_record(request)
    return Entry(
        event="request.created",
        data=record,
        actor=facts.asked_by,
        via=facts.draft.workflow.source,
    )


def _signal(request: ApprovalRequest, workflow: Workflow, via: Door) -> None:
    after_commit(
        signals.decided.send_robust,
        None,
        request_id=request.pk,
        source=workflow.source,
        via=via,
    )
