"""Pauses in traces: the context of an ask is kept and passed on, and a collector gets each span once."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from pausepoint.desk.transport import trace_headers

from approvals.background.sweep import expire_due_requests
from approvals.models import ApprovalRequest, OutboxEvent
from approvals.outbound import outbox, traces
from approvals.states import Verdict
from approvals.trace_context import trace_context
from tests.approvals.api.mcp.agent import Agent
from tests.support import machines
from tests.support.desk.carrying import carry, later, make_endpoint, make_key, workflow_of
from tests.support.desk.requests import PAST, cancel, decide, make_request
from tests.support.desk.ruling import apply_policy
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice, bob
from tests.support.receiver import Receiver, answer

pytestmark = pytest.mark.django_db(transaction=True)

HANDLER = "approvals.outbound.traces.report_pause"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = PARENT.replace("4bf92f35", "11111111")
TRACE = {"traceparent": PARENT, "tracestate": "vendor=a,other=b"}
SECRET = "Pay Ms Xanthippe-Quill 4711 euros"


@pytest.fixture
def collector(settings, monkeypatch):
    """An OTLP receiver, to which the desk sends its spans."""
    settings.HITL_EVENT_HANDLERS = [HANDLER]
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Receiver(behave=lambda got: answer(200)) as there:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", there.url(""))
        traces._exporter.cache_clear()
        yield there
    traces._exporter.cache_clear()


def spans(collector: Receiver) -> list[Span]:
    exports = [ExportTraceServiceRequest.FromString(got.body) for got in collector.got]
    assert {got.path for got in collector.got} <= {"/v1/traces"}
    return [
        span
        for export in exports
        for resource in export.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes(span: Span) -> dict[str, str]:
    return {pair.key: pair.value.string_value for pair in span.attributes}


def nanoseconds(moment: datetime) -> int:
    return int((moment - datetime.fromtimestamp(0, moment.tzinfo)) / timedelta(microseconds=1)) * 1000


def traces_kept() -> list[dict[str, str] | None]:
    return list(ApprovalRequest.objects.order_by("created_at").values_list("trace", flat=True))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (TRACE, TRACE),
        ({"traceparent": PARENT}, {"traceparent": PARENT}),
        ({"traceparent": PARENT, "tracestate": "no state"}, {"traceparent": PARENT}),
        ({"traceparent": PARENT, "tracestate": "a=1\n"}, {"traceparent": PARENT}),
        # A later version of the standard may add members.
        ({"traceparent": f"cc{PARENT[2:]}-new"}, {"traceparent": PARENT}),
        ({"traceparent": PARENT.upper()}, None),
        ({"traceparent": f"{PARENT}-new"}, None),
        ({"traceparent": f"{PARENT}\n"}, None),
        ({"traceparent": f"ff{PARENT[2:]}"}, None),
        ({"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}, None),
        ({"traceparent": ""}, None),
        ({"traceparent": 7}, None),
        ({"traceparent": [PARENT]}, None),
        ({"tracestate": "a=1"}, None),
        ({}, None),
    ],
)
def test_only_a_context_with_the_syntax_of_the_standard_is_taken(sent, kept):
    assert trace_context(sent) == kept


def test_the_first_trace_of_an_ask_is_kept_and_an_invalid_one_is_ignored():
    machine = Machine(alice())
    for call, trace in (("call-1", TRACE), ("call-1", {"traceparent": OTHER}), ("call-2", {"traceparent": "nonsense"})):
        machine.send("POST", "/requests", json.dumps(APPROVAL | {"tool_call_id": call}).encode(), **trace)
    assert traces_kept() == [TRACE, None]


def test_an_mcp_client_may_name_the_trace_in_each_message(monkeypatch):
    monkeypatch.setattr("approvals.api.mcp.calls.WAIT", 0.0)
    agent = Agent(alice())
    agent.call("ask_human", {"question": "Which colour?"}, meta=TRACE)
    agent.call("ask_human", {"question": "Which size?"}, meta={"traceparent": {"a": 1}})
    assert traces_kept() == [TRACE, None]


def test_the_requests_of_a_chat_turn_have_the_trace_of_its_message():
    client = machines.Client(machines.machine(alice()))
    client.messages.append(machines.user_message("approve refund", "u0"))
    client.machine.post("/api/chat", client.body(), headers=TRACE)
    assert traces_kept() == [TRACE]


def test_webhooks_and_callbacks_carry_the_trace_in_headers(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    key, _ = make_key(alice())
    with Receiver() as there:
        make_endpoint(there.url("/endpoint"))
        traced = {"workflow": workflow_of(key), "trace": TRACE, "callback_url": there.url("/callback")}
        decide(make_request(key.user, **traced), bob(), Verdict.APPROVE)
        make_request(key.user, workflow=workflow_of(key, "run-2"))
        carry()
    headers = sorted(
        (got.path, got.headers.get("traceparent", ""), got.headers.get("tracestate", "")) for got in there.got
    )
    sent = tuple(TRACE.values())
    # The second request has no trace.
    assert headers == [("/callback", *sent), ("/endpoint", "", ""), ("/endpoint", *sent), ("/endpoint", *sent)]


def test_a_pause_is_reported_with_its_start_end_deadline_verdict_and_a_link(collector):
    owner = alice()
    deadline = {"deadline_at": PAST + timedelta(days=900)}
    request = make_request(owner, trace=TRACE, title=SECRET, tool_name="pay", tool_call_id="call-1", **deadline)
    outbox.deliver_due()
    assert [span.name for span in spans(collector)] == ["paused"]
    decide(request, bob(), Verdict.EDIT, edited_input={"note": SECRET}, comment=SECRET)
    outbox.deliver_due()
    paused, resumed = spans(collector)
    decision = ApprovalRequest.objects.get(pk=request.pk).decision
    created, decided = OutboxEvent.objects.order_by("pk")
    assert (resumed.name, resumed.start_time_unix_nano) == ("resumed", nanoseconds(request.created_at))
    assert resumed.end_time_unix_nano == nanoseconds(decided.created_at) >= nanoseconds(decision.decided_at)
    assert attributes(resumed) == {
        "gen_ai.tool.name": "pay",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.agent.name": "support",
        "pausepoint.request.id": str(request.pk),
        "pausepoint.workflow.id": request.workflow.key,
        "pausepoint.request.kind": "approval",
        "pausepoint.request.deadline": decided.payload["deadline_at"],
        "pausepoint.decision.verdict": "edit",
        "pausepoint.via": "dashboard",
        "pausepoint.event.id": str(decided.event_id),
    }
    for span, event in ((paused, created), (resumed, decided)):
        (link,) = span.links
        assert f"00-{link.trace_id.hex()}-{link.span_id.hex()}-01" == PARENT
        assert (span.trace_id, span.span_id) == (request.pk.bytes, event.event_id.bytes[8:])
    assert [SECRET.encode() in got.body for got in collector.got] == [False, False]


def test_each_end_has_its_span_and_a_request_that_never_waited_no_pause(collector):
    owner = alice()
    decide(make_request(owner), bob(), Verdict.REJECT)
    cancel(make_request(owner), owner)
    make_request(owner, deadline_at=PAST)
    expire_due_requests()
    outbox.deliver_due()
    ended = sorted((span.name, attributes(span).get("pausepoint.decision.verdict", "")) for span in spans(collector))
    assert ended == [("expired", "expire"), *[("paused", "")] * 3, ("refused", "cancel"), ("refused", "reject")]
    collector.got.clear()
    apply_policy({"name": "Small", "then": "allow"})
    make_request(owner)
    outbox.deliver_due()
    assert [span.name for span in spans(collector)] == ["resumed"]


def test_a_span_that_the_collector_did_not_take_is_sent_again_until_it_arrives(collector):
    owner = alice()
    collector.behave = lambda got: answer(400)
    request = make_request(owner)
    outbox.deliver_due()
    row = OutboxEvent.objects.get()
    problem = "NotTaken: The collector did not take the span. The log says why."
    assert (row.delivered_at, row.last_error) == (None, problem)
    collector.got.clear()
    collector.behave = lambda got: answer(200)
    decide(request, bob(), Verdict.APPROVE)
    later()
    outbox.deliver_due()
    outbox.deliver_due()
    assert [span.name for span in spans(collector)] == ["paused", "resumed"]


def test_a_process_that_is_killed_after_sending_leaves_the_same_span_to_be_sent_again(collector):
    make_request(alice())
    row = OutboxEvent.objects.get()
    event = outbox.Event(
        id=row.event_id, name=row.name, stream=row.stream, occurred_at=row.created_at, data=row.payload
    )
    assert outbox.claim_event(row)
    traces.report_pause(event)
    outbox.deliver_due()
    assert len(spans(collector)) == 1
    later()
    outbox.deliver_due()
    first, second = spans(collector)
    assert first == second


def test_the_sdk_settings_can_switch_the_spans_off(collector, monkeypatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    make_request(alice())
    outbox.deliver_due()
    assert (collector.got, OutboxEvent.objects.exclude(delivered_at=None).count()) == ([], 1)


def test_a_trace_costs_no_statement(settings):
    owner = alice()
    make_request(owner)

    def cost(trace: dict[str, str] | None) -> int:
        with CaptureQueriesContext(connection) as statements:
            decide(make_request(owner, trace=trace), decider, Verdict.APPROVE)
        return len(statements)

    decider = bob()
    cost(None)
    assert cost(TRACE) == cost(None)
    settings.HITL_EVENT_HANDLERS = ["tests.support.receiver.nothing"]
    other_handler = cost(None)
    settings.HITL_EVENT_HANDLERS = ["tests.support.receiver.nothing", HANDLER]
    assert cost(TRACE) == other_handler


def test_the_python_client_sends_the_current_context():
    assert trace_headers() == {}
    with TracerProvider().get_tracer("test").start_as_current_span("ask") as span:
        context = span.get_span_context()
        sent = trace_headers()
    assert sent == {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"}
