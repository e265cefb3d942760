"""The W3C Trace Context of a program's call: the ids of the trace in which the program asks.

OpenTelemetry's API checks the syntax, and ignores an invalid context, as the standard demands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import SpanContext, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_W3C = TraceContextTextMapPropagator()


def trace_context(carrier: Mapping[str, Any]) -> dict[str, str] | None:
    """Return `traceparent`, and `tracestate` if there is one, of headers or similar members; None without a valid context."""
    values = {name: carrier.get(name) for name in _W3C.fields}
    # The library logs the values that it ignores, and a line break would look like a second entry.
    sent = {
        name: value
        for name, value in values.items()
        if isinstance(value, str) and value.isascii() and value.isprintable()
    }
    checked: dict[str, str] = {}
    _W3C.inject(checked, _W3C.extract(sent))
    return checked or None


def span_context(trace: Mapping[str, str]) -> SpanContext:
    """Return the span in which a program asked; `trace` is a value of `trace_context`."""
    return get_current_span(_W3C.extract(dict(trace))).get_span_context()
