"""Open workflows and create requests, each only once, however often a client repeats its call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import CharField, IntegerField, Q
from django.utils.translation import gettext as _

from approvals.actions import attachments, repeating, rows
from approvals.actions.asks.facts import read_facts
from approvals.actions.asks.outcome import outcome_of
from approvals.actions.asks.writes import GrantLost, write
from approvals.actions.locking import lock_known_workflow, lock_workflow
from approvals.actions.policy.undecidable import tell_if_undecidable
from approvals.actions.resuming import keep_state
from approvals.asking.asks import MAX_TITLE, Ask
from approvals.asking.digests import input_digest
from approvals.asking.origins import EqualCalls, Identity, Origin, key_of_calls
from approvals.db import transactions
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_transaction
from approvals.exceptions import Conflict, Undecidable
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor, KeyActor, person_behind
from approvals.queries.requests import (
    find_call,
    latest_of_calls,
    whole_requests,
    with_report,
)
from approvals.text.text import visible


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """A request; `replayed` if it already existed, because its client had asked the same before.

    `warnings` are those of `queries.policy.deciders`; None if it is `replayed`.
    """

    request: ApprovalRequest
    replayed: bool = False
    warnings: list[str] | None = None


def open_workflow(
    *,
    scope: str,
    key: str,
    title: str,
    source: str,
    owner: User,
    agent: str = "",
    thread_id: str = "",
    thread_url: str = "",
    new: bool = False,
) -> Workflow:
    """Return the workflow of (scope, key), created on first use.

    With `new`, the caller knows that there is none; its first request stores it.
    """
    more = {
        "title": visible(title)[:MAX_TITLE],
        "source": source,
        "owner": owner,
        "agent": agent,
        "thread_id": thread_id,
        "thread_url": thread_url,
    }
    workflow = Workflow(scope=scope, key=key, **more)
    if new:
        return workflow
    known = _NAMED.first(scope=scope, key=key)
    if known is None and rows.OPEN_WORKFLOW.save(workflow):
        return workflow
    return known or Workflow.objects.get(scope=scope, key=key)


def request_approval(
    workflow: Workflow,
    ask: Ask,
    *,
    requested_by: User,
    key_made_by_id: int | None = None,
) -> ApprovalRequest:
    """Create a request and suspend its workflow, or end the request at once if a grant covers it.

    `key_made_by_id` is the creator of the key that started the work, if that is someone other than its owner. Repeating the same
    call (scope, tool_call_id, kind, attempt) returns the existing request, and raises Conflict if its input differs. Raise
    Invalid if the ask is out of bounds, or CannotBeAssigned.
    """
    ask.check()
    with in_transaction():
        if workflow.pk is None:
            # If the call were a repeat, its workflow would be stored.
            return _store_and_warn(
                workflow, ask, by=requested_by, key_made_by_id=key_made_by_id
            )
        workflow = lock_known_workflow(workflow.pk)
        known = _same_call(workflow.scope, ask)
        if known is None:
            return _store_and_warn(
                workflow, ask, by=requested_by, key_made_by_id=key_made_by_id
            )
        if known.input_digest != input_digest(
            ask.input, [file.approved for file in ask.files], known.digest_salt
        ):
            raise Conflict(
                _("This tool call already has a request with a different input."),
                str(known.pk),
            )
    return known


def _store_and_warn(
    workflow: Workflow, ask: Ask, *, by: User, key_made_by_id: int | None
) -> ApprovalRequest:
    request = store_request(
        workflow, ask, Identity(), by=by, key_made_by_id=key_made_by_id, alone=False
    )
    _warnings_of(request, workflow)
    return request


def ask_for_client(ask: Ask, origin: Origin, *, by: Actor) -> AskOutcome:
    """Create a client's request, with its workflow, once per Idempotency-Key and per tool call.

    Raise Conflict if the same key or tool call came with other content, or if the workflow has ended. Raise Invalid,
    CannotBeAssigned, or Undecidable if `HITL_REFUSE_UNDECIDABLE` is set.
    """
    ask.check()
    if not ask.attachments:
        return _ask_until_alone(ask, origin, by=by)
    # Find a repeated request before its files are stored a second time.
    if origin.calls is None and (known := _known(ask, origin)) is not None:
        return AskOutcome(known, replayed=True)
    with attachments.stored(ask.attachments):
        return _ask_until_alone(ask, origin, by=by)


def _ask_until_alone(ask: Ask, origin: Origin, *, by: Actor) -> AskOutcome:
    for attempt in range(2):
        try:
            return _ask_once(ask, origin, by=by, again=attempt > 0)
        except IntegrityError:
            # Another transaction created the same workflow or request at the same moment; now it is visible.
            continue
    return _ask_once(ask, origin, by=by, again=True)


def _ask_once(ask: Ask, origin: Origin, *, by: Actor, again: bool) -> AskOutcome:
    """Find the request or create it. Raise IntegrityError if another transaction was faster; on a retry, pass `again`."""
    with transaction.atomic():
        if ask.tool_call_id is not None:
            # No constraint prevents an approval and a question for the same call, so both take this lock.
            transactions.lock_name(f"{origin.scope} {ask.tool_call_id}")
        if origin.calls is not None:
            return _ask_in_series(ask, origin, origin.calls, by=by, again=again)
        known = _known(ask, origin)
        return AskOutcome(known, replayed=True) if known else _ask(ask, origin, by=by)


def _ask_in_series(
    ask: Ask, origin: Origin, calls: EqualCalls, *, by: Actor, again: bool
) -> AskOutcome:
    """Return the latest request of equal calls if this call repeats it, or else create the next one of the series."""
    latest = latest_of_calls(origin.scope, calls.key)
    same = (
        None if latest is None else repeating.same_content(latest, calls, origin.digest)
    )
    if same is not None and repeating.is_repeat(same, calls):
        return AskOutcome(same, replayed=True)
    key, call_id = repeating.next_ids(calls, latest, ask.tool_call_id)
    if again and call_id is not None and find_call(origin.scope, call_id) is not None:
        # It is numbered in another series of the client, or was chosen by the client. The key is not used elsewhere.
        call_id = key_of_calls("call:", key)
    return _ask(
        replace(ask, tool_call_id=call_id), replace(origin, idempotency_key=key), by=by
    )


def _ask(ask: Ask, origin: Origin, *, by: Actor) -> AskOutcome:
    request_id = uuid4()
    workflow = (
        lock_workflow(scope=origin.scope, key=origin.workflow)
        if origin.workflow
        else None
    )
    if workflow is None:
        workflow = open_workflow(
            scope=origin.scope,
            key=origin.workflow or str(request_id),
            # A workflow created for one request gets its title.
            title=origin.workflow_title or origin.workflow or ask.title,
            source=origin.source,
            owner=person_behind(by),
            agent=origin.agent,
            thread_id=origin.thread_id,
            new=True,
        )
    elif isinstance(by, KeyActor) and by.bearer and workflow.agent != by.bearer.agent:
        raise Conflict(
            _("This workflow belongs to another agent. Use another `workflow_id`.")
        )
    elif origin.workflow_title and workflow.title == workflow.key:
        # The first title that its client gives the workflow.
        workflow.title = visible(origin.workflow_title)[:MAX_TITLE]
        workflow.save(update_fields=["title"])
    # Of equal calls without ids, one consumes the decision; none has yet.
    taker = "" if origin.calls is not None and not origin.calls.named else None
    identity = Identity(
        id=request_id,
        idempotency_key=origin.idempotency_key,
        ask_digest=origin.digest,
        taker=taker,
    )
    request = store_request(workflow, ask, identity, by=by)
    if origin.resume_state is not None:
        keep_state(request, origin.resume_state)
    warnings = _warnings_of(request, workflow)
    if warnings and settings.HITL_REFUSE_UNDECIDABLE:
        raise Undecidable(" ".join([*warnings, _("The request was not created.")]))
    return AskOutcome(request, warnings=warnings)


def store_request(
    workflow: Workflow,
    ask: Ask,
    identity: Identity,
    *,
    by: Actor,
    key_made_by_id: int | None = None,
    alone: bool = True,
) -> ApprovalRequest:
    """Store a new request in its locked workflow: read the facts, evaluate them, write the outcome.

    Writes, in this order, by outcome (`asks.writes`):

    - People are asked: the workflow, the request, its search words, the record, the events, open pages, the first reminder.
    - A rule or an earlier rejection decides: the request with its decision, the record and the events, and no more.
    - A grant approves: the use of the grant, and then the request with its decision, its search words, the record, the events
      and open pages. People are not notified, because the request never waits.
    - Refused: nothing. Raise Conflict if the workflow has ended, or CannotBeAssigned.

    Whether a grant is still usable is known only when its use is written. If it is not, nothing has been stored, and the outcome
    is evaluated again without it. `alone`: the transaction stores no other request.
    """
    facts = read_facts(
        workflow, ask, identity, by=by, key_made_by_id=key_made_by_id, alone=alone
    )
    written = write(facts, outcome_of(facts))
    while isinstance(written, GrantLost):
        facts = replace(facts, policy=facts.policy.without(written.grant))
        written = write(facts, outcome_of(facts))
    return written


def _warnings_of(request: ApprovalRequest, workflow: Workflow) -> list[str]:
    """Return warnings about the deciders of a new request, and notify administrators of them."""
    if (
        request.scoped_upto is None
        and request.control is None
        and request.terms is None
    ):
        # Anyone who decides requests may decide this one.
        return []
    return tell_if_undecidable(request, workflow)


#: The requests of a client by Idempotency-Key or tool call, oldest first; null is equal to nothing.
_SAME: Prepared[ApprovalRequest] = Prepared(
    lambda: (
        with_report(whole_requests())
        .filter(
            Q(idempotency_key=Parameter("idempotency_key", CharField()))
            | Q(tool_call_id=Parameter("tool_call_id", CharField())),
            scope=Parameter("scope", CharField()),
        )
        .order_by("created_at")
    )
)


def _known(ask: Ask, origin: Origin) -> ApprovalRequest | None:
    """Return the request if the client has made it before. Raise Conflict if its content differs."""
    if origin.idempotency_key is None and ask.tool_call_id is None:
        return None
    requests = _SAME.all(
        scope=origin.scope,
        idempotency_key=origin.idempotency_key,
        tool_call_id=ask.tool_call_id,
    )
    by_key = next(
        (
            row
            for row in requests
            if row.idempotency_key == origin.idempotency_key is not None
        ),
        None,
    )
    # A call makes only one request, of whatever kind.
    known = by_key or next(iter(requests), None)
    if known is not None and known.ask_digest != origin.digest:
        name = "Idempotency-Key" if by_key else "tool_call_id"
        raise repeating.used_before(name, known)
    return known


#: The request about a call.
_SAME_CALL: Prepared[ApprovalRequest] = Prepared(
    lambda: ApprovalRequest.objects.select_related("workflow").filter(
        scope=Parameter("scope", CharField()),
        tool_call_id=Parameter("tool_call_id", CharField()),
        kind=Parameter("kind", CharField()),
        attempt=Parameter("attempt", IntegerField()),
    )
)
#: A workflow by its client's name.
_NAMED: Prepared[Workflow] = Prepared(
    lambda: Workflow.objects.filter(
        scope=Parameter("scope", CharField()), key=Parameter("key", CharField())
    )
)


def _same_call(scope: str, ask: Ask) -> ApprovalRequest | None:
    if ask.tool_call_id is None:
        return None
    return _SAME_CALL.first(
        scope=scope,
        tool_call_id=ask.tool_call_id,
        kind=ask.kind,
        attempt=ask.attempt,
    )
