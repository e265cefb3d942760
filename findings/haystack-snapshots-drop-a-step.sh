#!/usr/bin/env bash
# Haystack: a pipeline stops at a breakpoint, so that people can look before a payment. Another component waits with a date as its input.
# Guess: saving the snapshot raises, or the date is stored, so the resumed run does the same as one without a stop. Seen: all inputs of
# that component are left out of the snapshot, and only a log entry says so. The resumed run pays, never runs the other component,
# and ends without an error. With the date as text it runs both.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check haystack-ai==3.4.1
cd "$folder"
HAYSTACK_PIPELINE_SNAPSHOT_SAVE_ENABLED=true HAYSTACK_TELEMETRY_ENABLED=false "$folder/venv/bin/python" - <<'PYTHON'
from datetime import date
from importlib.metadata import version
from pathlib import Path

from haystack import Pipeline, component
from haystack.core.errors import BreakpointException
from haystack.core.pipeline.breakpoint import load_pipeline_snapshot
from haystack.dataclasses.breakpoints import Breakpoint

ran = []


@component
class Read:
    def __init__(self, kind: type):
        self.kind = kind
        component.set_output_types(self, invoice=str, name=str, due=kind)

    def run(self, text: str):
        day = date(2026, 12, 1)
        return {"invoice": text, "name": "Ann", "due": day if self.kind is date else day.isoformat()}


@component
class Pay:
    @component.output_types(paid=bool)
    def run(self, invoice: str):
        ran.append("pay")
        return {"paid": True}


@component
class Remind:
    def __init__(self, kind: type):
        component.set_input_types(self, name=str, due=kind)

    @component.output_types(reminded=bool)
    def run(self, **inputs):
        ran.append("remind")
        return {"reminded": True}


def effects(kind, stop):
    """Return what ran, in a run with or without a stop before the payment, and the outputs."""
    ran.clear()
    pipeline = Pipeline()
    for name, part in {"read": Read(kind), "pay": Pay(), "remind": Remind(kind)}.items():
        pipeline.add_component(name, part)
    pipeline.connect("read.invoice", "pay.invoice")
    for name in ("name", "due"):
        pipeline.connect(f"read.{name}", f"remind.{name}")
    inputs = {"read": {"text": "Invoice 7"}}
    if not stop:
        return sorted(pipeline.run(inputs)), sorted(ran)
    folder = Path(f"snapshots-{kind.__name__}")
    try:
        pipeline.run(inputs, break_point=Breakpoint(component_name="pay", visit_count=0, snapshot_file_path=str(folder)))
    except BreakpointException:
        assert not ran
    (saved,) = folder.iterdir()
    return sorted(pipeline.run({}, pipeline_snapshot=load_pipeline_snapshot(saved))), sorted(ran)


both, payment = (["pay", "remind"],) * 2, (["pay"],) * 2
seen = {(kind.__name__, stop): effects(kind, stop) for kind in (str, date) for stop in (False, True)}
print("haystack-ai", version("haystack-ai"), seen)
assert seen == {("str", False): both, ("str", True): both, ("date", False): both, ("date", True): payment}
PYTHON
