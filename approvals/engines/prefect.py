"""Prefect: a paused flow run is resumed, after a look that it waits at this pause.

An answer names the run and not the pause, so that a repeated one would resume the next pause. The run keeps the input that
resumed each pause, which says whether a lost answer arrived. The decision is sent as text: Prefect fills in templates and
variables in an input of other types.
"""

from __future__ import annotations

import json
import re
from typing import Any

from django.utils.translation import gettext as _

from approvals.engines.calls import (
    TAKEN,
    Conversation,
    DeliveryResult,
    Engine,
    EngineCall,
    EngineReading,
    EngineReply,
    Target,
    as_json,
    get,
    joined,
    message_of,
    not_json,
    post,
    read_refusal,
)
from approvals.json_types import JsonMapping

#: States in which a run takes no answer any more.
ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED", "CRASHED", "CANCELLING"})
#: The names of the states of a run that waits in its process, or has left it.
PAUSES = ("paused", "suspended")


class Prefect(Engine):
    """The id is that of the flow run, a slash, and the key of its pause."""

    id_pattern = re.compile(
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[A-Za-z0-9_-]{1,80}"
    )
    id_example = "0190c0de-0000-7000-8000-000000000000/refund-4711"

    def answer(
        self, target: Target, waiting_id: str, decision: JsonMapping
    ) -> EngineCall:
        run = waiting_id.partition("/")[0]
        body = {"run_input": {"decision": as_json(decision)}}
        url = joined(target.url, "flow_runs", run, "resume")
        return post(url, body, secret=target.secret)

    def deliver(
        self, target: Target, waiting_id: str, decision: JsonMapping, *, repeated: bool
    ) -> Conversation:
        run, _slash, pause = waiting_id.partition("/")
        place = joined(target.url, "flow_runs", run)
        reply = yield get(place, secret=target.secret)
        if reply.status == 404:
            result = DeliveryResult.UNKNOWN if repeated else DeliveryResult.NOT_TAKEN
            return EngineReading(result, _("there is no such flow run"))
        state = _member(reply.document, "state")
        kind = _member(state, "type")
        if kind is None:
            return not_json()
        waits = _member(_member(state, "state_details"), "pause_key") == pause
        if kind == "PAUSED" and waits:
            return _read_resumed((yield self.answer(target, waiting_id, decision)))
        for name in PAUSES:
            key = joined(place, "input", f"{name}-{pause}-response")
            reply = yield get(key, secret=target.secret)
            if reply.status < 400:
                return _read_input(reply, decision)
        if kind in ENDED:
            return EngineReading(DeliveryResult.NOT_TAKEN, _("the flow run has ended"))
        return EngineReading(
            DeliveryResult.EARLY, _("the flow run does not wait at this pause")
        )

    def probe(self, target: Target) -> EngineCall:
        return get(joined(target.url, "admin", "version"), secret=target.secret)


def _read_resumed(reply: EngineReply) -> EngineReading:
    status = _member(reply.document, "status")
    if status == "ACCEPT":
        return TAKEN
    if status in {"ABORT", "REJECT"}:
        details = EngineReply(reply.status, _member(reply.document, "details"))
        return read_refusal(details, _("the flow run does not wait"))
    if reply.status >= 400:
        reason = message_of(reply)
        return EngineReading(DeliveryResult.LATER, reason or _("answered 404"))
    return not_json()


def _read_input(reply: EngineReply, decision: JsonMapping) -> EngineReading:
    """Return whether the input that resumed the pause is this decision."""
    try:
        sent = json.loads(_member(reply.document, "decision") or "")
    except (TypeError, ValueError):
        sent = None
    if _member(sent, "request_id") == decision["request_id"]:
        return TAKEN
    return EngineReading(DeliveryResult.NOT_TAKEN, _("the pause got another answer"))


def _member(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None
