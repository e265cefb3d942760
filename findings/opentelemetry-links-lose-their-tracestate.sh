#!/usr/bin/env bash
# OpenTelemetry for Python: a span has a link to another trace, whose context has a tracestate. OTLP has a field for it (Span.Link.trace_state).
# Guess: the collector gets it, as it gets the tracestate of the span itself. Seen: the field is empty, so a vendor's position in the linked
# trace is lost. Workaround: an attribute of the link.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-proto-common==1.45.2
venv/bin/python - <<'PYTHON'
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, TraceFlags, TraceState

state = TraceState([("vendor", "a")])
asked = SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=state)
parent = trace.set_span_in_context(NonRecordingSpan(asked))
span = TracerProvider(shutdown_on_exit=False).get_tracer("look").start_span("paused", parent, links=[Link(asked)])
span.end()
sent = encode_spans([span]).resource_spans[0].scope_spans[0].spans[0]
print(
    "opentelemetry-exporter-otlp-proto-common", version("opentelemetry-exporter-otlp-proto-common"),
    "expected vendor=a twice; seen: span", repr(sent.trace_state), "link", repr(sent.links[0].trace_state),
)
assert (sent.trace_state, sent.links[0].trace_state) == ("vendor=a", "")
PYTHON
