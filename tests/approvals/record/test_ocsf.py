"""The export for SIEMs: every event as OCSF, valid by the packaged schema and free of contradictions."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import sync_to_async
from hypothesis import given
from hypothesis import strategies as st
from ocsf_json_schema import get_packaged_versions

from approvals.models import AuditEntry
from approvals.models.actors import RecordedActor
from approvals.record import audit, ocsf
from approvals.record.events import EVENTS
from approvals.record.ocsf_classes import ENTITIES, ENTITY, EVENT_CLASSES, OTHER
from approvals.states import Priority, Verdict
from tests.approvals.record.ocsf_checks import contradictions, schema_problems
from tests.approvals.record.test_audit_export import download, make_entry
from tests.support.machines import machine
from tests.support.people import make_person

AT = datetime(2026, 11, 21, 12, 0, 0, 5999, tzinfo=UTC)
BOB = RecordedActor(7, "bob")
KEY = RecordedActor(7, "API key billing of bob")


def entry_of(event, data=None, *, actor=BOB, at=AT, pk=3, **columns):
    subject = audit.Subject(**{"scope": "key:1"} | columns)
    row = audit._row(event, subject, data or {}, actor, "dashboard", at)
    return AuditEntry(pk=pk, **row)


def event_of(*args, **kwargs):
    """The checked event of an entry."""
    event = json.loads(ocsf.ocsf_line(entry_of(*args, **kwargs)))
    assert (schema_problems(event), contradictions(event)) == ([], [])
    return event


def test_every_event_of_the_log_has_a_class_and_every_entity_a_type():
    assert sorted(EVENT_CLASSES) == sorted(EVENTS)
    areas = {event.partition(".")[0] for event, (kind, _name) in EVENT_CLASSES.items() if kind is ENTITY}
    assert areas == set(ENTITIES)
    for kind, activity in EVENT_CLASSES.values():
        assert activity == OTHER or activity in kind.activities


def test_it_is_the_newest_version_that_the_packaged_schema_has():
    newest = max(
        (version for version in get_packaged_versions() if "-" not in version),
        key=lambda version: [int(part) for part in version.split(".")],
    )
    assert newest == ocsf.VERSION


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_valid_also_with_nothing_but_its_name(event):
    assert event_of(event, actor=None)["metadata"]["event_code"] == event


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
names = st.from_regex(r"[A-Za-z0-9@.+_-]{1,20}", fullmatch=True)
described = st.fixed_dictionaries({"email": texts, "roles": st.lists(names), "rights": st.lists(names)})
#: Members that the desk records, with the types that it gives them; other members may hold anything.
members = st.fixed_dictionaries(
    {},
    optional={
        "verdict": st.sampled_from(Verdict.values),
        "priority": st.sampled_from(Priority.values),
        "comment": texts,
        "title": texts,
        "reason": texts,
        "error_text": texts,
        "for": names,
        "state": st.sampled_from(["succeeded", "failed", "denied", "cancelled"]),
        "change": st.sampled_from(
            ["created", "removed", "changed", "confirmed", "factors", "secret rotated", "mapping added"]
        ),
        "of": st.sampled_from(["roles", "rights", "role_taken"]),
        "value": st.lists(names),
        "before": described,
        "after": described,
        "active": st.booleans(),
        "user": names,
        "user_id": st.integers(1, 2**53 - 1),
        "address": st.just("") | st.ip_addresses().map(str),
        "provider": names,
        "factor": names,
        "policy_version": st.integers(1, 99),
        "rule": st.none() | texts,
        "scope_id": st.integers(1, 99),
        "team": names,
    },
)
columns = st.fixed_dictionaries(
    {"scope": names},
    optional={
        "run_id": texts,
        "request_id": st.uuids().map(str),
        "thread_id": texts,
        "agent": texts,
        "tool_name": texts,
        "tool_call_id": texts,
        "amount": st.floats(allow_nan=False, allow_infinity=False),
    },
)
known = {
    *(
        "verdict",
        "priority",
        "comment",
        "title",
        "reason",
        "error_text",
        "for",
        "state",
        "change",
        "of",
        "value",
        "before",
    ),
    *(
        "after",
        "active",
        "user",
        "user_id",
        "address",
        "provider",
        "factor",
        "policy_version",
        "rule",
        "scope_id",
        "team",
    ),
    *(
        "name",
        "prefix",
        "digest",
        "version",
        "subject",
        "issuer",
        "person",
        "row_id",
        "grant_id",
        "tool_name",
        "event_id",
    ),
    *("webhook_id", "rule_id", "event", "secrets"),
}
others = st.dictionaries(texts.filter(lambda name: name not in known), values, max_size=3)
actors = st.none() | st.builds(RecordedActor, st.integers(1, 2**53 - 1), names | names.map("API key a b of {}".format))


@given(
    st.sampled_from(EVENTS), members, others, columns, actors,
    st.integers(0, 2**52).map(lambda micros: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)),
)  # fmt: skip
def test_whatever_the_log_holds_its_event_is_valid_and_agrees_with_itself(event, recorded, more, about, actor, at):
    made = event_of(event, more | recorded, actor=actor, at=at, **about)
    row = audit.export_row(entry_of(event, more | recorded, actor=actor, at=at, **about))
    assert made["unmapped"]["data"] == row["data"]


def test_a_decision_names_its_person_its_key_its_request_its_rule_and_on_whose_behalf_it_was_made():
    data = {"verdict": "reject", "comment": "No.", "priority": "critical", "for": "erin"}
    rule = {"policy_version": 4, "rule": "large refunds"}
    pk = "0194d0a2-0000-7000-8000-000000000000"
    event = event_of("request.decided", data | rule, actor=KEY, request_id=pk, tool_name="refund")
    shown = {
        name: event[name]
        for name in (
            "type_uid", "type_name", "time", "severity", "status", "actor", "entity", "comment", "action", "disposition",
            "policy", "authorizations", "observables", "is_alert",
        )
    }  # fmt: skip
    assert shown == {
        "type_uid": 300403,
        "type_name": "Entity Management: Update",
        # Cut, not rounded: a rounded one could lie in the future.
        "time": 1795262400005,
        "severity": "Critical",
        "status": "Success",
        "actor": {"user": {"name": "bob", "uid": "7", "type_id": 1, "type": "User"}, "app_name": "billing"},
        "entity": {"type_id": 99, "type": "Request", "uid": pk},
        "comment": "No.",
        "action": "Denied",
        "disposition": "Rejected",
        "policy": {"type": "Policy", "name": "large refunds", "version": "4"},
        "authorizations": [{"decision": "reject"}],
        "observables": [{"name": "unmapped.data.for", "type_id": 4, "type": "User Name", "value": "erin"}],
        "is_alert": False,
    }
    assert event["metadata"]["sequence"] == 3


@pytest.mark.parametrize(
    ("event", "data", "type_name", "status"),
    [
        ("login.succeeded", {"address": "10.0.0.1", "factor": "totp"}, "Authentication: Logon", "Success"),
        ("login.failed", {"name": "bob", "address": ""}, "Authentication: Logon", "Failure"),
        ("login.break_glass", {"address": "10.0.0.1"}, "Authentication: Other", "Success"),
        ("person.changed", {"user": "al", "active": False}, "Account Change: Disable", "Success"),
        ("person.changed", {"user": "al", "change": "factors"}, "Account Change: MFA Factor Disable", "Success"),
        (
            "person.changed",
            {"user": "al", "before": {"roles": []}, "after": {"roles": ["approver"]}},
            "User Access Management: Assign Privileges",
            "Success",
        ),
        (
            "person.changed",
            {"user": "al", "before": {"roles": ["approver"], "rights": []}, "after": {"roles": [], "rights": []}},
            "User Access Management: Revoke Privileges",
            "Success",
        ),
        (
            "person.changed",
            {"user": "al", "before": {"roles": ["approver"]}, "after": {"roles": ["auditor"]}},
            "User Access Management: Other",
            "Success",
        ),
        # One that waits for a second administrator gives nothing yet.
        (
            "person.changed",
            {"user": "al", "change": "requested", "of": "roles", "value": ["a"]},
            "Account Change: Other",
            "Success",
        ),
        (
            "person.changed",
            {"user": "al", "change": "confirmed", "of": "rights", "value": ["a"]},
            "User Access Management: Assign Privileges",
            "Success",
        ),
        (
            "person.changed",
            {"user": "al", "change": "confirmed", "of": "role_taken", "value": ["administrator"]},
            "User Access Management: Revoke Privileges",
            "Success",
        ),
        (
            "person.changed",
            {"user": "al", "change": "confirmed", "of": "email", "value": "a@b"},
            "Account Change: Other",
            "Success",
        ),
        # A cancelled invitation deletes no account.
        ("person.invited", {"user": "al", "change": "cancelled"}, "Account Change: Other", "Success"),
        ("team.changed", {"change": "removed"}, "Group Management: Delete", "Success"),
        ("team.changed", {"change": "settings"}, "Group Management: Other", "Success"),
        ("webhook.changed", {"change": "created"}, "Entity Management: Create", "Success"),
        ("webhook.changed", {"change": "secret rotated"}, "Entity Management: Update", "Success"),
        ("sign_in.changed", {"change": "mapping removed"}, "Entity Management: Delete", "Success"),
        ("change.waiting", {"change": "confirmed", "of": "tool"}, "Entity Management: Activate", "Success"),
        ("tool.result", {"state": "succeeded"}, "API Activity: Other", "Success"),
        ("tool.result", {"state": "cancelled"}, "API Activity: Other", "cancelled"),
        ("tool.denied", {}, "API Activity: Other", "Failure"),
        ("grant.stopped", {"reason": "x"}, "Entity Management: Suspend", "Success"),
    ],
)
def test_what_changed_decides_the_class_and_the_activity(event, data, type_name, status):
    made = event_of(event, data)
    assert (made["type_name"], made["status"]) == (type_name, status)


def test_a_failed_log_in_names_the_account_or_says_that_it_is_unknown():
    known, unknown = (
        event_of("login.failed", {"name": name, "address": "2001:db8::1", "reason": "no link"}, actor=None)
        for name in ("bob", "")
    )
    assert (known["user"]["name"], unknown["user"]["name"]) == ("bob", "(unknown)")
    assert (known["status_detail"], known["src_endpoint"], known["actor"]) == (
        "no link",
        {"ip": "2001:db8::1"},
        {"app_name": "Pausepoint"},
    )


@pytest.mark.parametrize(
    ("priority", "severity"), [("low", "Informational"), ("normal", "Low"), ("high", "High"), ("critical", "Critical")]
)
def test_the_priority_of_the_request_is_the_severity(priority, severity):
    assert event_of("request.created", {"priority": priority, "title": "Pay"})["severity"] == severity


def test_alerts_are_marked_and_are_not_informational():
    made = {event: event_of(event) for event in EVENTS}
    assert sorted(event for event, each in made.items() if each["is_alert"]) == sorted(ocsf.ALERTS)
    assert {made[event]["severity_id"] > 2 for event in ocsf.ALERTS} == {True}


#: Changes that make an event contradict itself, and whether the packaged schema finds them.
WRONG = {
    "another version": ({"metadata.version": "1.1.0"}, False),
    "seconds for milliseconds": ({"time": 1795262400}, False),
    "a time before 1970": ({"time": -1}, False),
    "the type of another activity": ({"type_uid": 300404}, False),
    "the name of another class": ({"class_name": "Authentication"}, False),
    "the name of another category": ({"category_name": "Application Activity"}, False),
    "the caption of another severity": ({"severity": "Fatal"}, False),
    "the caption of another status": ({"status": "Failure"}, False),
    "the name of another activity": ({"activity_name": "Delete"}, False),
    "Other without a name": ({"entity.type": ""}, False),
    "denied and approved": ({"action_id": 2, "action": "Denied"}, False),
    "an observable that is not there": ({"observables": [{"name": "comment", "type_id": 4, "value": "eve"}]}, False),
    "an empty name": ({"actor.user.name": ""}, False),
    "a date for an address": ({"src_endpoint": {"ip": "2026-11-29"}}, False),
    "a number for an address": ({"src_endpoint": {"ip": "10203040"}}, False),
    "the type of another class": ({"type_uid": 300201}, True),
    "another category": ({"category_uid": 6}, True),
    "an unknown activity": ({"activity_id": 77}, True),
    "a number as text": ({"time": "1795262400005"}, True),
    "a null": ({"comment": None}, True),
    "an attribute of its own": ({"verdict": "approve"}, True),
    "a user without a name or id": ({"actor.user": {}}, True),
    "a profile that is not named": ({"metadata.profiles": []}, True),
}


@pytest.mark.parametrize(("changes", "found"), WRONG.values(), ids=WRONG)
def test_the_schema_finds_wrong_forms_and_our_checks_find_contradictions(changes, found):
    event = event_of("request.decided", {"verdict": "approve", "comment": "Yes."}, request_id=str(AT.year) * 4)
    for path, value in changes.items():
        *parents, last = path.split(".")
        part = event
        for name in parents:
            part = part[name]
        part[last] = value
    assert bool(schema_problems(event)) is found
    assert found or contradictions(event) != []


@pytest.mark.django_db(transaction=True)
async def test_the_download_has_an_event_for_each_filtered_entry_in_order():
    for number in range(3):
        await sync_to_async(make_entry)(tool_call_id=f"call-{number}", data={"verdict": "approve"})
    await sync_to_async(make_entry)("tool.result", data={"state": "succeeded"})
    response, text = await download("export.ocsf?event=request.decided")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["unmapped"]["tool_call_id"] for line in lines] == ["call-0", "call-1", "call-2"]
    assert response["Content-Type"] == "application/x-ndjson"
    assert response["Content-Disposition"].endswith('.ocsf.jsonl"')


@pytest.mark.django_db(transaction=True)
def test_programs_continue_after_the_last_line_with_either_format():
    auditor = machine(make_person("erin", "view_auditentry"), "audit")
    for _number in range(3):
        make_entry()
    events, entries = (
        [json.loads(line) for line in auditor.get(f"/api/v1/audit?format={kind}").text.splitlines()]
        for kind in ("ocsf", "jsonl")
    )
    assert [event["metadata"]["sequence"] for event in events] == [entry["id"] for entry in entries]
    after = events[-2]["metadata"]["sequence"]
    rest = auditor.get(f"/api/v1/audit?format=ocsf&after={after}").text
    # The same entry is the same event each time, byte by byte, so a SIEM can drop repeats by `metadata.uid`.
    assert rest == json.dumps(events[-1], ensure_ascii=False) + "\n"
