"""What a process loads at its start, compared with the tables of the architecture page, in new interpreters."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hitlsite.checks import LATE
from tests.support.root import ROOT

#: As `manage.py serve` and `worker` do until they serve, with the checks of all addresses.
STARTED = """
import importlib, json, sys
import django
django.setup()
importlib.import_module("hitlsite.management.commands.{command}")
from django.core import checks
assert checks.run_checks() == []
"""
LOADED = 'print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))'
AT_ONCE = """
import threading
from concurrent.futures import ThreadPoolExecutor
from approvals.schema.check import schema_errors
from approvals.templatetags.desk import markdown
from approvals.text.names import tool_name_problem
from approvals.policy.conditions.expressions import Expression
both = threading.Barrier(2)
def first(_):
    both.wait()
    return (
        schema_errors({"type": "string", "pattern": "^a"}, "b"),
        markdown("**now**"),
        tool_name_problem("p\\u0430y"),
        Expression("input.amount > 1").reads_requester,
    )
with ThreadPoolExecutor(2) as threads:
    print(json.dumps(list(threads.map(first, range(2)))))
"""
#: What a worker does not load.
WEB = {"daphne", "prometheus_client", "twisted", "zope"}
#: Those that only settings ask for.
CHOSEN = {"anthropic", "channels_redis", "httpx2", "openai"}


def said_by(code: str) -> list:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "hitlsite.settings", "DEBUG": "1", "REDIS_URL": ""}
    environment |= {"HITL_PROVIDER": "scripted", "DATABASE_URL": ""}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def libraries(heading: str) -> set[str]:
    """The libraries of a table of the page."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    _, table = page.split(f"| {heading} |")
    rows = table.split("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.mark.parametrize(("command", "without"), [("serve", set()), ("worker", WEB)])
def test_a_process_loads_what_the_architecture_page_says(command, without):
    at_start, late = libraries("at the start"), libraries("when it is used")
    loaded = set(said_by(STARTED.format(command=command) + LOADED))
    assert loaded & (at_start | late) == at_start - without


def test_the_page_names_the_libraries_that_are_checked_at_the_start_and_every_one_that_we_require():
    at_start, late = libraries("at the start"), libraries("when it is used")
    assert late - CHOSEN == set(LATE)
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    required = {canonicalize_name(Requirement(line).name) for line in lines if not line.startswith("#")}
    known = [{canonicalize_name(name) for name in packages_distributions()[library]} for library in at_start | late]
    assert required - set().union(*known) == set()


@pytest.mark.parametrize(("handlers", "loaded"), [("", False), ("approvals.outbound.traces.report_pause", True)])
def test_the_sdk_of_opentelemetry_is_loaded_only_where_its_handler_is_named(monkeypatch, handlers, loaded):
    monkeypatch.setenv("HITL_EVENT_HANDLERS", handlers)
    code = STARTED.format(command="serve") + 'print(json.dumps(["opentelemetry.sdk" in sys.modules]))'
    assert said_by(code) == [loaded]


def test_two_threads_may_need_what_is_loaded_late_at_once():
    first, second = said_by(STARTED.format(command="serve") + AT_ONCE)
    assert first == second
    assert first[:2] == [{"": "does not match '^a'"}, "<p><strong>now</strong></p>\n"]
    assert first[3] is False
