"""The audit log: the content of an entry, and that a result is recorded once."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from itertools import count

import pytest
from django.db import IntegrityError, transaction

from approvals import actions
from approvals.asking.digests import input_digest
from approvals.db.canonical_json import MAX_DEPTH, NotCanonical, canonical
from approvals.models import AuditEntry
from approvals.record import audit
from approvals.record.audit import Subject
from approvals.states import Kind, Verdict
from tests.support.desk.requests import PAST, REFUND, cancel, decide, make_request, make_workflow
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

CALL = Subject(scope="chat:1", run_id="run-1", tool_name="issueRefund", tool_call_id="call-1")
RESULT = {"output": {"executions": 1, "zeta": None, "alpha": "\u20ac"}}


def record_result(subject: Subject = CALL, data: dict | None = None) -> bool:
    return audit.record_once("tool.result", subject, data=data or RESULT, actor=None, via="system")


def test_a_result_is_recorded_once_and_repeats_are_counted(monkeypatch):
    # Two readings of a real clock may be equal.
    minutes = count()
    monkeypatch.setattr(audit.timezone, "now", lambda: datetime(2026, 11, 21, 12, next(minutes), tzinfo=UTC))
    assert record_result() is True
    first = AuditEntry.objects.values().get()
    assert (first["retry_count"], first["last_seen_at"]) == (0, first["at"])
    seen = [first["last_seen_at"]]
    for repeats in (1, 2):
        assert record_result(data={"output": "something else"}) is False
        again = AuditEntry.objects.values().get()
        seen.append(again["last_seen_at"])
        assert again == first | {"retry_count": repeats, "last_seen_at": seen[-1]}
    assert seen == sorted(set(seen))


def test_results_of_different_scopes_calls_and_events_do_not_collide():
    subjects = [
        CALL,
        Subject(scope="chat:2", tool_call_id="call-1"),
        Subject(scope="key:1", tool_call_id="call-1"),
        Subject(scope="chat:1", tool_call_id="call-2"),
    ]
    assert [record_result(subject) for subject in subjects] == [True] * 4
    assert audit.record_once("tool.denied", CALL, data={}, actor=None, via="rest") is True
    assert list(AuditEntry.objects.order_by("id").values_list("scope", "tool_call_id", "retry_count")) == [
        ("chat:1", "call-1", 0),
        ("chat:2", "call-1", 0),
        ("key:1", "call-1", 0),
        ("chat:1", "call-2", 0),
        ("chat:1", "call-1", 0),
    ]


def test_a_repeat_leaves_the_transaction_around_it_usable():
    record_result()
    with transaction.atomic():
        assert record_result() is False
        audit.record("turn.stopped", CALL, data={}, actor=None, via="stop")
    assert list(AuditEntry.objects.order_by("id").values_list("event", "retry_count")) == [
        ("tool.result", 1),
        ("turn.stopped", 0),
    ]


def test_a_violation_of_another_constraint_is_not_taken_for_a_repeat():
    nameless = Subject(scope=None, tool_call_id="call-1")  # type: ignore[arg-type]
    with pytest.raises(IntegrityError, match="scope"), transaction.atomic():
        record_result(nameless)
    assert AuditEntry.objects.count() == 0


def test_plain_records_are_never_deduplicated():
    for _ in range(2):
        audit.record("turn.stopped", CALL, data={}, actor=None, via="stop")
    assert list(AuditEntry.objects.values_list("dedup_key", "retry_count")) == [(None, 0), (None, 0)]


def test_an_event_is_recorded_once_only_if_the_check_expects_its_key():
    with pytest.raises(AssertionError, match=r"turn\.stopped"):
        audit.record_once("turn.stopped", CALL, data={}, actor=None, via="stop")
    assert AuditEntry.objects.count() == 0


@pytest.mark.parametrize("write", [audit.record, audit.record_once])
def test_an_unknown_event_is_refused(write):
    with pytest.raises(AssertionError, match=r"tool\.results"):
        write("tool.results", CALL, data={}, actor=None, via="system")
    assert AuditEntry.objects.count() == 0


def test_the_body_is_the_whole_entry_in_canonical_form_and_the_digest_is_its_hash():
    moment, person = datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC), alice()
    audit.record("tool.result", CALL, data=RESULT, actor=person, via="dashboard", at=moment)
    entry = AuditEntry.objects.get()
    salt = json.loads(entry.body)["salt"]
    assert re.fullmatch("[0-9a-f]{32}", salt)
    assert entry.body == (
        f'{{"actor_id":{person.pk},"actor_name":"alice","agent":"","at":"2026-11-21T12:00:00.000005Z",'
        '"data":{"output":{"alpha":"\u20ac","executions":1,"zeta":null}},"event":"tool.result","request_id":null,'
        f'"run_id":"run-1","salt":"{salt}","scope":"chat:1","thread_id":"","tool_call_id":"call-1","tool_name":"issueRefund",'
        '"via":"dashboard"}'
    )
    assert entry.body.encode() == canonical(json.loads(entry.body))
    assert entry.digest == "sha256:" + hashlib.sha256(entry.body.encode()).hexdigest()
    assert (entry.at, entry.last_seen_at, entry.data) == (moment, moment, RESULT)


def test_the_columns_equal_the_body():
    record_result()
    entry = AuditEntry.objects.get()
    body = json.loads(entry.body)
    for name in ("event", "scope", "run_id", "thread_id", "agent", "tool_name", "tool_call_id", "actor_id", "via"):
        assert getattr(entry, name) == body[name]
    assert (entry.actor_name, entry.request_id) == (body["actor_name"], body["request_id"])


def test_values_within_bounds_can_be_recorded_together():
    value: object = "x" * 900_000
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    canonical(value)
    record_result(data={"output": value})
    assert AuditEntry.objects.get().data == {"output": value}


def test_a_value_without_a_canonical_form_is_refused_and_nothing_is_written():
    with pytest.raises(NotCanonical, match="NaN"):
        record_result(data={"output": float("nan")})
    assert AuditEntry.objects.count() == 0


def test_each_step_of_a_request_is_recorded_with_actor_data_and_via():
    owner, decider = alice(), bob()
    workflow = make_workflow(owner, key="run-7", thread_id="thread-1", source="api")
    asked = {"workflow": workflow, "tool_name": "issueRefund"}
    edited = make_request(owner, tool_call_id="call-1", **asked)
    expired = make_request(
        owner, Kind.QUESTION, tool_call_id="call-2", deadline_at=PAST, default_response="no", **asked
    )
    withdrawn = make_request(owner, **asked)
    decide(edited, decider, Verdict.EDIT, edited_input={"amount": 1}, comment="Less.")
    actions.expire(expired.pk)
    cancel(withdrawn, owner, "Never mind.")
    columns = ("event", "request_id", "tool_call_id", "actor_name", "via")
    assert list(AuditEntry.objects.order_by("id").values_list(*columns)) == [
        ("request.created", edited.pk, "call-1", "alice", "api"),
        ("request.created", expired.pk, "call-2", "alice", "api"),
        ("request.created", withdrawn.pk, "", "alice", "api"),
        ("request.decided", edited.pk, "call-1", "bob", "dashboard"),
        ("request.expired", expired.pk, "call-2", "", "deadline"),
        ("request.cancelled", withdrawn.pk, "", "alice", "dashboard"),
    ]
    assert set(AuditEntry.objects.values_list("scope", "run_id", "thread_id", "agent", "tool_name")) == {
        ("key:1", "run-7", "thread-1", "support", "issueRefund")
    }
    created, *_ = AuditEntry.objects.order_by("id")
    assert (created.data["input"], created.data["input_digest"]) == (REFUND, edited.input_digest)
    said = [entry.data for entry in AuditEntry.objects.exclude(event="request.created").order_by("id")]
    digest = input_digest({"amount": 1})
    nothing = {"comment": "", "edited_input": None, "approved_digest": "", "answer": None, "priority": "normal"}
    assert said == [
        nothing | {"verdict": "edit", "comment": "Less.", "edited_input": {"amount": 1}, "approved_digest": digest},
        nothing | {"verdict": "expire", "answer": "no"},
        nothing | {"verdict": "cancel", "comment": "Never mind."},
    ]
