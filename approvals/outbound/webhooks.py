"""Events to webhooks: what is sent, signed as Standard Webhooks, and what its answer means.

A registered endpoint is told what the functions of apps are told, without a person's words; inputs, comments and answers
come with it where an admin says so. A request's own `callback_url` is told of its end, and the decision is the point of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.exceptions import outcome_of
from approvals.models import ApprovalRequest, OutboxEvent
from approvals.models.keys import ApiKey
from approvals.models.subscriptions import WebhookEndpoint
from approvals.outbound import http_post, outbox
from approvals.outbound.delivery_lanes import Job
from approvals.outbound.signing import NoSecret, secrets_of, signed_headers
from approvals.runtime.canonical import utc
from approvals.states import Channel

#: One try takes `posting.SECONDS` at most; after this, another process may try as well.
LEASE = timedelta(minutes=1)
USER_AGENT = "Pausepoint-Webhooks"


class Unsendable(Exception):
    """It can never arrive; the message says why."""


def due_jobs(shut: Iterable[str]) -> list[Job]:
    """Deliveries that may begin, the longest due first, none on a lane that is shut."""
    found = outbox.heads(Channel.WEBHOOK).exclude(lane__in=list(shut))[: outbox.BATCH]
    return [_job(row) for row in found]


def _job(row: OutboxEvent) -> Job:
    return Job(row.lane, lambda: outbox.claimed(row, LEASE), lambda: deliver(row))


def deliver(row: OutboxEvent) -> bool:
    """Send one claimed event and note what became of it; False where its host could not be reached."""
    try:
        url, texts, body = _letter(row)
    except Unsendable as error:
        outbox.give_up(row, str(error))
        return True
    except NoSecret as error:
        outbox.failed(row, str(error))
        return True
    connections.close_all()  # nothing of the database waits with the network
    headers = signed_headers(str(row.event_id), body, texts, at=timezone.now())
    headers |= {"Content-Type": "application/json", "User-Agent": USER_AGENT}
    try:
        allowed = settings.HITL_WEBHOOK_ALLOW_PRIVATE
        status = http_post.post(url, body.encode(), headers, allow_private=allowed, seconds=http_post.SECONDS)
    except http_post.Undelivered as error:
        outbox.failed(row, str(error))
        return False
    if 200 <= status < 300:
        outbox.delivered(row)
    else:
        outbox.failed(row, _refusal(status))
    return True


def _refusal(status: int) -> str:
    if 300 <= status < 400:
        return _("answered %(status)s; redirects are not followed") % {"status": status}
    return _("answered %(status)s") % {"status": status}


def _letter(row: OutboxEvent) -> tuple[str, list[str], str]:
    """Where to, signed with what, and the body. Raises Unsendable or NoSecret."""
    kind, _colon, rest = row.target.partition(":")
    if kind == "callback":
        return rest, secrets_of(_asking_key(row)), body_of(row, _decision(row))
    endpoint = WebhookEndpoint.objects.filter(pk=rest).first()
    if endpoint is None or not endpoint.active:
        raise Unsendable(_("the endpoint was deleted") if endpoint is None else _("the endpoint is not active"))
    details = _everything(row) if endpoint.include_payload else {}
    return endpoint.url, secrets_of(endpoint), body_of(row, details)


def _asking_key(row: OutboxEvent) -> ApiKey:
    """The key that asked: its secret signs what its requests' addresses are told."""
    request = _request(row)
    scope, _colon, pk = request.scope.partition(":") if request else ("", "", "")
    key = ApiKey.objects.select_related("user").filter(pk=pk).first() if scope == "key" and pk.isdecimal() else None
    if key is None:
        raise Unsendable(_("the request was not made with an API key, so there is no secret to sign with"))
    if key.revoked_at is not None or not key.user.is_active:
        # Whoever stole it may have named the address, too.
        raise Unsendable(_("the request's API key was revoked, or its user is no longer active"))
    return key


def body_of(row: OutboxEvent, details: dict[str, Any]) -> str:
    """The JSON text: `{"type", "id", "timestamp", "workflow", "sequence", "data"}`. The same at every try."""
    told = {name: value for name, value in row.payload.items() if name != "comment"}
    body = {
        "type": row.name,
        "id": str(row.event_id),
        "timestamp": utc(row.created_at),
        "workflow": row.stream,
        "sequence": row.sequence,
        "data": told | details,
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _request(row: OutboxEvent) -> ApprovalRequest | None:
    request_id = row.payload.get("request_id")
    return ApprovalRequest.objects.select_related("decision").filter(pk=request_id).first() if request_id else None


def _decision(row: OutboxEvent) -> dict[str, Any]:
    """How a request ended, whole. Empty where this tells of no end."""
    request = _request(row)
    if request is None or row.name not in outbox.FINAL_EVENTS:
        return {}
    decision = request.decision
    said = ("comment", "answer", "edited_input", "approved_digest")
    return {"decision": outcome_of(decision) | {name: getattr(decision, name) for name in said}}


def _everything(row: OutboxEvent) -> dict[str, Any]:
    request = _request(row)
    asked = {"request": {"message": request.message, "input": request.input}} if request else {}
    return asked | _decision(row)
