"""The desk is a whole product without the chats: a site of its own, migrated, asked and answered in its pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.root import ROOT

STORY = """
import json, re, sys
import django
django.setup()
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.urls import resolve, reverse
from approvals import actions
from approvals.asking.asks import Ask
from approvals.models import AuditEntry, Decision
from approvals.states import Kind

def visible(html):
    return " ".join(re.sub("<[^>]*>", "", html).split())

alice = User.objects.create_user("alice", password="pw")
bob = User.objects.create_user("bob", password="pw")
bob.user_permissions.add(Permission.objects.get(codename="decide_approvalrequest"))
workflow = actions.open_workflow(scope="key:1", key="run-1", title="A refund", source="api", owner=alice)
ask = Ask(kind=Kind.APPROVAL, title="Refund order 4711?", input={"amount": 120})
request = actions.request_approval(workflow, ask, requested_by=alice)

client = Client(headers={"host": "localhost"})
told = {"before": client.get("/").status_code, "login": client.login(username="bob", password="pw")}
desk, page = client.get("/"), client.get(request.get_absolute_url())
said = {"verdict": "reject", "comment": "Too much.", "digest": request.input_digest}
decided = client.post(reverse("approvals:decide", args=[request.pk]), said)
outcome = client.get(decided["Location"])
told |= {
    "statuses": [desk.status_code, page.status_code, decided.status_code, outcome.status_code],
    "asked": ["Refund order 4711?" in response.content.decode() for response in (desk, page)],
    "outcome": [words in visible(outcome.content.decode()) for words in ("Rejected", "by bob", "Too much.")],
    "chats": [b"chats" in response.content.lower() for response in (desk, page, outcome)],
    "chats page": resolve("/chats/").func.__name__,
    "installed": apps.is_installed("chats"),
    "imported": any(name.split(".")[0] == "chats" for name in sys.modules),
    "tables": [name for name in connection.introspection.table_names() if name.startswith("chats")],
    "decision": Decision.objects.values_list("verdict", "by_name", "comment", "via").get(),
    "events": list(AuditEntry.objects.order_by("id").values_list("event", flat=True)),
}
print(json.dumps(told))
"""


def run(tmp_path: Path, *arguments: str) -> str:
    """Python with the desk's settings and a database of its own; anything said on stderr is a failure."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.support.desk_only_settings",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'desk.sqlite3'}",
    }
    command = [sys.executable, "-W", "error", *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_the_desk_works_without_chats(tmp_path):
    run(tmp_path, "manage.py", "migrate", "--verbosity", "0")
    said = run(tmp_path, "manage.py", "check", "--database", "default", "--fail-level", "WARNING")
    assert said == "System check identified no issues (0 silenced).\n"
    assert run(tmp_path, "manage.py", "makemigrations", "--check", "--dry-run") == "No changes detected\n"
    assert json.loads(run(tmp_path, "-c", STORY)) == {
        "before": 302,
        "login": True,
        "statuses": [200, 200, 302, 200],
        "asked": [True, True],
        "outcome": [True, True, True],
        "chats": [False, False, False],
        "chats page": "unknown_address",
        "installed": False,
        "imported": False,
        "tables": [],
        "decision": ["reject", "bob", "Too much.", "dashboard"],
        "events": ["request.created", "request.decided"],
    }
