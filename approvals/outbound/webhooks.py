"""Deliver events to webhooks, signed as Standard Webhooks with secrets that are derived from SECRET_KEY.

A registered endpoint gets the same events as handlers, without comments; in the admin, it can be given inputs, comments and
answers. The `callback_url` of a request gets its end, with the full decision.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connections
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from standardwebhooks import Webhook

from approvals import http_post
from approvals.asking.secrets import masked_column
from approvals.db.canonical_json import utc
from approvals.db.cursors import number_from
from approvals.exceptions import outcome_of
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest, OutboxEvent
from approvals.models.keys import ApiKey
from approvals.models.subscriptions import SigningSecret, WebhookEndpoint
from approvals.outbound import outbox
from approvals.outbound.delivery_lanes import Job
from approvals.states import Channel

#: One attempt takes at most `http_post.SECONDS`; after this lease another process may try.
LEASE = timedelta(minutes=1)
USER_AGENT = "Pausepoint-Webhooks"
Owner = WebhookEndpoint | ApiKey


class NoSecret(Exception):
    """There is no secret to sign with; the message says how to fix it."""


class Unsendable(Exception):
    """The event can never be delivered; the message gives the reason."""


def due_jobs(shut: Iterable[str]) -> list[Job]:
    """Return due deliveries, longest due first, excluding shut lanes."""
    rows = outbox.head_events(Channel.WEBHOOK).exclude(lane__in=list(shut))[
        : outbox.BATCH
    ]
    return [_job(row) for row in rows]


def _job(row: OutboxEvent) -> Job:
    return Job(row.lane, lambda: outbox.claim_event(row, LEASE), lambda: deliver(row))


def deliver(row: OutboxEvent) -> bool:
    """Send one claimed event and record the outcome; return False if its host could not be reached."""
    try:
        url, texts, body = _prepare(row)
    except Unsendable as error:
        outbox.give_up(row, str(error))
        return True
    except NoSecret as error:
        outbox.record_failure(row, str(error))
        return True
    connections.close_all()  # No database connection is held during the network call.
    headers = signed_headers(str(row.event_id), body, texts, at=timezone.now())
    headers |= {"Content-Type": "application/json", "User-Agent": USER_AGENT}
    headers |= row.payload.get("trace", {})
    try:
        allowed = settings.HITL_WEBHOOK_ALLOW_PRIVATE
        status = http_post.post(
            url,
            body.encode(),
            headers,
            allow_private=allowed,
            seconds=http_post.SECONDS,
        )
    except http_post.Undelivered as error:
        outbox.record_failure(row, str(error))
        return False
    if 200 <= status < 300:
        outbox.mark_delivered(row)
    else:
        outbox.record_failure(row, _refusal(status))
    return True


def _refusal(status: int) -> str:
    if 300 <= status < 400:
        return _("answered %(status)s; redirects are not followed") % {"status": status}
    return _("answered %(status)s") % {"status": status}


def _prepare(row: OutboxEvent) -> tuple[str, list[str], str]:
    """Return the address, the secrets and the body. Raise Unsendable or NoSecret."""
    kind, _colon, rest = row.target.partition(":")
    if kind == "callback":
        return (
            rest,
            secrets_of(_asking_key(row)),
            body_of(row, _decision(row, _request(row))),
        )
    endpoint = WebhookEndpoint.objects.filter(pk=rest).first()
    if endpoint is None or not endpoint.active:
        raise Unsendable(
            _("the endpoint was deleted")
            if endpoint is None
            else _("the endpoint is not active")
        )
    details = _details(row) if endpoint.include_payload else {}
    return endpoint.url, secrets_of(endpoint), body_of(row, details)


def _asking_key(row: OutboxEvent) -> ApiKey:
    """Return the API key of the requester, whose secret signs the callback. Raise Unsendable."""
    request = _request(row)
    scope, _colon, pk = request.scope.partition(":") if request else ("", "", "")
    key = (
        ApiKey.objects.select_related("user").filter(pk=number_from(pk) or 0).first()
        if scope == "key"
        else None
    )
    if key is None:
        raise Unsendable(
            _(
                "the request was not made with an API key, so there is no secret to sign with"
            )
        )
    if key.revoked_at is not None or not key.user.is_active:
        # The address may have been set by a thief of the key.
        raise Unsendable(
            _("the request's API key was revoked, or its user is no longer active")
        )
    return key


def body_of(row: OutboxEvent, details: JsonDict) -> str:
    """Return the JSON body: `{"type", "id", "timestamp", "workflow", "sequence", "data"}`; the same at every attempt."""
    data = {name: value for name, value in row.payload.items() if name != "comment"}
    body = {
        "type": row.name,
        "id": str(row.event_id),
        "timestamp": utc(row.created_at),
        "workflow": row.stream,
        "sequence": row.sequence,
        "data": data | details,
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _request(row: OutboxEvent) -> ApprovalRequest | None:
    request_id = row.payload.get("request_id")
    return (
        ApprovalRequest.objects.select_related("decision").filter(pk=request_id).first()
        if request_id
        else None
    )


def _decision(
    row: OutboxEvent, request: ApprovalRequest | None, *, masks: bool = False
) -> JsonDict:
    """Return the full decision of the request, with masks if asked for; empty if the event is not about an end."""
    if request is None or row.name not in outbox.FINAL_EVENTS:
        return {}
    decision = request.decision
    names = ("comment", "answer", "edited_input")
    if masks:
        values = {name: masked_column(request, name, decision) for name in names}
        more: JsonDict = {"approved_digest": decision.approved_digest}
    else:
        values = {name: getattr(decision, name) for name in names}
        more = {
            "approved_digest": decision.approved_digest,
            "digest_salt": decision.digest_salt or None,
        }
    return {"decision": outcome_of(decision) | values | more}


def _details(row: OutboxEvent) -> JsonDict:
    """Return the input and decision for an endpoint, with the same masks as for people."""
    request = _request(row)
    if request is None:
        return {}
    shown = {name: masked_column(request, name) for name in ("message", "input")}
    return {"request": shown} | _decision(row, request, masks=True)


def secrets_of(owner: Owner) -> list[str]:
    """Return the current signing secrets, newest first. Raise NoSecret if there is none, or if SECRET_KEY has changed."""
    texts = []
    for secret in valid_secrets(owner):
        text = secret_text(secret.nonce)
        if fingerprint_of(text) != secret.fingerprint:
            raise NoSecret(
                _(
                    "the signing secret was created with a different SECRET_KEY; create a new signing secret"
                )
            )
        texts.append(text)
    if not texts:
        raise NoSecret(
            _(
                "there is no signing secret; create one in the admin or with `manage.py webhooksecret`"
            )
        )
    return texts


def signed_headers(
    message_id: str, body: str, texts: Iterable[str], *, at: datetime
) -> dict[str, str]:
    """Return the Standard Webhooks headers, with one signature for each secret."""
    # The library ignores the time zone and reads the wall-clock time as UTC.
    moment = at.astimezone(UTC)
    signatures = [Webhook(text).sign(message_id, moment, body) for text in texts]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def valid_secrets(owner: Owner) -> QuerySet[SigningSecret]:
    """Return the secrets that have not expired, newest first."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return SigningSecret.objects.filter(unexpired, **owner_column(owner)).order_by(
        "-pk"
    )


def owner_column(owner: Owner) -> dict[str, Owner]:
    """Return the foreign key column of a secret's owner, and its value."""
    return {"api_key" if isinstance(owner, ApiKey) else "endpoint": owner}


def secret_text(nonce: str) -> str:
    """Return the secret, `whsec_…`, derived from a stored nonce."""
    derived = salted_hmac(
        "approvals.webhook-secret", nonce, algorithm="sha256"
    ).digest()
    return "whsec_" + base64.b64encode(derived).decode()


def fingerprint_of(text: str) -> str:
    """Return the stored fingerprint of a secret."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
