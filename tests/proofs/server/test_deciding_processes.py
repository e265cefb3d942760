"""Two processes on one database decide the same requests: one winner each, and no lock errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from django.conf import settings

from approvals.models import AuditEntry, Decision
from tests.support import vendors
from tests.support.desk.requests import make_request, make_workflow, waits
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db(transaction=True)


#: Decides the requests named on its input, one by one, and prints the result of each.
DECIDER = """
import json, sys
import django
django.setup()
from django.contrib.auth.models import User
from approvals import actions
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict

name, verdict = sys.argv[1:]
person = User.objects.get(username=name)
print("ready", flush=True)
found = {}
for request_id in json.loads(sys.stdin.readline()):
    try:
        actions.decide(request_id, Answer(Verdict(verdict)), by=person, via=Door.DASHBOARD)
        found[request_id] = name
    except AlreadyDecided as refusal:
        found[request_id] = "lost to " + refusal.decision.by_name
print(json.dumps(found))
"""


def start_decider(name: str, verdict: str) -> subprocess.Popen[str]:
    environment = os.environ | {"DATABASE_URL": vendors.database_url(), "DJANGO_SETTINGS_MODULE": "hitlsite.settings"}
    return subprocess.Popen(
        [sys.executable, "-c", DECIDER, name, verdict],
        env=environment,
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_decide_each_request_once_without_lock_errors():
    owner, workflow = alice(), None
    verdicts = {"bob": "approve", "dora": "reject"}
    for name in verdicts:
        make_person(name, "decide_approvalrequest")
    requests = [make_request(owner, workflow=(workflow := workflow or make_workflow(owner))) for _ in range(40)]
    ids = json.dumps([str(request.pk) for request in requests])
    processes = {name: start_decider(name, verdict) for name, verdict in verdicts.items()}
    assert [process.stdout.readline() for process in processes.values()] == ["ready\n", "ready\n"]
    for process in processes.values():
        process.stdin.write(ids + "\n")
        process.stdin.flush()
    ended = {name: process.communicate(timeout=180) for name, process in processes.items()}
    assert [(stderr, processes[name].returncode) for name, (_, stderr) in ended.items()] == [("", 0), ("", 0)]
    said = {name: json.loads(stdout) for name, (stdout, _) in ended.items()}
    for decision in Decision.objects.select_related("request"):
        winner, loser = (decision.by_name, "dora" if decision.by_name == "bob" else "bob")
        assert said[winner][str(decision.request_id)] == winner
        assert said[loser][str(decision.request_id)] == f"lost to {winner}"
        assert decision.verdict == verdicts[winner]
        assert decision.request.status == {"approve": "approved", "reject": "rejected"}[decision.verdict]
    assert Decision.objects.count() == 40
    assert Counter(AuditEntry.objects.values_list("event", flat=True)) == {
        "request.created": 40,
        "request.decided": 40,
    }
    assert waits(workflow) == ("running", 0, None, False)
