"""AgentForge's `ask-human`: ask a question in its input format and return the answer in its output format."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, ClassVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field, PlainValidator
from pydantic_core import ErrorDetails

from approvals.access.callers import Caller
from approvals.api import exchange, requests
from approvals.api.bodies import (
    Body,
    StorableObject,
    StorableText,
    idempotency_key,
    json_object,
    mark_replayed,
)
from approvals.api.frame import endpoint, thread_of, wait_of
from approvals.api.long_poll import read_request, respond_when_ended
from approvals.api.outcomes import ReadRequest
from approvals.asking.answers import ABSENT
from approvals.asking.asks import MAX_LABEL, MAX_MESSAGE, MAX_SUGGESTIONS, Ask
from approvals.asking.origins import Origin
from approvals.asking.titles import title_and_message
from approvals.db.canonical_json import MAX_BYTES, digest
from approvals.exceptions import Expired, NotFound, RequestCancelled
from approvals.models import ApprovalRequest
from approvals.states import ASK_HUMAN, Kind, Priority, Verdict

#: Seconds that one HTTP request may wait for an answer; afterwards, the client polls the outcome.
MAX_WAIT = 600
#: Longer timeouts are rejected: datetime could not represent their deadlines.
MAX_TIMEOUT_DAYS = 36_500
MAX_TIMEOUT = MAX_TIMEOUT_DAYS * 86_400_000


@endpoint("POST", "ask", counts=True)
def ask(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Ask a person. Respond with 202 and the request's id, or with `?wait=SECONDS` the answer if it comes in time.

    Repeating an `Idempotency-Key` does not ask again; it returns the existing question and its answer.
    """
    seconds = wait_of(request, limit=MAX_WAIT)
    thread = thread_of(request)
    question = parse_question(json_object(request))
    origin = Origin(
        scope=caller.scope,
        digest=digest({**question.input, "?thread": thread}, max_bytes=2 * MAX_BYTES),
        source=ASK_HUMAN,
        thread_id=thread,
        agent=caller.agent,
        idempotency_key=idempotency_key(request),
    )
    ask_outcome = requests.ask(caller, question, origin)
    response = respond_when_ended(
        request,
        caller,
        ReadRequest(ask_outcome.request),
        seconds,
        partial(_respond, request),
    )
    mark_replayed(response, ask_outcome.replayed)
    return response


@endpoint("GET", "read")
def outcome(request: HttpRequest, caller: Caller, pk: UUID) -> HttpResponse:
    """Return the outcome of a question in the same format and with the same `?wait=`."""
    seconds = wait_of(request, limit=MAX_WAIT)
    return respond_when_ended(
        request, caller, pk, seconds, partial(_respond, request), read=_read_question
    )


def _read_question(caller: Caller, pk: UUID) -> ReadRequest:
    question = read_request(caller, pk)
    if question.row.kind != Kind.QUESTION:
        raise NotFound
    return question


def _priority(value: Any) -> Priority:
    if value not in Priority.values:
        raise ValueError(
            _("must be one of %(names)s") % {"names": ", ".join(Priority.values)}
        )
    return Priority(value)


def _milliseconds(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(_("must be a number of milliseconds"))
    if not 0 <= value <= MAX_TIMEOUT:
        message = _("must be between 0 (none) and %(limit)s ms (%(days)s days)")
        raise ValueError(message % {"limit": MAX_TIMEOUT, "days": MAX_TIMEOUT_DAYS})
    return value


class Question(Body):
    """AgentForge's fields; null is never valid."""

    refusal = gettext_lazy("The question is invalid.")
    member_errors: ClassVar = {"list_type": gettext_lazy("must be a list of strings")}

    question: Annotated[StorableText, Field(min_length=1, max_length=MAX_MESSAGE)]
    context: StorableObject = Field(default_factory=dict)
    priority: Annotated[Priority, PlainValidator(_priority)] = Priority.NORMAL
    timeout: Annotated[Any, PlainValidator(_milliseconds)] = 0
    default_response: Annotated[StorableText, Field(max_length=MAX_MESSAGE)] = ""
    suggestions: Annotated[
        list[Annotated[StorableText, Field(max_length=MAX_LABEL)]],
        Field(max_length=MAX_SUGGESTIONS),
    ] = Field(default_factory=list)

    @classmethod
    def _named(cls, error: ErrorDetails) -> tuple[str, str]:
        # A suggestion is numbered in the text.
        name, *number = map(str, error["loc"])
        return name, ": ".join([*number, cls._message_of(error)])


#: The client's names of its fields.
FIELDS = tuple(field.alias or name for name, field in Question.model_fields.items())


def parse_question(body: Mapping[str, Any]) -> Ask:
    """Return the question in an AgentForge body, ignoring unknown fields. Raise Invalid with an error per field."""
    sent = Question.read(body)
    title, message = title_and_message(sent.question)
    fields = {name: body[name] for name in FIELDS if name in body}
    return Ask(
        kind=Kind.QUESTION,
        title=title,
        message=message,
        input=fields,
        response_schema={"type": "string"},
        context=fields.get("context"),
        priority=sent.priority,
        deadline_at=timezone.now() + timedelta(milliseconds=sent.timeout)
        if sent.timeout > 0
        else None,
        default_response=fields.get("defaultResponse", ABSENT),
        suggestions=sent.suggestions,
    )


def _respond(request: HttpRequest, read: ReadRequest) -> HttpResponse:
    """Return 202 while the question is pending and 200 with the answer. Raise Expired or RequestCancelled."""
    question = read.row
    if question.pending:
        return _accepted(request, question)
    decision = question.decision
    ended = exchange.ended(read)
    if decision.verdict == Verdict.CANCEL:
        raise RequestCancelled(decision, ended.comment)
    if exchange.error_of(exchange.asked(read), ended) is not None:
        raise Expired(decision)
    requested = exchange.ms(question.created_at)
    responded = exchange.ms(decision.decided_at)
    metadata = {
        "requestId": str(question.pk),
        "requestedAt": requested,
        "respondedAt": responded,
        "duration": responded - requested,
        "timedOut": decision.verdict == Verdict.EXPIRE,
        "priority": question.priority,
    }
    return JsonResponse({"response": exchange.response_of(ended), "metadata": metadata})


def _accepted(request: HttpRequest, question: ApprovalRequest) -> HttpResponse:
    body = {
        "requestId": str(question.pk),
        "status": question.status,
        "requestedAt": exchange.ms(question.created_at),
        "priority": question.priority,
        "url": question.public_url,
    }
    where = {"Location": reverse("desk_api:ask-human-outcome", args=[question.pk])}
    return JsonResponse(body, status=HTTPStatus.ACCEPTED, headers=where)
