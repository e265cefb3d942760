"""Notifications to closed browser pages: encrypted for the browser (RFC 8291), signed for its push service (RFC 8292).

Messages hold the title, tool and agent of a request, never its input.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from functools import cache
from time import time
from urllib.parse import urlsplit

import http_ece
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from py_vapid.jwt import sign

from approvals import http_post
from approvals.models import ApprovalRequest, PushSubscription
from approvals.outbound import messages
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.text.secrets import mask_text

#: The order of the curve P-256; a private key is smaller.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
#: Statuses for a browser that has unsubscribed, or that subscribed with another key of ours.
GONE = frozenset({403, 404, 410})
#: How long, in seconds, a push service keeps a message for an offline browser.
KEPT = 24 * 3600
#: Lifetime of a signature in seconds; at most a day (RFC 8292).
VALID = 12 * 3600
MAX_TITLE = 120
#: With this topic, a newer message replaces an older one in the browser.
TAGS = {
    messages.MENTIONED: "notes",
    messages.ALONE: "alone",
    messages.UNDECIDABLE: "undecidable",
}
#: Sizes of a public key and of a secret in bytes (RFC 8291).
POINT = 65
SECRET = 16
BASE64URL = re.compile(r"[A-Za-z0-9_-]+={0,2}")


@cache
def vapid_key() -> ec.EllipticCurvePrivateKey:
    """Return this installation's key. It is derived from SECRET_KEY, so all processes share it and none is stored."""
    number = (
        int.from_bytes(
            salted_hmac("approvals.push", "vapid", algorithm="sha512").digest()
        )
        % (ORDER - 1)
        + 1
    )
    return ec.derive_private_key(number, ec.SECP256R1())


def is_available() -> bool:
    """Return whether browsers can be notified: push services require a contact, here PUBLIC_URL, with https."""
    return settings.PUBLIC_URL.startswith("https://")


def public_key() -> str:
    """Return the public key in base64url, with which browsers subscribe."""
    public = vapid_key().public_key()
    point = public.public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    return urlsafe_b64encode(point).rstrip(b"=").decode()


def send(
    subscription: PushSubscription,
    requests: Sequence[ApprovalRequest],
    mentions: Sequence[messages.Mention] = (),
) -> int:
    """Send one message and return the status from the push service. Raise Undelivered if it does not respond."""
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        "TTL": str(KEPT),
        **_signature(subscription.endpoint),
    }
    body = _encrypted(subscription, json.dumps(_message(requests, mentions)).encode())
    allowed = settings.HITL_WEBHOOK_ALLOW_PRIVATE
    return http_post.post(
        subscription.endpoint,
        body,
        headers,
        allow_private=allowed,
        seconds=http_post.SECONDS,
    )


def is_public_key(text: str) -> bool:
    """Return whether this is base64url of an uncompressed point on the curve P-256."""
    try:
        point = _decoded(text)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        return False
    return len(point) == POINT


def is_secret(text: str) -> bool:
    """Return whether this is base64url of the right number of bytes for a browser's secret."""
    try:
        return len(_decoded(text)) == SECRET
    except ValueError:
        return False


def _message(
    requests: Sequence[ApprovalRequest], mentions: Sequence[messages.Mention]
) -> dict[str, str]:
    """Return the members that `static/pausepoint/worker.js` shows."""
    first, *others = [*(mention.request for mention in mentions), *requests]
    title_of_first = mask_text(first.title)[:MAX_TITLE]
    if mentions and not others:
        (mention,) = mentions
        address = (
            f"{mention.path}#notes"
            if mention.name == messages.MENTIONED
            else mention.path
        )
        body = (
            gettext("Check the approver scopes.") if mention.hidden else title_of_first
        )
        return {
            "title": mention.title,
            "body": body,
            "url": address,
            "tag": f"{TAGS[mention.name]}-{first.pk}",
        }
    if others:
        # Its first request may have a title that the person may not see.
        shown = [each.request for each in mentions if not each.hidden] + [*requests]
        return {
            "title": messages.counts(requests, mentions),
            "body": mask_text(shown[0].title)[:MAX_TITLE]
            if shown
            else gettext("Check the approver scopes."),
            "url": reverse("approvals:dashboard"),
        }
    ballot = ballot_of(first)
    votes = messages.progress_line(ballot) if ballot is not None else ""
    named = [name for name in (first.tool_name, first.workflow.agent, votes) if name]
    body = " · ".join(named) or gettext("Open it to answer.")
    return {
        "title": title_of_first,
        "body": body,
        "url": first.get_absolute_url(),
        "tag": str(first.pk),
    }


def _encrypted(subscription: PushSubscription, message: bytes) -> bytes:
    own = ec.generate_private_key(ec.SECP256R1())
    encrypted: bytes = http_ece.encrypt(
        message, private_key=own, dh=_decoded(subscription.p256dh), auth_secret=_decoded(subscription.auth),
        version="aes128gcm",
    )  # fmt: skip
    return encrypted


def _signature(endpoint: str) -> dict[str, str]:
    """Return the header that signs a message; the library itself rejects a push service at an IPv6 literal."""
    split = urlsplit(endpoint)
    audience = f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
    claims = {"aud": audience, "sub": settings.PUBLIC_URL, "exp": int(time()) + VALID}
    return {"Authorization": f"vapid t={sign(claims, vapid_key())},k={public_key()}"}


def _decoded(text: str) -> bytes:
    """Decode base64url; raise ValueError for any other character, which the library would drop."""
    if not BASE64URL.fullmatch(text):
        raise ValueError(text)
    return urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
