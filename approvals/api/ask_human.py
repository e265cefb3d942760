"""AgentForge's `ask-human`: ask a question in its input shape and return the answer in its output shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access.callers import Caller
from approvals.api import asking, exchange
from approvals.api.bodies import idempotency_key, json_object, mark_replayed
from approvals.api.frame import endpoint, thread_of, wait_of
from approvals.api.long_poll import respond_when_ended
from approvals.asking.answers import ABSENT
from approvals.asking.asks import MAX_LABEL, MAX_MESSAGE, MAX_SUGGESTIONS, Ask
from approvals.asking.origins import Origin
from approvals.asking.titles import title_and_message
from approvals.db.canonical_json import MAX_BYTES, NotCanonical, canonical, digest
from approvals.exceptions import Expired, Invalid, NotFound, RequestCancelled
from approvals.models import ApprovalRequest
from approvals.states import ASK_HUMAN, Kind, Priority, Verdict
from approvals.text.translation import translated

#: Seconds that one HTTP request may wait for an answer; afterwards, the client polls the outcome.
MAX_WAIT = 600
#: Longer timeouts are refused: datetime could not represent their deadlines.
MAX_TIMEOUT_DAYS = 36_500
MAX_TIMEOUT = MAX_TIMEOUT_DAYS * 86_400_000


@endpoint("POST", "ask", counts=True)
def ask(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Ask a person. Responds 202 with the request's id, or with `?wait=SECONDS` the answer if it comes in time.

    Repeating an `Idempotency-Key` does not ask again; it returns the existing question and its answer.
    """
    seconds, thread = wait_of(request, limit=MAX_WAIT), thread_of(request)
    question = parse_question(json_object(request))
    origin = Origin(
        scope=caller.scope,
        digest=digest({**question.input, "?thread": thread}, max_bytes=2 * MAX_BYTES),
        source=ASK_HUMAN,
        thread_id=thread,
        idempotency_key=idempotency_key(request),
    )
    asked = asking.ask(caller, question, origin)
    response = respond_when_ended(request, asked.request, seconds, partial(_respond, request))
    mark_replayed(response, asked.replayed)
    return response


@endpoint("GET", "read")
def outcome(request: HttpRequest, caller: Caller, pk: UUID) -> HttpResponse:
    """Return the outcome of a question in the same shape and with the same `?wait=`."""
    found = queries.get_request_for(caller.user, pk)
    if found.kind != Kind.QUESTION:
        raise NotFound
    return respond_when_ended(request, found, wait_of(request, limit=MAX_WAIT), partial(_respond, request))


def parse_question(body: Mapping[str, Any]) -> Ask:
    """Return the question in a body of AgentForge's shape, ignoring unknown fields. Raises Invalid with an error per field."""
    errors = {name: error for name, check in CHECKS.items() if name in body and (error := check(body[name]))}
    if "question" not in body:
        errors["question"] = _("is missing")
    if errors:
        raise Invalid(_("The question is invalid."), errors)
    title, message = title_and_message(body["question"])
    timeout = body.get("timeout", 0)
    return Ask(
        kind=Kind.QUESTION,
        title=title,
        message=message,
        input={name: body[name] for name in CHECKS if name in body},
        response_schema={"type": "string"},
        context=body.get("context"),
        priority=Priority(body.get("priority", Priority.NORMAL)),
        deadline_at=timezone.now() + timedelta(milliseconds=timeout) if timeout > 0 else None,
        default_response=body.get("defaultResponse", ABSENT),
        suggestions=body.get("suggestions", ()),
    )


def _text_error(value: Any, *, longest: int = MAX_MESSAGE) -> str:
    if not isinstance(value, str):
        return _("is not text")
    if len(value) > longest:
        return _("is longer than %(limit)s characters") % {"limit": f"{longest:,}"}
    return _json_error(value)


def _question_error(value: Any) -> str:
    return _("is empty") if value == "" else _text_error(value)


def _context_error(value: Any) -> str:
    return _json_error(value) if isinstance(value, dict) else _("is not a JSON object")


def _priority_error(value: Any) -> str:
    known = isinstance(value, str) and value in Priority.values
    return "" if known else _("must be one of %(names)s") % {"names": ", ".join(Priority.values)}


def _timeout_error(value: Any) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return _("must be a number of milliseconds")
    if not 0 <= value <= MAX_TIMEOUT:
        words = _("must be between 0 (none) and %(limit)s ms (%(days)s days)")
        return words % {"limit": MAX_TIMEOUT, "days": MAX_TIMEOUT_DAYS}
    return ""


def _suggestions_error(value: Any) -> str:
    if not isinstance(value, list):
        return _("must be a list of texts")
    if len(value) > MAX_SUGGESTIONS:
        return _("has more than %(limit)s items") % {"limit": MAX_SUGGESTIONS}
    return next((f"{place}: {error}" for place, one in enumerate(value) if (error := _label_error(one))), "")


def _label_error(value: Any) -> str:
    return _text_error(value, longest=MAX_LABEL)


def _json_error(value: Any) -> str:
    try:
        canonical(value)
    except NotCanonical as error:
        return translated(error)
    return ""


#: AgentForge's fields: each check returns what is wrong with a value, or "". null is never valid.
CHECKS: Mapping[str, Callable[[Any], str]] = {
    "question": _question_error,
    "context": _context_error,
    "priority": _priority_error,
    "timeout": _timeout_error,
    "defaultResponse": _text_error,
    "suggestions": _suggestions_error,
}


def _respond(request: HttpRequest, asked: ApprovalRequest) -> HttpResponse:
    """Return 202 while the question is pending and 200 with the answer. Raises Expired and RequestCancelled."""
    if asked.pending:
        return _accepted(request, asked)
    decision, ended = asked.decision, exchange.ended(asked)
    if decision.verdict == Verdict.CANCEL:
        raise RequestCancelled(decision)
    if exchange.error_of(exchange.asked(asked), ended) is not None:
        raise Expired(decision)
    requested, responded = exchange.ms(asked.created_at), exchange.ms(decision.decided_at)
    metadata = {
        "requestId": str(asked.pk),
        "requestedAt": requested,
        "respondedAt": responded,
        "duration": responded - requested,
        "timedOut": decision.verdict == Verdict.EXPIRE,
        "priority": asked.priority,
    }
    return JsonResponse({"response": exchange.response_of(ended), "metadata": metadata})


def _accepted(request: HttpRequest, asked: ApprovalRequest) -> HttpResponse:
    body = {
        "requestId": str(asked.pk),
        "status": asked.status,
        "requestedAt": exchange.ms(asked.created_at),
        "priority": asked.priority,
        "url": asked.public_url,
    }
    where = {"Location": reverse("desk_api:ask-human-outcome", args=[asked.pk])}
    return JsonResponse(body, status=HTTPStatus.ACCEPTED, headers=where)
