"""The how-to for SIEMs, followed to the letter: with a real server, a double of Splunk, and Filebeat's rules on the events."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from tests.support.machine import Remote
from tests.support.processes.server import Server
from tests.support.receiver import Handler, Receiver, answer
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

GUIDE = (ROOT / "docs" / "how-to" / "into-your-siem.md").read_text()
COMMANDS = re.findall(r"```sh\n(.*?)```", GUIDE, re.S)
(FILEBEAT,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.S)
BATCH = int(re.findall(r"batches of (\d+)", GUIDE)[0])
TOKEN = "00000000-0000-0000-0000-000000000000"
#: Three batches of entries, among them one with each field of the guide.
FILL = f"""
from approvals.models import AuditEntry
from approvals.models.actors import RecordedActor
from approvals.record import audit
bob, desk = RecordedActor(7, "API key billing of bob"), audit.Subject(scope="desk")
for event, data in (
    ("request.created", {{"input": {{"sequence": 999999999}}, "policy_version": 3, "rule": "refunds"}}),
    ("login.failed", {{"name": "bob", "address": "192.0.2.7", "reason": "no link"}}),
    ("team.changed", {{"team": "support", "change": "created"}}),
    *[("event.resent", {{"event_id": str(number)}}) for number in range({BATCH * 2})],
):
    audit.record(event, desk, data=data, actor=bob, via="dashboard")
"""


def run(part: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run the one command of the guide with this part, with your values in place of the examples."""
    (command,) = [each for each in COMMANDS if part in each]
    variables = {name: value for name, value in changes.items() if name.isupper()}
    for example, value in (("https://splunk.example.com:8088", changes.get("splunk")), (TOKEN, changes.get("token"))):
        command = command.replace(example, value or example)
    command = re.sub(r"(?<==)(\w+\.cursor|audit\.ocsf\.jsonl)", rf"{changes.get('folder')}/\1", command)
    return subprocess.run(
        ["sh", "-c", command], cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=120
    )


def told(got) -> list[dict[str, Any]]:
    """What Splunk reads in a request: JSON objects, one after the other."""
    assert (got.path, got.headers["authorization"]) == ("/services/collector/event", "Splunk secret")
    return [json.loads(line) for line in got.body.decode().splitlines()]


def at(event: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        event = event.get(name) if isinstance(event, dict) else None
    return event


def test_every_entry_reaches_splunk_and_elastic_once_also_after_a_refusal(tmp_path):
    with Server(tmp_path) as server:
        server.run(FILL)
        auditor = Remote(server, "auditor", ("audit",))
        variables = {"PAUSEPOINT_URL": server.address, "PAUSEPOINT_KEY": auditor.key, "folder": str(tmp_path)}
        looked = run("curl", **variables).stdout.splitlines()
        assert [json.loads(line)["metadata"]["event_code"] for line in looked] == ["key.created"] * len(looked) != []
        log = [json.loads(line)["id"] for line in auditor.send("GET", "/audit").body.splitlines()]

        with Receiver(lambda got: answer(503 if len(receiver.got) == 2 else 200)) as receiver:
            splunk = variables | {"splunk": receiver.url(""), "token": "secret"}
            refused = run("SPLUNK_URL", **splunk)
            assert (refused.returncode, "503" in refused.stderr, len(receiver.got)) == (1, True, 2)
            assert (tmp_path / "splunk.cursor").read_text() == str(log[BATCH - 1])
            assert run("SPLUNK_URL", **splunk).returncode == 0
            del receiver.got[1]
            sent = [each for got in receiver.got for each in told(got)]
            # With nothing new, nothing is sent.
            before = len(receiver.got)
            assert (run("SPLUNK_URL", **splunk).returncode, len(receiver.got)) == (0, before)
        assert [each["event"]["metadata"]["sequence"] for each in sent] == log
        assert {(each["source"], each["sourcetype"]) for each in sent} == {("pausepoint", "_json")}
        # In seconds. The first entries are as old as the database of which each test has a copy.
        assert all(abs(each["time"] - time.time()) < 86_400 for each in sent)

        file = tmp_path / "audit.ocsf.jsonl"
        file.write_text('{"half of a line, from a cra')
        assert run("FILE=", **variables).returncode == 0
        assert run("FILE=", **variables).returncode == 0
        half, *lines = file.read_text().splitlines()
        assert (len(half), [each["event"] for each in sent]) == (28, [json.loads(line) for line in lines])


@pytest.mark.parametrize("chunked", [True, False])
def test_a_response_that_ends_within_a_line_delivers_nothing_of_its_batch(tmp_path, chunked):
    sent = b'{"metadata": {"sequence": 7}}\n{"metadata": {"sequ'
    head = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 1000"
    body = b"%x\r\n%s" % (len(sent), sent) if chunked else sent

    def cut(handler: Handler) -> None:
        handler.write(b"HTTP/1.1 200 OK\r\n%s\r\n\r\n%s" % (head, body))

    with Receiver(lambda got: cut, serves=True) as desk:
        ended = run("FILE=", PAUSEPOINT_URL=desk.url(""), PAUSEPOINT_KEY="k", folder=str(tmp_path))
    assert (ended.returncode, list(tmp_path.iterdir())) == (1, [])


def test_no_key_follows_a_redirect(tmp_path):
    with Receiver(serves=True) as elsewhere:
        moved = answer(307, f"Location: {elsewhere.url()}")
        with Receiver(lambda got: moved, serves=True) as desk:
            ended = run("FILE=", PAUSEPOINT_URL=desk.url(""), PAUSEPOINT_KEY="k", folder=str(tmp_path))
        assert (ended.returncode, len(desk.got), elsewhere.got) == (1, 1, [])


def test_filebeat_finds_its_fields_in_events_as_the_table_says(tmp_path):
    with Server(tmp_path) as server:
        server.run(FILL)
        body = Remote(server, "auditor", ("audit",)).send("GET", "/audit?format=ocsf").body
    events = [{"ocsf": json.loads(line)} for line in body.splitlines()]
    rules = {name: rule for each in yaml.safe_load(FILEBEAT)["processors"] for name, rule in each.items()}
    (moment,) = {at(event, rules["timestamp"]["field"]) for event in events if at(event, "ocsf.user.name") == "bob"}
    assert rules["timestamp"]["layouts"] == ["UNIX_MS"]
    assert abs(datetime.fromtimestamp(moment / 1000, UTC).timestamp() - time.time()) < 600
    ids = [at(event, *rules["fingerprint"]["fields"]) for event in events]
    assert len({*ids}) == len(events)
    copied = {rule["to"]: rule["from"] for rule in rules["copy_fields"]["fields"]}
    assert [path for path in copied.values() if not any(at(event, path) for event in events)] == []
    table = GUIDE[GUIDE.index("## Fields") :]
    for to, path in copied.items():
        (row,) = [line for line in table.splitlines() if f"`{to}`" in line.partition(" | ")[0]]
        assert f"`{path.removeprefix('ocsf.')}`" in row
