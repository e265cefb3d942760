"""The content of the page of an engine: an example of its call, and its deliveries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.actions.callbacks.calls import HIDDEN
from approvals.db.cursors import page_before
from approvals.engines.calls import Target
from approvals.engines.kinds import ENGINES
from approvals.models import EngineConnection, OutboxEvent
from approvals.outbound.outbox import lane_of_engine
from approvals.queries.engines import CallbackState, state_of
from approvals.states import Channel, EngineKind
from approvals.text.secrets import mask_text
from approvals.text.text import visible

PAGE = 50
#: A decision as engines get it.
EXAMPLE = {
    "request_id": "0190c0de-4711-7000-8000-000000000000",
    "verdict": "approve",
    "by": "bob",
    "via": "dashboard",
    "decided_at": "2026-11-30T09:00:00Z",
    "status": "approved",
    "workflow_id": "run-7",
    "tool_call_id": "call-1",
    "deadline": "2026-11-30T12:00:00Z",
    "comment": "",
    "answer": None,
    "edited_input": None,
    "approved_digest": "sha256:…",
    "digest_salt": None,
}


@dataclass(frozen=True, slots=True)
class Preview:
    """The call that takes a decision to an engine, without its credential."""

    line: str
    headers: Sequence[tuple[str, str]]
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A decision on its way to an engine."""

    request: UUID
    state: CallbackState
    at: datetime
    attempts: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEngine:
    """An engine on pages, without its credential."""

    pk: int
    name: str
    kind: str
    url: str
    disabled: bool


def shown_engine(connection: EngineConnection) -> ShownEngine:
    return ShownEngine(
        pk=connection.pk,
        name=connection.name,
        kind=str(EngineKind(connection.kind).label),
        url=connection.url,
        disabled=connection.disabled_at is not None,
    )


def preview_of(connection: EngineConnection) -> Preview:
    """Return an example of the call to an engine."""
    engine = ENGINES[connection.kind]
    secret = HIDDEN if connection.secret else ""
    target = Target(url=connection.url, route=connection.route, secret=secret)
    decision = EXAMPLE | {"id": engine.id_example}
    call = engine.answer(target, engine.id_example, decision)
    body = json.dumps(json.loads(call.body), ensure_ascii=False, indent=2)
    headers = list(call.headers.items())
    if call.signed_as:
        headers += [("webhook-id", call.signed_as), ("webhook-signature", HIDDEN)]
    return Preview(f"{call.method} {visible(call.url)}", headers, body)


def deliveries_to(
    connection: EngineConnection, *, before: int | None = None
) -> tuple[list[Delivery], int | None]:
    """Return a page of deliveries, newest first, and the id to continue before; None on the last page."""
    rows = OutboxEvent.objects.filter(
        channel=Channel.ENGINE, lane=lane_of_engine(connection.name)
    ).order_by("-pk")
    shown, more = page_before(rows, before, PAGE)
    return [_delivery(row) for row in shown], more


def _delivery(row: OutboxEvent) -> Delivery:
    return Delivery(
        request=UUID(row.payload["request_id"]),
        state=state_of(row),
        at=row.created_at,
        attempts=row.attempts,
        note=mask_text(row.last_error),
    )
