"""Store the outcome of an ask, and publish it: each kind of outcome in its own function, whose lines are its effects in order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from approvals import signals
from approvals.actions import attachments, publishing, rows
from approvals.actions.asks.facts import AskFacts, Draft
from approvals.actions.asks.outcome import Outcome, Refused, Why
from approvals.actions.ending import decision_on
from approvals.actions.policy.asks import Asked, Granted, Ruled
from approvals.actions.policy.following_up import schedule_follow_ups
from approvals.actions.policy.grant_use import use_grant
from approvals.actions.policy.publishing import send_recorded, use_entries
from approvals.actions.publishing import publish_event
from approvals.asking.answers import Answer
from approvals.asking.digests import digest_of_new
from approvals.asking.secrets import masked_input, masked_request
from approvals.db.transactions import after_commit
from approvals.exceptions import CannotBeAssigned, Conflict
from approvals.models import ApprovalRequest, Grant, Workflow
from approvals.queries.search_words import words_to_index
from approvals.record.audit import Entry
from approvals.states import CLIENT, OUTCOMES, PROGRAMS, Door, Status, Verdict, WorkflowState


@dataclass(frozen=True, slots=True)
class GrantLost:
    """A grant that covered the ask when its facts were read, and can no longer be used. Nothing was stored."""

    grant: Grant


def write(facts: AskFacts, outcome: Outcome) -> ApprovalRequest | GrantLost:
    """Store a request as what it is, and publish it. Conflict or CannotBeAssigned if it is refused.

    IntegrityError if its call was stored at the same moment: then the whole transaction is undone, also the use of a grant.
    """
    match outcome:
        case Refused(why=Why.WORKFLOW_ENDED):
            raise Conflict(_("This workflow has ended. Start a new workflow to make more requests."))
        case Refused():
            raise CannotBeAssigned("assigned_to")
        case Ruled():
            return _write_ruled(facts, outcome)
        case Granted(grant=grant):
            # Counted before the request is stored, which is then approved or not, and never changes.
            used = use_grant(grant, alone=facts.alone)
            return GrantLost(grant) if used is None else _write_granted(facts, used)
        case Asked():
            return _write_asked(facts, outcome.record)


def _write_asked(facts: AskFacts, why: dict[str, str]) -> ApprovalRequest:
    """Store a request that waits for people.

    The workflow, new or with its counters; the request, and the files that it takes; its words in the index of the search;
    the entry and the event `request.created`, with which open pages and, by rules, people are notified; and when the first
    reminder is due.
    """
    draft = facts.draft
    workflow = draft.workflow
    request = draft.row()
    shown = masked_request(request)
    _set_digest(request, draft, shown.input)
    _count_up(workflow, request.urgency, draft.created_at)
    if workflow.pk is None:
        rows.WORKFLOW.save(workflow)
    else:
        rows.count(workflow)
    _store(request, draft)
    _index(shown)
    record = publishing.request_record(request) | why
    publish_event("request.created", request, workflow, record=record, actor=facts.asked_by, via=workflow.source)
    if request.terms:
        schedule_follow_ups(request)
    return request


def _write_ruled(facts: AskFacts, ruled: Ruled) -> ApprovalRequest:
    """Store a request that a rule, or an earlier rejection, decides.

    A new workflow, ended if it was made for this request; the request, with how it has ended, and the files that it takes; its
    decision; the entries `request.created` and `request.decided` in one statement, and their events. It never waits, so nothing
    is counted. Most requests may be of this kind, so nothing is indexed, and neither pages nor people are notified.
    """
    draft = facts.draft
    workflow = draft.workflow
    answer = ruled.answer
    request = draft.row(OUTCOMES[answer.verdict], repeats=ruled.repeats)
    _set_digest(request, draft, masked_input(request, request.input))
    _open_ended(workflow, request)
    _store(request, draft)
    decision = decision_on(request, answer, by=None, via=Door.RULE, at=request.created_at)
    rows.DECISION.save(decision)
    decided = publishing.decision_record(decision) | publishing.rule_record(request)
    entries = [
        _created(facts, request),
        Entry(event="request.decided", data=decided, actor=None, via=Door.RULE),
    ]
    publishing.publish_at_once(entries, request, workflow)
    _signal(request, workflow, Door.RULE)
    return request


def _write_granted(facts: AskFacts, grant: Grant) -> ApprovalRequest:
    """Store a request that a grant approves, of which a use was just counted.

    A new workflow, ended if it was made for this request; the request, approved, and the files that it takes; its words in the
    index of the search; its decision, by whoever gave the grant; the entries `request.created`, `request.decided` and
    `grant.used`, and `grant.ended` after the last use, in one statement, and their events. Open pages are notified, but no
    people: it never waits.
    """
    draft = facts.draft
    workflow = draft.workflow
    request = draft.row(Status.APPROVED)
    shown = masked_request(request)
    _set_digest(request, draft, shown.input)
    _open_ended(workflow, request)
    _store(request, draft)
    _index(shown)
    answer = Answer(Verdict.APPROVE)
    decision = decision_on(request, answer, by=grant.giver, via=Door.GRANT, at=request.created_at, grant=grant)
    rows.DECISION.save(decision)
    decided = publishing.decision_record(decision) | {"grant_id": str(grant.pk), "grant_use": grant.used}
    entries = [
        _created(facts, request),
        Entry(event="request.decided", data=decided, actor=grant.giver, via=Door.GRANT),
    ]
    used = use_entries(grant, str(request.pk))
    heard = publishing.publish_at_once(entries, request, workflow, also=used)
    send_recorded(used, grant, str(request.pk), heard=heard)
    publishing.notify(workflow, request.requested_by_id, request.assigned_to_id, request_id=str(request.pk))
    _signal(request, workflow, Door.GRANT)
    return request


def _set_digest(request: ApprovalRequest, draft: Draft, shown: Any) -> None:
    """Put the digest of its input into a new request; `shown` is what people see of the input."""
    digest = digest_of_new(request, draft.text, shown)
    request.input_digest = digest.text
    request.digest_salt = digest.salt


def _count_up(workflow: Workflow, urgency: int, now: datetime) -> None:
    """Count a request that waits, without storing it."""
    workflow.open_count += 1
    workflow.state = WorkflowState.SUSPENDED
    workflow.suspended_at = workflow.suspended_at or now
    workflow.urgency = min(urgency, urgency if workflow.urgency is None else workflow.urgency)


def _open_ended(workflow: Workflow, request: ApprovalRequest) -> None:
    """Store the workflow of a request that never waits, if it is new; it ends with the request if it was made for it."""
    if workflow.pk is not None:
        return
    if workflow.source in PROGRAMS and (workflow.source != CLIENT or workflow.key == str(request.pk)):
        workflow.state = WorkflowState.COMPLETED
        workflow.ended_at = request.created_at
    rows.WORKFLOW.save(workflow)


def _store(request: ApprovalRequest, draft: Draft) -> None:
    """Store a new request, whose workflow is stored, with its files."""
    request.workflow = draft.workflow
    rows.REQUEST.save(request)
    if draft.ask.attachments:
        attachments.attach(request, draft.ask.attachments)


def _index(shown: ApprovalRequest) -> None:
    """Put the words of a new request into the index of the search; `shown` is the request without its secrets."""
    texts = (shown.title, shown.message, shown.tool_name, shown.tool_call_id or "", shown.context, shown.input)
    rows.SEARCH_TEXT.row(request_id=shown.pk, words=words_to_index(*texts))


def _created(facts: AskFacts, request: ApprovalRequest) -> Entry:
    record = publishing.request_record(request)
    return Entry(event="request.created", data=record, actor=facts.asked_by, via=facts.draft.workflow.source)


def _signal(request: ApprovalRequest, workflow: Workflow, via: Door) -> None:
    after_commit(signals.decided.send_robust, None, request_id=request.pk, source=workflow.source, via=via)
