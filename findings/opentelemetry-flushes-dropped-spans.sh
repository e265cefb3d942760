#!/usr/bin/env bash
# OpenTelemetry for Python: a program ends a span while its collector is away, and asks with force_flush whether the span was sent.
# Guess: force_flush returns False, as its documentation says of a failed flush. Seen: it returns True, after the batch processor has
# dropped the span; only the log has an error. The simple processor does the same. A program that deletes its own copy after True loses the
# span. Workaround: call the exporter's export() and compare the result with SpanExportResult.SUCCESS.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-proto-http==1.45.2
venv/bin/python - 2>/dev/null <<'PYTHON'
import socket
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult

# A port on which no one listens.
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{free.getsockname()[1]}/v1/traces"
results = {}
for processor in (BatchSpanProcessor, SimpleSpanProcessor):
    exporter = OTLPSpanExporter(address, timeout=1)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor(exporter))
    span = provider.get_tracer("look").start_span("paused")
    span.end()
    results[processor.__name__] = provider.force_flush()
directly = exporter.export([span])
print("opentelemetry-sdk", version("opentelemetry-sdk"), "expected False twice; seen:", results, "and export():", directly.name)
assert results == {"BatchSpanProcessor": True, "SimpleSpanProcessor": True}
assert directly is SpanExportResult.FAILURE
PYTHON
