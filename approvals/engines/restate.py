"""Restate: a shared handler of a workflow, which resolves a durable promise, with an idempotency key.

The same key gets the first response again. A promise that is completed refuses every other answer with 409.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.engines.calls import (
    ID,
    ROUTE,
    TAKEN,
    Conversation,
    DeliveryResult,
    Engine,
    EngineCall,
    EngineReading,
    Target,
    get,
    joined,
    message_of,
    post,
    read_refusal,
)
from approvals.json_types import JsonMapping


class Restate(Engine):
    """The id is the key of the workflow; the route is the service and the handler."""

    id_pattern = ID
    id_example = "refund-4711"
    route_pattern = ROUTE

    def answer(
        self, target: Target, waiting_id: str, decision: JsonMapping
    ) -> EngineCall:
        service, _slash, handler = target.route.partition("/")
        url = joined(target.url, service, waiting_id, handler)
        key = {"Idempotency-Key": str(decision["request_id"])}
        return post(url, decision, secret=target.secret, **key)

    def deliver(
        self, target: Target, waiting_id: str, decision: JsonMapping, *, repeated: bool
    ) -> Conversation:
        reply = yield self.answer(target, waiting_id, decision)
        if reply.status == 404:
            # The service may be registered again in a moment, by a deployment.
            return EngineReading(
                DeliveryResult.LATER, message_of(reply) or _("answered 404")
            )
        if reply.status != 409:
            return TAKEN
        if repeated:
            words = _("the promise is completed, perhaps by this decision")
            return EngineReading(DeliveryResult.UNKNOWN, words)
        return read_refusal(reply, _("the promise was completed already"))

    def probe(self, target: Target) -> EngineCall:
        return get(joined(target.url, "restate", "health"), secret=target.secret)
