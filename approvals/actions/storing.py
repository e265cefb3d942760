"""Store what is asked: a request in its workflow, on the terms of the policy, which may end it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import standing_of
from approvals.actions import attachments, publishing, rows
from approvals.actions.ending import approve_at_once, decide_at_once, ends_with_first
from approvals.actions.indexing import index_request
from approvals.actions.policy import following_up, scoping
from approvals.actions.policy.judging import (
    UNRULED,
    answer_of,
    fields_of,
    judge,
    priority_of,
    rejected_before,
    repeated_answer,
)
from approvals.actions.policy.using import covering_grants, use_one
from approvals.actions.publishing import publish_event
from approvals.asking.answers import ABSENT, Answer
from approvals.asking.asks import MAX_TITLE, URGENCY, Ask, most_urgent
from approvals.asking.digests import digest_of_new, fingerprints, text_of
from approvals.asking.secrets import masked_input, masked_request, secrets_in_schema
from approvals.exceptions import CannotBeAssigned, Conflict
from approvals.models import ApprovalRequest, Grant, Workflow
from approvals.models.actors import Actor, KeyActor, person_behind
from approvals.queries.preferences import rules_for_asking
from approvals.states import OUTCOMES, Status, WorkflowState
from approvals.text.canonical_names import fold
from approvals.text.text import visible


def store_request(workflow: Workflow, ask: Ask, *, by: Actor, alone: bool = True, **more: Any) -> ApprovalRequest:
    """Write a request into its locked workflow; a grant that covers it ends it at once. Conflict if the workflow has ended;
    CannotBeAssigned. `alone` says that the transaction stores no other request.
    """
    if workflow.ended:
        raise Conflict(_("This workflow has ended. Start a new workflow to make more requests."))
    now = timezone.now()
    requester = person_behind(by)
    rules = rules_for_asking(ask.tool_name, requester.pk)
    ask = replace(ask, priority=most_urgent(ask.priority, rules.min_priority))
    text = text_of(ask.input, ask.files)
    same = fingerprints(text)
    # Nobody at all is no row that a request could name.
    if ask.assigned_to is not None and not ask.assigned_to.is_active:
        raise CannotBeAssigned("assigned_to")
    verdict = judge(rules, ask, workflow, by=requester, now=now)
    earlier = rejected_before(verdict, rules, ask, workflow, same, by=requester, now=now)
    if earlier is not None:
        # No rule has decided it, and no one is asked on the terms of one.
        verdict, more = UNRULED, more | {"repeats": earlier.request_id}
    made = fields_of(verdict, rules, ask, now) | more
    if isinstance(by, KeyActor):
        made["key_made_by_id"] = by.key.maker_id
    made["secrets"] = [*secrets_in_schema(ask.response_schema), *rules.secret_fields] or None
    made["input_fingerprint"] = same[0]
    ask = replace(ask, priority=priority_of(verdict, ask))
    answer = answer_of(verdict) if earlier is None else repeated_answer(earlier)
    if answer is not None:
        return _store_decided(workflow, ask, answer, now, by=by, made=made, text=text)
    request = ApprovalRequest(**_frozen(workflow, ask, now) | made, requested_by=requester)
    shown = masked_request(request)
    _set_digest(request, text, shown.input)
    why = {"why_asked": verdict.why.value} if verdict.why else {}
    if rules.granted:
        covering = covering_grants(request, workflow, same, rules.key_fields, verdict=verdict)
        if covering and _store_granted(request, shown, workflow, ask, covering, by=by, alone=alone, why=why):
            return request
    if request._state.adding:
        _count_up(workflow, URGENCY[ask.priority], now)
        if workflow.pk is None:
            rows.WORKFLOW.save(workflow)
            request.workflow = workflow
        else:
            rows.count(workflow)
        _insert(request, ask)
    index_request(shown)
    record = publishing.request_record(request) | why
    publish_event("request.created", request, workflow, record=record, actor=by, via=workflow.source)
    following_up.schedule_follow_ups(request)
    return request


def _store_granted(
    request: ApprovalRequest,
    shown: ApprovalRequest,
    workflow: Workflow,
    ask: Ask,
    covering: Sequence[Grant],
    *,
    by: Actor,
    alone: bool,
    why: dict[str, str],
) -> bool:
    """Store a request as approved by one of these grants; False if none can be used: then it is stored, and waits.

    `shown` is the request without its secrets.
    """
    _store_ended(request, workflow, ask, Status.APPROVED)
    grant = use_one(request, covering, alone=alone)
    if grant is not None:
        index_request(shown)
        approve_at_once(request, workflow, grant, asked_by=by, created=publishing.request_record(request) | why)
        return True
    # They were used up at this moment, or those who gave them may not decide this request.
    request.status, workflow.ended_at = Status.PENDING, None
    ApprovalRequest.objects.filter(pk=request.pk).update(status=Status.PENDING)
    _count_up(workflow, request.urgency, request.created_at)
    rows.count(workflow)
    return False


def _store_decided(
    workflow: Workflow, ask: Ask, answer: Answer, now: datetime, *, by: Actor, made: dict[str, Any], text: bytes
) -> ApprovalRequest:
    """Write a request that a rule or an earlier rejection decides: it never waits, so that nothing is counted, and nobody is
    told.
    """
    request = ApprovalRequest(**_frozen(workflow, ask, now) | made, requested_by=person_behind(by))
    _set_digest(request, text, masked_input(request, request.input))
    _store_ended(request, workflow, ask, OUTCOMES[answer.verdict])
    decide_at_once(request, workflow, answer, asked_by=by)
    return request


def _store_ended(request: ApprovalRequest, workflow: Workflow, ask: Ask, status: Status) -> None:
    """Write a request that never waits, with how it has ended, and its workflow if that is new."""
    request.status = status
    if workflow.pk is None:
        if ends_with_first(workflow, request):
            workflow.state, workflow.ended_at = WorkflowState.COMPLETED, request.created_at
        rows.WORKFLOW.save(workflow)
        request.workflow = workflow
    _insert(request, ask)


def _count_up(workflow: Workflow, urgency: int, now: datetime) -> None:
    """Count a request that waits, without storing it."""
    workflow.open_count += 1
    workflow.state = WorkflowState.SUSPENDED
    workflow.suspended_at = workflow.suspended_at or now
    workflow.urgency = min(urgency, urgency if workflow.urgency is None else workflow.urgency)


def _insert(request: ApprovalRequest, ask: Ask) -> ApprovalRequest:
    """Store a new request with its scopes and its files. CannotBeAssigned."""
    if (scopes := rows.store_request(request)) is not None:
        scoping.place(request, scopes)
    # Who may decide it depends on the scopes that fit it.
    if ask.assigned_to is not None and not permissions.may_be_assigned(standing_of(ask.assigned_to), request):
        raise CannotBeAssigned("assigned_to")
    attachments.attach(request, ask.attachments)
    return request


def _set_digest(request: ApprovalRequest, text: bytes, shown: Any) -> None:
    """Put the digest of its input into a new request; `text` is that of the input, and `shown` what people see of it."""
    digest = digest_of_new(request, text, shown)
    request.input_digest, request.digest_salt = digest.text, digest.salt


def _frozen(workflow: Workflow, ask: Ask, now: datetime) -> dict[str, Any]:
    fields = {name: getattr(ask, name) for name in Ask.__dataclass_fields__}
    fields.pop("default_response")
    # A title stands alone in mails and lists, so invisible characters in it are made visible.
    fields["title"] = visible(ask.title)[:MAX_TITLE]
    default = ask.default
    return fields | {
        "workflow": workflow,
        "scope": workflow.scope,
        "agent": workflow.agent,
        "canonical_tool": fold(ask.tool_name),
        "input": dict(ask.input),
        "attachments": [file.stored for file in ask.files] or None,
        "options": [dict(option) for option in ask.options],
        "suggestions": list(ask.suggestions),
        "said_before": [dict(message) for message in ask.said_before],
        "step_path": list(ask.step_path),
        "urgency": URGENCY[ask.priority],
        "words": ask.words,
        "has_default": default is not ABSENT,
        "default_response": None if default is ABSENT else default,
        "created_at": now,
        "changed_at": now,
    }
