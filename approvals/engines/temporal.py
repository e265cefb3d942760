"""Temporal: an update with a fixed id, over the HTTP API of the server.

The same update id gets the first outcome again, also after the workflow has ended. A rejected update is a 200 with a failure.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from approvals.engines.calls import (
    ID,
    MAX_MESSAGE,
    ROUTE,
    TAKEN,
    Conversation,
    DeliveryResult,
    Engine,
    EngineCall,
    EngineReading,
    EngineReply,
    Target,
    get,
    joined,
    message_of,
    not_json,
    post,
)
from approvals.json_types import JsonMapping
from approvals.text.text import visible

#: The call returns when the workflow has handled the update, or rejected it.
HANDLED = "UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED"


class Temporal(Engine):
    """The id is that of the workflow; the route is the namespace and the name of the update."""

    id_pattern = ID
    id_example = "refund-4711"
    route_pattern = ROUTE

    def answer(
        self, target: Target, waiting_id: str, decision: JsonMapping
    ) -> EngineCall:
        namespace, _slash, update = target.route.partition("/")
        workflow = ("api", "v1", "namespaces", namespace, "workflows", waiting_id)
        meta = {"updateId": decision["request_id"], "identity": "pausepoint"}
        request = {"meta": meta, "input": {"name": update, "args": [dict(decision)]}}
        body = {"request": request, "waitPolicy": {"lifecycleStage": HANDLED}}
        url = joined(target.url, *workflow, "update", update)
        return post(url, body, secret=target.secret)

    def deliver(
        self, target: Target, waiting_id: str, decision: JsonMapping, *, repeated: bool
    ) -> Conversation:
        reply = yield self.answer(target, waiting_id, decision)
        if reply.status < 400:
            return _read_outcome(reply)
        if "completed" in message_of(reply):
            # The outcome of an update that had arrived would have come back.
            return EngineReading(DeliveryResult.NOT_TAKEN, _("the workflow has ended"))
        if repeated:
            words = _("the workflow is gone, and may have got the decision before")
            return EngineReading(DeliveryResult.UNKNOWN, words)
        return EngineReading(DeliveryResult.EARLY, _("there is no such workflow"))

    def probe(self, target: Target) -> EngineCall:
        namespace = target.route.partition("/")[0]
        url = joined(target.url, "api", "v1", "namespaces", namespace)
        return get(url, secret=target.secret)


def _read_outcome(reply: EngineReply) -> EngineReading:
    outcome: Any = None
    if isinstance(reply.document, dict):
        outcome = reply.document.get("outcome")
    if not isinstance(outcome, dict):
        return not_json()
    if "failure" not in outcome:
        return TAKEN
    failure = outcome["failure"]
    text = failure.get("message") if isinstance(failure, dict) else ""
    words = visible(str(text))[:MAX_MESSAGE] if text else ""
    return EngineReading(
        DeliveryResult.NOT_TAKEN, words or _("the workflow rejected the update")
    )
