"""`manage.py policy`: rules in files, checked, compared and applied."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from approvals.models import AuditEntry, PolicyVersion
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.people import bob

pytestmark = pytest.mark.django_db

POLICY = {"rules": [{"name": "Refunds", "then": "ask", "ask": {"stages": [{"groups": [{"people": ["bob"]}]}]}}]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(POLICY, indent=2))
    bob()
    return path


def run(*arguments: object) -> str:
    out = io.StringIO()
    call_command("policy", *map(str, arguments), stdout=out)
    return out.getvalue()


def apply(file, **more) -> str:
    given = {"by": administrator().username, "reason": "Audit finding 7."} | more
    return run("apply", file, *(f"--{name.replace('_', '-')}={value}" for name, value in given.items()))


def test_a_file_is_checked_compared_applied_and_shown(file):
    assert run("check", file) == f"{file} is a policy of 1 rule.\n"
    with pytest.raises(SystemExit):
        run("diff", file)
    assert apply(file) == "Version 1 is live.\n"
    assert run("diff", file) == ""
    assert json.loads(run("show")) == POLICY
    entry = AuditEntry.objects.get(event="policy.applied")
    assert (entry.actor_name, entry.data["reason"]) == ("root", "Audit finding 7.")


def test_another_version_is_shown(file):
    assert json.loads(run("show")) == {"rules": []}
    apply(file)
    apply_policy()
    assert (json.loads(run("show")), json.loads(run("show", "--number", 1))) == ({"rules": []}, POLICY)
    with pytest.raises(CommandError):
        run("show", "--number", 9)


def test_it_is_shown_in_sentences():
    said = {"name": "Small", "match": {"tools": ["refund"]}, "when": "input.amount < 5", "then": "allow"}
    apply_policy(said, {"name": "Rest", "then": "ask", "ask": {"veto": True}}, four_eyes=True)
    assert run("show", "--words").splitlines() == [
        "1. Small",
        "   Allows calls of refund without asking.",
        "   Only if: input.amount < 5",
        "2. Rest",
        "   Asks people about all requests.",
        "   The requester may not decide.",
        "   One rejection ends it.",
        "If no rule matches, people are asked, but never the requester.",
    ]


def test_faults_are_named_with_their_lines(file):
    file.write_text('{\n "rules": [\n  {"name": "a",\n   "then": "ask",\n   "when": "tol == 1"}]}')
    for action in ("check", "diff"):
        with pytest.raises(CommandError) as refusal:
            run(action, file)
        assert str(refusal.value) == (f"{file}:5: rules.0.when: line 1, column 1: undeclared reference to 'tol'")


def test_a_file_that_is_no_policy_is_refused(file):
    for text in ("{", "[]", "\x00"):
        file.write_text(text)
        with pytest.raises(CommandError):
            run("check", file)
    file.write_bytes(b"\xff")
    with pytest.raises(CommandError):
        run("check", file)
    with pytest.raises(CommandError):
        run("check", file.parent / "none.json")


def test_who_may_not_and_what_is_outdated_is_refused(file):
    for changes in ({"by": "bob"}, {"by": "nobody"}, {"reason": " "}, {"based_on": 3}):
        with pytest.raises(CommandError):
            apply(file, **changes)
    assert not PolicyVersion.objects.exists()
    assert apply(file, based_on=0) == "Version 1 is live.\n"


def test_a_version_that_needs_a_second_person_says_so(file):
    administrator("eve")
    file.write_text(json.dumps({"rules": [{"name": "Small", "then": "allow"}]}))
    assert apply(file) == "Version 1 is waiting for another administrator.\n"
