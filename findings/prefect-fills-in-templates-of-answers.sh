#!/usr/bin/env bash
# Prefect: a flow pauses for an answer with `pause_flow_run(wait_for_input=...)`, and a desk resumes it over the API. The answer contains an
# input that an agent proposed and a person approved, as JSON.
# Guess: the flow gets what was sent. Seen: an object with `__prefect_kind` inside the answer is evaluated by the server first, such as a Jinja
# template, so that the flow runs another input than the approved one. Sent as JSON in one text, it arrives as it was.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check prefect==3.9.1
cat > "$folder/resume.py" <<'PY'
import json

from prefect import flow, pause_flow_run
from prefect.client.orchestration import get_client
from prefect.input import RunInput
from prefect.runtime import flow_run
from prefect.testing.utilities import prefect_test_harness
import threading
import time


class Answer(RunInput):
    edited: dict
    text: str


SENT = {"note": {"__prefect_kind": "jinja", "template": "{{ 6 * 7 }}"}}
ids = []


@flow
def refund():
    ids.append(flow_run.id)
    answer = pause_flow_run(wait_for_input=Answer, timeout=60, poll_interval=1)
    return answer.edited, json.loads(answer.text)


def resume():
    with get_client(sync_client=True) as client:
        for _attempt in range(120):
            if ids and client.read_flow_run(ids[0]).state.is_paused():
                break
            time.sleep(0.5)
        body = {"run_input": {"edited": SENT, "text": json.dumps(SENT)}}
        client._client.post(f"/flow_runs/{ids[0]}/resume", json=body).raise_for_status()


with prefect_test_harness(server_startup_timeout=280):
    threading.Thread(target=resume).start()
    edited, text = refund()
print("sent:", SENT)
print("arrived:", edited)
print("arrived as text:", text)
assert text == SENT
assert edited == {"note": "42"}, edited
print("Prefect fills in templates in answers.")
PY
PREFECT_HOME="$folder/home" "$folder/venv/bin/python" "$folder/resume.py" 2>/dev/null
