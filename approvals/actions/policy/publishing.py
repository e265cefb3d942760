"""What is put on record and sent when something happens to a grant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from approvals.db.canonical_json import utc
from approvals.models import Grant
from approvals.models.actors import Signatory
from approvals.outbound import outbox
from approvals.record import audit
from approvals.states import Width

#: The words of a width in documents and on record.
WIDTHS: Mapping[Width, Literal["input", "fields", "tool"]] = {
    Width.INPUT: "input",
    Width.FIELDS: "fields",
    Width.TOOL: "tool",
}
WIDTH_OF: Mapping[str, Width] = {word: width for width, word in WIDTHS.items()}


def terms_document(grant: Grant) -> dict[str, Any]:
    """Return the terms of a grant as they are recorded, without values of the input, which only some people may see."""
    return {
        "grant_id": str(grant.pk),
        "tool_name": grant.tool_name,
        "covers": WIDTHS[Width(grant.width)],
        "audience": grant.audience,
        "agent": grant.agent,
        "thread_id": grant.thread_id,
        "given_by": grant.given_by_name,
        "until": utc(grant.until) if grant.until else None,
        "uses": grant.uses,
        "used": grant.used,
    }


def publish_grant(
    event: str,
    grant: Grant,
    *,
    actor: Signatory | None,
    via: str,
    request_id: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Put an event of a grant on record and into the outbox; the caller holds the lock of its row."""
    subject = audit.Subject(
        scope=grant.scope,
        run_id=grant.workflow_key,
        request_id=request_id or str(grant.request_id),
        thread_id=grant.thread_id,
        agent=grant.agent,
        tool_name=grant.tool_name,
    )
    data = terms_document(grant) | dict(more or {})
    heard = audit.record(event, subject, data=data, actor=actor, via=via)
    sent = data | {"request_id": subject.request_id, "by": actor.get_username() if actor else None, "via": via}
    outbox.enqueue(event, stream=f"grant:{grant.pk}", data=sent, heard=heard)
