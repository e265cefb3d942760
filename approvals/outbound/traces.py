"""Report the pauses of programs as OpenTelemetry spans: a handler of events, named in HITL_EVENT_HANDLERS.

Nothing else imports this module, so the SDK of OpenTelemetry is loaded only where the handler is switched on. Its own settings
(`OTEL_…`) say where the spans go.

A span is sent before the event counts as delivered, and the outbox repeats lost ones. Its ids come from the request and the
event, so a span that arrives twice is the same span. That is why this does not use the SDK's global provider and its batches:
they make up ids, and report success for spans that they have dropped.
"""

from __future__ import annotations

import os
from datetime import datetime
from functools import cache
from uuid import UUID

from django.utils.translation import gettext as _
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link

from approvals.outbound.outbox import Event
from approvals.states import APPROVING, Status, Verdict
from approvals.trace_context import span_context

#: The members of events that spans show, where possible by the names of the GenAI semantic conventions 0.1.0, which are in
#: development and have no names for a pause. Neither contents nor names of people are among them.
ATTRIBUTES = {
    "tool_name": "gen_ai.tool.name",
    "tool_call_id": "gen_ai.tool.call.id",
    "agent": "gen_ai.agent.name",
    "thread_id": "gen_ai.conversation.id",
    "request_id": "pausepoint.request.id",
    "run_id": "pausepoint.workflow.id",
    "kind": "pausepoint.request.kind",
    "deadline_at": "pausepoint.request.deadline",
    "verdict": "pausepoint.decision.verdict",
    "via": "pausepoint.via",
}
RESUMING = APPROVING | {Verdict.RESPOND}
#: Seconds that a collector may take, unless the SDK's setting says otherwise. Other handlers wait meanwhile.
PATIENCE = 2.0


class NotTaken(Exception):
    """The collector did not take a span; the SDK has logged the reason."""


class _Ids(IdGenerator):
    """The ids of the one span of an event: all spans of a request are in one trace, with the request's id."""

    def __init__(self, event: Event) -> None:
        self.event = event

    def generate_trace_id(self) -> int:
        return UUID(self.event.data["request_id"]).int

    def generate_span_id(self) -> int:
        return self.event.id.int & (2**64 - 1)


def report_pause(event: Event) -> None:
    """Send the start or the end of a pause as a span. Raise NotTaken, after which the outbox calls this again."""
    name = span_name(event)
    if not name:
        return
    data = event.data
    shown = {label: data.get(member) for member, label in ATTRIBUTES.items()}
    attributes = {label: value for label, value in shown.items() if value}
    attributes["pausepoint.event.id"] = str(event.id)
    provider = TracerProvider(
        resource=_resource(), id_generator=_Ids(event), shutdown_on_exit=False
    )
    span = provider.get_tracer("pausepoint").start_span(
        name,
        attributes=attributes,
        links=[Link(span_context(data["trace"]))] if "trace" in data else [],
        start_time=_nanoseconds(datetime.fromisoformat(data["created_at"])),
    )
    span.end(_nanoseconds(event.occurred_at))
    if not isinstance(span, ReadableSpan):
        # The SDK's settings disable it, or do not sample this request.
        return
    if _exporter().export([span]) is not SpanExportResult.SUCCESS:
        raise NotTaken(_("The collector did not take the span. The log says why."))


def span_name(event: Event) -> str:
    """Return the name of the span that an event reports; empty if it reports none."""
    match event.name:
        # A request that a rule or a grant decided never waited.
        case "request.created" if event.data["status"] == Status.PENDING:
            return "paused"
        case "request.decided":
            return "resumed" if event.data["verdict"] in RESUMING else "refused"
        case "request.cancelled":
            return "refused"
        case "request.expired":
            return "expired"
        case _:
            return ""


@cache
def _resource() -> Resource:
    return Resource({SERVICE_NAME: "pausepoint"}).merge(OTELResourceDetector().detect())


@cache
def _exporter() -> OTLPSpanExporter:
    names = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
    is_set = any(os.environ.get(name) for name in names)
    return OTLPSpanExporter(timeout=None if is_set else PATIENCE)


def _nanoseconds(moment: datetime) -> int:
    # Whole microseconds: a float of nanoseconds would be rounded.
    return round(moment.timestamp() * 1_000_000) * 1_000
