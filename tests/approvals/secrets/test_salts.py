"""The digest of an input with hidden values has a salt, which only its program gets."""

from __future__ import annotations

import hashlib
import json

import pytest

from approvals.actions import create_signing_secret
from approvals.api.hooks.agents import CLAUDE_CODE as CLAUDE
from approvals.api.hooks.bodies import parse
from approvals.asking.digests import digest_for, input_digest
from approvals.db.canonical_json import canonical
from approvals.models import ApprovalRequest, AuditEntry, Decision, OutboxEvent
from approvals.outbound import webhooks
from approvals.record.audit import export_row, shown_body
from approvals.record.integrity import check_entries
from approvals.states import Verdict
from approvals.text.secrets import MARK
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, PERMISSION
from tests.support.desk.carrying import make_endpoint
from tests.support.desk.requests import decide
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

HIDDEN = {"door": "north", "pin": "7316"}


def test_an_input_in_which_nothing_is_hidden_has_no_salt():
    document = Machine(alice()).ask(input={"door": "east"})
    assert (document["digest_salt"], document["input_digest"]) == (None, input_digest({"door": "east"}))


def test_equal_inputs_with_something_hidden_have_different_digests():
    agent = Machine(alice())
    one, other = (agent.ask(input=HIDDEN) for _ in range(2))
    assert one["input_digest"] != other["input_digest"]


def test_the_program_that_asked_is_told_the_salt_and_others_are_not():
    agent, approver = Machine(alice()), Machine(bob())
    asked = agent.ask(input=HIDDEN)
    assert asked["input_digest"] == input_digest(HIDDEN, salt=asked["digest_salt"])
    seen = approver.get(f"/requests/{asked['id']}").body
    assert (seen["input_digest"], seen["digest_salt"]) == (asked["input_digest"], None)
    decided = approver.decide(asked, "approve", input_digest=seen["input_digest"]).body["decision"]
    assert (decided["approved_digest"], decided["digest_salt"]) == (asked["input_digest"], None)
    told = agent.get(f"/requests/{asked['id']}").body["decision"]
    assert (told["approved_digest"], told["digest_salt"]) == (asked["input_digest"], asked["digest_salt"])


def test_a_secret_that_a_person_adds_gives_the_approved_digest_a_salt_of_its_own():
    agent = Machine(alice())
    asked = agent.ask(input={"door": "east"})
    assert Machine(bob()).decide(asked, "edit", edited_input=HIDDEN).status == 200
    document = agent.get(f"/requests/{asked['id']}").body
    made = document["decision"]
    assert (document["digest_salt"], document["input_digest"]) == (None, asked["input_digest"])
    assert made["approved_digest"] == input_digest(HIDDEN, salt=made["digest_salt"]) != input_digest(HIDDEN)
    result = {"input_digest": made["approved_digest"], "output": "open"}
    assert agent.post(f"/requests/{asked['id']}/result", result).status == 201


def test_the_salt_of_an_entry_is_shown_only_where_nothing_is_hidden():
    agent = Machine(alice())
    agent.ask(input=HIDDEN)
    agent.ask(input={"door": "east"})
    hiding, plain = AuditEntry.objects.filter(event="request.created").order_by("pk")
    assert ["salt" in json.loads(entry.body) for entry in (hiding, plain)] == [True, True]
    assert [export_row(entry)["salt"] for entry in (hiding, plain)] == [None, json.loads(plain.body)["salt"]]
    assert "salt" not in shown_body(hiding)
    assert "sha256:" + hashlib.sha256(canonical(shown_body(plain))).hexdigest() == plain.digest
    assert [altered for altered in check_entries() if altered] == []


def test_what_is_called_secret_later_hides_the_salt_of_earlier_entries(settings):
    Machine(alice()).ask(input={"door": "east"})
    entry = AuditEntry.objects.get(event="request.created")
    settings.HITL_SECRET_FIELDS = ["door"]
    assert export_row(entry)["salt"] is None


def test_a_hook_reports_what_ran_with_a_hidden_value():
    agent, call = Machine(alice()), BASH | {"tool_input": HIDDEN}
    agent.post(f"{CLAUDE_CODE}?wait=0", call)
    decide(ApprovalRequest.objects.get(), bob(), Verdict.APPROVE)
    report = call | {"hook_event_name": "PostToolUse", "tool_response": "open"}
    assert agent.post(CLAUDE_CODE, report).status == 200
    entry = AuditEntry.objects.get(event="tool.result")
    assert entry.data["executed_digest"] == Decision.objects.get().approved_digest != input_digest(HIDDEN)
    assert agent.post(CLAUDE_CODE, report | {"tool_input": HIDDEN | {"pin": "0000"}}).refusal == (409, "other_input")


def test_a_report_is_compared_with_the_salt_of_the_decision_after_the_key_has_changed(settings):
    agent, call = Machine(alice()), BASH | {"tool_input": {"door": "east"}}
    agent.post(f"{CLAUDE_CODE}?wait=0", call)
    decide(ApprovalRequest.objects.get(), bob(), Verdict.EDIT, edited_input=HIDDEN)
    digest = digest_for(ApprovalRequest.objects.get(), HIDDEN, Decision.objects.get()).text
    assert digest == Decision.objects.get().approved_digest
    settings.SECRET_KEY = "the next key of this desk, long enough"
    assert digest_for(ApprovalRequest.objects.get(), HIDDEN, Decision.objects.get()).text == digest


def test_the_name_of_a_call_without_an_id_is_no_digest_of_its_input(settings):
    call = parse(PERMISSION | {"tool_input": HIDDEN}, CLAUDE)
    known = call.key
    settings.SECRET_KEY = "the key of another desk, long enough"
    assert known.startswith("permissionrequest:")
    assert call.key != known


def test_an_endpoint_with_inputs_gets_masks_and_the_callback_of_the_program_true_values():
    agent = Machine(alice())
    make_endpoint("https://hooks.example.org/", include_payload=True)
    create_signing_secret(agent.key)
    asked = agent.ask(input=HIDDEN, callback_url="https://agent.example.org/")
    Machine(bob()).decide(asked, "edit", edited_input=HIDDEN | {"door": "south"}, input_digest=asked["input_digest"])
    sent = [json.loads(webhooks._prepare(row)[2])["data"] for row in OutboxEvent.objects.filter(name="request.decided")]
    told = {each["decision"]["edited_input"]["pin"][:4]: each["decision"].get("digest_salt") for each in sent}
    assert told == {"7316": asked["digest_salt"], MARK: None}
