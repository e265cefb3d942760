"""Requests over REST: ask, list, read, wait, decide, cancel, and report results."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Header, Query, Router
from ninja.responses import Status as Reply
from pydantic import Field

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.api import requests
from approvals.api.bodies import (
    KEY_PATTERN,
    MAX_KEY,
    Document,
    Moment,
    Name,
    Short,
    WorkflowId,
    mark_replayed,
)
from approvals.api.long_poll import respond_when_ended
from approvals.api.outcomes import ReadRequest, edited_by_caller, for_caller
from approvals.api.requests import NewRequest, ask_from
from approvals.api.rest.bodies import NewCancel, NewDecision, NewResult
from approvals.api.rest.documents import (
    RequestDocument,
    RequestPage,
    ResultDocument,
    briefs,
    document,
)
from approvals.api.rest.operations import Bearer, JsonBody, operation, problems
from approvals.api.rest.paging import Limit, PageCursor, place_after
from approvals.asking.answers import ABSENT, Answer
from approvals.asking.origins import Origin
from approvals.db.cursors import take_page
from approvals.exceptions import Invalid
from approvals.states import Door, Kind, Priority, Status, Verdict, verdict_from

router = Router(tags=["Requests"])

MAX_WAIT = 60

IdempotencyKey = Annotated[
    str | None,
    Header(
        None,
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY,
        pattern=KEY_PATTERN,
        description="Your id of this call. Sending it again returns the same request.",
    ),
]


class ListParameters(Document):
    status: Status | None = None
    """Only requests with this status."""
    kind: Kind | None = None
    """Only requests of this kind."""
    tool: Short | None = None
    """Only requests for this tool."""
    workflow: WorkflowId | None = None
    """Only requests of your workflow with this id."""
    thread: Name | None = None
    """Only requests of this conversation."""
    priority: Priority | None = None
    """Only requests with this priority."""
    text: Name | None = Field(
        None, description="Words in the title, message, input, context or comments."
    )
    created_from: Moment | None = None
    """Created at this moment or later."""
    created_until: Moment | None = None
    """Created at this moment or earlier."""
    cursor: PageCursor = None
    limit: Limit = 50


class WaitParameter(Document):
    wait: int = Field(
        0, ge=0, le=MAX_WAIT, description="Seconds to wait for the decision."
    )


@router.post(
    "/requests",
    response={201: RequestDocument, 200: RequestDocument},
    summary="Ask a person",
    auth=Bearer(counts=True),
    openapi_extra=problems(400, 409, 413, 415, 429),
)
@operation("ask")
def create_request(
    caller: Caller,
    sent: Annotated[NewRequest, JsonBody(...)],
    idempotency_key: IdempotencyKey = None,
) -> HttpResponse:
    """Needs the scope `ask`. Repeating an `Idempotency-Key` or a `tool_call_id` returns the existing request, with 200 and
    `Idempotent-Replayed: true`. Without `workflow_id`, the request gets a workflow of its own, which ends with it.
    """
    if sent.callback_url is not None and caller.key is None:
        raise Invalid(
            _("A callback must be signed, which needs an API key."),
            {
                "callback_url": _(
                    "needs an API key, whose webhook secret signs the callback"
                )
            },
        )
    origin = Origin(
        scope=caller.scope,
        digest=sent.digest(),
        workflow=sent.workflow_id or "",
        workflow_title=sent.workflow_title or "",
        thread_id=sent.thread_id,
        agent=caller.agent or sent.agent,
        idempotency_key=idempotency_key,
        resume_state=sent.resume_state,
    )
    outcome = requests.ask(caller, ask_from(sent), origin)
    status = 200 if outcome.replayed else 201
    return _answer(
        ReadRequest(outcome.request),
        status=status,
        replayed=outcome.replayed,
        warnings=outcome.warnings,
    )


@router.get(
    "/requests", response=RequestPage, summary="List requests", openapi_extra=problems()
)
@operation("read", query=ListParameters)
def list_requests(
    caller: Caller, filters: Annotated[ListParameters, Query(...)]
) -> RequestPage:
    """Needs the scope `read`. Returns the requests that the key's user may see, newest first."""
    after = place_after(filters.cursor, queries.RequestCursor.parse)
    matching = queries.matching_requests_for(
        caller.standing,
        text=filters.text,
        after=after,
        status=filters.status,
        kind=filters.kind,
        canonical_tool=filters.tool,
        priority=filters.priority,
        workflow__key=filters.workflow,
        workflow__thread_id=filters.thread,
        created_at__gte=filters.created_from,
        created_at__lte=filters.created_until,
    )
    shown, more = take_page(matching, filters.limit)
    last = queries.RequestCursor(shown[-1].created_at, shown[-1].pk) if more else None
    return RequestPage(items=briefs(shown), next=str(last) if last else None)


@router.get(
    "/requests/{uuid:request_id}",
    response=RequestDocument,
    summary="Get a request, or wait for its decision",
    openapi_extra=problems(404),
)
@operation("read", query=WaitParameter)
def get_request(
    caller: Caller,
    request: HttpRequest,
    request_id: UUID,
    query: Annotated[WaitParameter, Query(...)],
) -> HttpResponse:
    """Needs the scope `read`. With `wait`, responds when the request has ended, or after that many seconds. Check `status`,
    and call again while it is `pending`.
    """
    return respond_when_ended(request, caller, request_id, query.wait, _answer)


@router.post(
    "/requests/{uuid:request_id}/decision",
    response=RequestDocument,
    summary="Decide a request",
    openapi_extra=problems(400, 404, 409, 410, 413, 415, 503),
)
@operation("decide")
def decide_request(
    caller: Caller, request_id: UUID, sent: Annotated[NewDecision, JsonBody(...)]
) -> HttpResponse:
    """Needs the scope `decide`, and a user who may decide. Refused with 403 and the `url` of the request's page: requests that
    a key of the same user asked (`asked_by_own_key`), and critical ones (`decide_on_page`). The first verdict wins: 409 says
    who gave it, 410 that the deadline has passed, and both contain the `decision`. If the same key repeats its verdict, the
    response is 200 with `Idempotent-Replayed`. With `grant`, which needs the scope `grant` too, equal calls run without asking
    from then on; it is refused with 422 if the tool or its settings do not allow it.

    If several people decide the request, this is the user's vote: the request may still be `pending`, and `votes` says who is
    missing. A changed vote replaces the earlier one. An `edit` proposes its input to all; from then on a vote needs the
    `input_digest` of `votes.proposal`.
    """
    if sent.grant is not None:
        caller.require("grant")
    verdict = verdict_from(sent.verdict)
    assert verdict is not None, "the check of the body accepts no other verdict"
    # Null can be the answer to a question. With any other verdict it means no answer.
    has_answer = "answer" in sent.model_fields_set and (
        verdict == Verdict.RESPOND or sent.answer is not None
    )
    answer = Answer(
        verdict,
        sent.comment,
        edited_input=ABSENT
        if sent.edited_input is None
        else edited_by_caller(caller, request_id, sent.edited_input),
        answer=sent.answer if has_answer else ABSENT,
        grant=None if sent.grant is None else sent.grant.terms,
        break_glass=sent.break_glass,
    )
    outcome = actions.decide(
        request_id,
        answer,
        by=caller.actor,
        via=Door.REST,
        shown_digest=sent.input_digest,
    )
    return _answer(for_caller(caller, outcome.request), replayed=outcome.replayed)


@router.post(
    "/requests/{uuid:request_id}/cancel",
    response=RequestDocument,
    summary="Cancel a request",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
@operation("ask")
def cancel_request(
    caller: Caller, request_id: UUID, sent: Annotated[NewCancel, JsonBody(...)]
) -> HttpResponse:
    """Needs the scope `ask`. After that, no one can answer the request."""
    outcome = actions.cancel(
        request_id, by=caller.actor, via=Door.REST, comment=sent.comment
    )
    return _answer(for_caller(caller, outcome.request))


@router.post(
    "/requests/{uuid:request_id}/result",
    response={201: ResultDocument, 200: ResultDocument},
    summary="Report the result of an approved call",
    openapi_extra=problems(400, 404, 409, 413, 415),
)
@operation("ask")
def report_result(
    caller: Caller,
    request_id: UUID,
    sent: Annotated[NewResult, JsonBody(...)],
    response: HttpResponse,
) -> Reply[ResultDocument]:
    """Needs the scope `ask`, and the key that asked. The report becomes the only `tool.result` of the call in the audit log.
    409 `other_input` if the input that ran is not the approved one: the audit log and the page of the request then say that
    something else ran, and the result can still be reported.
    """
    # Null can be an output. With an error it means no output.
    has_output = "output" in sent.model_fields_set and (
        sent.output is not None or sent.error is None
    )
    output = sent.output if has_output else ABSENT
    if (output is ABSENT) == (sent.error is None):
        raise Invalid(
            _("Send either an output or an error."),
            {"output": _("send this or `error`, not both")},
        )
    result = actions.ReportedResult(
        input_digest=sent.input_digest, output=output, error_text=sent.error or ""
    )
    outcome = actions.report_result(
        request_id, result, scope=caller.scope, by=caller.actor, via=Door.REST
    )
    mark_replayed(response, outcome.replayed)
    state: Literal["succeeded", "failed"] = (
        "failed" if output is ABSENT else "succeeded"
    )
    call = outcome.request.tool_call_id or str(request_id)
    return Reply(
        200 if outcome.replayed else 201,
        ResultDocument(request_id=str(request_id), tool_call_id=call, state=state),
    )


def _answer(
    request: ReadRequest,
    *,
    status: int = 200,
    replayed: bool = False,
    warnings: list[str] | None = None,
) -> HttpResponse:
    """Return the document of a request; ninja would validate and copy it twice more."""
    body = document(request, warnings=warnings).model_dump_json()
    response = HttpResponse(
        body, status=status, content_type="application/json; charset=utf-8"
    )
    mark_replayed(response, replayed)
    return response
