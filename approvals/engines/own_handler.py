"""A handler in your own app, for engines without an HTTP API, such as DBOS: signed, and answered with its outcome."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext as _

from approvals.engines.calls import (
    ID,
    TAKEN,
    Conversation,
    DeliveryResult,
    Engine,
    EngineCall,
    EngineReading,
    Target,
    not_json,
    post,
    read_refusal,
)
from approvals.json_types import JsonMapping


class OwnHandler(Engine):
    """The id is any text that the handler understands; the message id of the signature is that of the request."""

    id_pattern = ID
    id_example = "refund-4711"

    def answer(
        self, target: Target, waiting_id: str, decision: JsonMapping
    ) -> EngineCall:
        call = post(target.url, {"type": "decision", **decision})
        return replace(call, signed_as=str(decision["request_id"]))

    def deliver(
        self, target: Target, waiting_id: str, decision: JsonMapping, *, repeated: bool
    ) -> Conversation:
        reply = yield self.answer(target, waiting_id, decision)
        if reply.status == 404:
            return EngineReading(
                DeliveryResult.EARLY, _("answered 404: it does not wait yet")
            )
        if reply.status == 409:
            return read_refusal(reply, _("answered 409: too late"))
        if (
            not isinstance(reply.document, dict)
            or reply.document.get("taken") is not True
        ):
            return not_json()
        return TAKEN

    def probe(self, target: Target) -> EngineCall:
        return replace(post(target.url, {"type": "test"}), signed_as="test")
