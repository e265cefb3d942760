"""Trigger.dev: a waitpoint token is completed, and then read, because every answer gets a success and only the first counts."""

from __future__ import annotations

import json
import re

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
    get,
    joined,
    not_json,
    post,
)
from approvals.json_types import JsonMapping

TOKENS = ("api", "v1", "waitpoints", "tokens")


class TriggerDev(Engine):
    """The id is that of the waitpoint token."""

    id_pattern = re.compile(r"waitpoint_[A-Za-z0-9]{1,100}")
    id_example = "waitpoint_abc123"

    def answer(
        self, target: Target, waiting_id: str, decision: JsonMapping
    ) -> EngineCall:
        url = joined(target.url, *TOKENS, waiting_id, "complete")
        return post(url, {"data": dict(decision)}, secret=target.secret)

    def deliver(
        self, target: Target, waiting_id: str, decision: JsonMapping, *, repeated: bool
    ) -> Conversation:
        reply = yield self.answer(target, waiting_id, decision)
        if reply.status >= 400:
            return EngineReading(DeliveryResult.NOT_TAKEN, _("there is no such token"))
        if not isinstance(reply.document, dict) or not reply.document.get("success"):
            return not_json()
        token = joined(target.url, *TOKENS, waiting_id)
        return _read_token((yield get(token, secret=target.secret)), decision)

    def probe(self, target: Target) -> EngineCall:
        url = joined(target.url, *TOKENS)
        return get(f"{url}?page%5Bsize%5D=1", secret=target.secret)


def _read_token(reply: EngineReply, decision: JsonMapping) -> EngineReading:
    token = reply.document
    if not isinstance(token, dict) or "status" not in token:
        return not_json()
    if token["status"] == "COMPLETED":
        if _request_in(token.get("output")) == decision["request_id"]:
            return TAKEN
        words = _("the token was completed with another answer")
        return EngineReading(DeliveryResult.NOT_TAKEN, words)
    if token["status"] == "TIMED_OUT":
        return EngineReading(DeliveryResult.NOT_TAKEN, _("the token has timed out"))
    return EngineReading(DeliveryResult.LATER, _("the token still waits"))


def _request_in(output: object) -> object:
    """Return the request that the output of a token names; the output is JSON, as a text or as a value."""
    if isinstance(output, str):
        try:
            output = json.loads(output)
        except ValueError:
            return None
    return output.get("request_id") if isinstance(output, dict) else None
