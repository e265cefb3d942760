"""Render entries of the audit log as events of OCSF, the schema of security tools. `docs/decisions/ocsf.md` has the reasons.

An event is computed from the entry as JSONL has it, so it contains no value that JSONL masks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from approvals.json_types import JsonDict, JsonMapping
from approvals.models import AuditEntry
from approvals.models.actors import key_and_username
from approvals.record.audit import export_row
from approvals.record.events import DENIED, OTHER_INPUT, VERDICTS
from approvals.states import Priority, Verdict

VERSION = "1.8.0"
#: The profile with the attributes of decisions: action, disposition, policy, authorizations, alert.
PROFILES = ("security_control",)
PRODUCT = {"name": "Pausepoint", "vendor_name": "Pausepoint"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OTHER = "Other"
CATEGORIES = {3: "Identity & Access Management", 6: "Application Activity"}


@dataclass(frozen=True, slots=True)
class EventClass:
    """A class of OCSF, with the ids of those of its activities that occur here."""

    uid: int
    name: str
    activities: Mapping[str, int]


ACCOUNT = EventClass(
    3001,
    "Account Change",
    {
        "Create": 1,
        "Enable": 2,
        "Password Change": 3,
        "Password Reset": 4,
        "Disable": 5,
        "MFA Factor Enable": 10,
        "MFA Factor Disable": 11,
    },
)
AUTHENTICATION = EventClass(3002, "Authentication", {"Logon": 1})
ENTITY = EventClass(
    3004,
    "Entity Management",
    {
        "Create": 1,
        "Read": 2,
        "Update": 3,
        "Delete": 4,
        "Activate": 10,
        "Deactivate": 11,
        "Suspend": 12,
        "Resume": 13,
    },
)
ACCESS = EventClass(
    3005, "User Access Management", {"Assign Privileges": 1, "Revoke Privileges": 2}
)
GROUP = EventClass(3006, "Group Management", {"Delete": 5, "Create": 6})
CALL = EventClass(6003, "API Activity", {})

#: The class and activity of each event. With OTHER, the name of the activity is that of the event.
EVENT_CLASSES = {
    event: (event_class, activity)
    for event_class, activity, events in (
        (AUTHENTICATION, "Logon", "login.succeeded login.failed"),
        # They stand beside a log-in, which must not count twice.
        (AUTHENTICATION, OTHER, "login.break_glass login.new_address"),
        (ACCOUNT, "Create", "person.created"),
        (ACCOUNT, "Enable", "invitation.accepted"),
        (ACCOUNT, "Password Change", "password.changed"),
        (ACCOUNT, "Password Reset", "password.reset"),
        (ACCOUNT, "MFA Factor Enable", "factor.added"),
        (ACCOUNT, "MFA Factor Disable", "factor.removed"),
        (ACCOUNT, OTHER, "person.invited person.changed"),
        (GROUP, OTHER, "team.changed"),
        (CALL, OTHER, "tool.result tool.other_input tool.denied"),
        (ENTITY, "Create", "request.created chat.branched key.created absence.set"),
        (ENTITY, "Create", "scope.created grant.given policy.proposed"),
        (ENTITY, "Read", "request.secret_shown"),
        (ENTITY, "Update", "request.decided request.cancelled request.expired"),
        (ENTITY, "Update", "request.claimed request.released request.assigned"),
        (ENTITY, "Update", "key.changed sign_in.changed duty.set admin.changed"),
        (ENTITY, "Update", "webhook.changed rule.changed scope.changed tool.changed"),
        (ENTITY, "Update", "priority.changed"),
        (ENTITY, "Delete", "key.revoked scope.deleted retention.pruned"),
        (ENTITY, "Activate", "policy.applied"),
        (ENTITY, "Deactivate", "grant.revoked grant.ended absence.ended"),
        (ENTITY, "Suspend", "grant.stopped"),
        (ENTITY, "Resume", "grant.resumed"),
        (ENTITY, OTHER, "request.voted request.commented request.reminded"),
        (ENTITY, OTHER, "request.escalated request.advised request.undecidable"),
        (ENTITY, OTHER, "request.taken resume.taken resume.released resume.lost"),
        (ENTITY, OTHER, "resume.completed turn.stopped turn.failed turn.refused"),
        (ENTITY, OTHER, "event.resent duty.unreadable duty.readable grant.used"),
        (ENTITY, OTHER, "policy.declined change.waiting change.alone agent.flooded"),
    )
    for event in events.split()
}
#: The activity by the last word of the member `change`, for events that cover several changes.
CHANGES = {
    "created": "Create",
    "added": "Create",
    "requested": "Create",
    "confirmed": "Activate",
    "removed": "Delete",
    "withdrawn": "Delete",
}
#: By the first word of an event: the type of the entity, and the members with its id and its name.
ENTITIES = {
    "request": ("Request", "request_id", "title"),
    "resume": ("Request", "request_id", "title"),
    "turn": ("Run", "run_id", "agent"),
    "chat": ("Chat", "chat", "agent"),
    "event": ("Event", "event_id", "event"),
    "key": ("API key", "prefix", "name"),
    "retention": ("Old data", "", ""),
    "change": ("Change", "subject", "of"),
    "sign_in": ("Sign-in", "issuer", "name"),
    "absence": ("Absence", "", "person"),
    "duty": ("On call", "", "team"),
    "admin": ("Row", "row_id", "name"),
    "webhook": ("Webhook", "webhook_id", "name"),
    "rule": ("Notification rule", "rule_id", ""),
    "scope": ("Approver scope", "scope_id", ""),
    "tool": ("Tool", "", "tool"),
    "priority": ("Priorities", "", ""),
    "grant": ("Grant", "grant_id", "tool_name"),
    "policy": ("Policy", "digest", "version"),
    "agent": ("Agent", "", "agent"),
}
POLICY_ENTITY = 5
SEVERITIES = {1: "Informational", 2: "Low", 3: "Medium", 4: "High", 5: "Critical"}
PRIORITIES = {Priority.NORMAL: 2, Priority.HIGH: 4, Priority.CRITICAL: 5}
#: The severity of events that someone should look at.
ALERTS = {
    "login.break_glass": 4,
    "login.new_address": 3,
    DENIED: 3,
    OTHER_INPUT: 4,
    "change.alone": 3,
    "agent.flooded": 3,
    "resume.lost": 3,
    "request.undecidable": 3,
}
FAILURES = {
    "login.failed",
    "turn.failed",
    "turn.refused",
    "resume.lost",
    "duty.unreadable",
    DENIED,
    OTHER_INPUT,
}
STATUSES = {"Success": 1, "Failure": 2}
#: The status by the state of a result.
RESULT_STATUSES = {"succeeded": "Success", "failed": "Failure"}
APPROVED = {
    "action_id": 1,
    "action": "Allowed",
    "disposition_id": 8,
    "disposition": "Approved",
}
BLOCKED = {
    "action_id": 2,
    "action": "Denied",
    "disposition_id": 2,
    "disposition": "Blocked",
}
#: The outcome for the call; an answer to a question neither allows nor denies anything.
OUTCOMES = {
    Verdict.APPROVE: APPROVED,
    Verdict.EDIT: APPROVED,
    Verdict.REJECT: BLOCKED | {"disposition_id": 25, "disposition": "Rejected"},
    Verdict.CANCEL: BLOCKED,
    Verdict.EXPIRE: BLOCKED,
}
#: No username contains a bracket.
UNKNOWN_USER = {"name": "(unknown)", "type_id": 0, "type": "Unknown"}


def ocsf_line(entry: AuditEntry) -> str:
    return json.dumps(ocsf_event(export_row(entry)), ensure_ascii=False) + "\n"


def ocsf_event(row: JsonMapping) -> JsonDict:
    """Return the OCSF event of an entry as `export_row` returns it."""
    event = row["event"]
    data = row["data"]
    event_class, activity = _class_of(event, data)
    activity_id = event_class.activities.get(activity, 99)
    activity_name = event if activity == OTHER else activity
    category = event_class.uid // 1000
    severity = ALERTS.get(event) or PRIORITIES.get(data.get("priority"), 1)
    return {
        "category_uid": category,
        "category_name": CATEGORIES[category],
        "class_uid": event_class.uid,
        "class_name": event_class.name,
        "activity_id": activity_id,
        "activity_name": activity_name,
        "type_uid": event_class.uid * 100 + activity_id,
        "type_name": f"{event_class.name}: {activity}",
        "time": (datetime.fromisoformat(row["at"]) - EPOCH)
        // timedelta(milliseconds=1),
        "severity_id": severity,
        "severity": SEVERITIES[severity],
        "is_alert": event in ALERTS,
        "metadata": {
            "version": VERSION,
            "profiles": list(PROFILES),
            "product": PRODUCT,
            "log_name": "audit",
            "event_code": event,
            "uid": row["digest"],
            "sequence": row["id"],
            "original_time": row["at"],
        },
        "actor": _actor(row),
        **_status(event, data),
        **_subject(event_class, row),
        **_decision(event, data),
        "unmapped": {
            name: value for name, value in row.items() if value not in (None, "")
        },
    }


def _class_of(event: str, data: JsonMapping) -> tuple[EventClass, str]:
    event_class, activity = EVENT_CLASSES[event]
    change = str(data.get("change", ""))
    if event == "person.changed":
        given, taken = _privileges(data)
        if given or taken:
            both = {
                (True, False): "Assign Privileges",
                (False, True): "Revoke Privileges",
            }
            return ACCESS, both.get((bool(given), bool(taken)), OTHER)
        if change == "factors":
            return ACCOUNT, "MFA Factor Disable"
        changes = {True: "Enable", False: "Disable"}
        return ACCOUNT, changes.get(data.get("active"), OTHER)
    changed = CHANGES.get(change.rpartition(" ")[2], activity)
    if event_class in (ENTITY, GROUP) and changed in event_class.activities:
        return event_class, changed
    return event_class, activity


def _privileges(data: JsonMapping) -> tuple[set[str], set[str]]:
    """Return the roles and rights that a change of a person gives and takes; one that still waits does neither."""
    if data.get("change") == "confirmed":
        value = data.get("value")
        given = value if data.get("of") in ("roles", "rights") else ()
        taken = value if data.get("of") == "role_taken" else ()
        return set(given or ()), set(taken or ())
    before, after = (
        {
            name
            for part in ("roles", "rights")
            for name in (data.get(when) or {}).get(part, ())
        }
        for when in ("before", "after")
    )
    return after - before, before - after


def _actor(row: JsonMapping) -> JsonDict:
    """Return the person; with an API key, also its name as the application; without a person, Pausepoint."""
    key, username = key_and_username(row["person"])
    if not username:
        return {"app_name": PRODUCT["name"]}
    app = {"app_name": key} if key else {}
    return {"user": _user(username, row["actor_id"])} | app


def _user(name: str, pk: int | None) -> JsonDict:
    uid = {} if pk is None else {"uid": str(pk)}
    return {"name": name, "type_id": 1, "type": "User"} | uid


def _status(event: str, data: JsonMapping) -> JsonDict:
    status = "Failure" if event in FAILURES else "Success"
    if event == "tool.result":
        state = str(data.get("state"))
        status = RESULT_STATUSES.get(state, state)
    detail = _text(data.get("error_text")) or _text(data.get("reason"))
    reason = {"status_detail": detail} if detail and status == "Failure" else {}
    return {"status_id": STATUSES.get(status, 99), "status": status} | reason


def _subject(event_class: EventClass, row: JsonMapping) -> JsonDict:
    """Return the members about what the event changes, which differ between classes."""
    data = row["data"]
    if event_class is CALL:
        return _call(row)
    if event_class is GROUP:
        return {"group": {"name": data.get("team") or "unknown"}}
    address = {"src_endpoint": {"ip": data["address"]}} if data.get("address") else {}
    if event_class is ENTITY:
        comment = {"comment": data["comment"]} if data.get("comment") else {}
        return {"entity": _entity(row)} | address | comment
    name = data.get("user") or data.get("name")
    user = _actor(row).get("user", UNKNOWN_USER)
    if name:
        user = _user(name, data.get("user_id"))
    members = {"user": user} | address
    if event_class is ACCESS:
        given, taken = _privileges(data)
        members["privileges"] = sorted(given | taken)
    if event_class is AUTHENTICATION:
        members |= {"service": {"name": PRODUCT["name"]}, "is_mfa": "factor" in data}
        if "provider" in data:
            members |= {"auth_protocol_id": 4, "auth_protocol": "OpenID"}
    return members


def _call(row: JsonMapping) -> JsonDict:
    api: JsonDict = {"operation": row["tool"] or "unknown"}
    source = {"uid": row["scope"]}
    if row["tool_call_id"]:
        api["request"] = {"uid": row["tool_call_id"]}
    if row["agent"]:
        source["svc_name"] = row["agent"]
    members = {"api": api, "src_endpoint": source}
    if row["request_id"]:
        members["resources"] = [{"type": "Request", "uid": row["request_id"]}]
    return members


def _entity(row: JsonMapping) -> JsonDict:
    noun, uid_member, name_member = ENTITIES[row["event"].partition(".")[0]]
    members = {**row, **row["data"]}
    uid = _text(members.get(uid_member))
    name = _text(members.get(name_member)) or ("" if uid else noun)
    entity: JsonDict = {
        "type_id": POLICY_ENTITY if noun == "Policy" else 99,
        "type": noun,
    }
    return entity | {
        member: text for member, text in (("uid", uid), ("name", name)) if text
    }


def _decision(event: str, data: JsonMapping) -> JsonDict:
    """Return the decision or vote, the policy rule, and the absent person on whose behalf someone decided."""
    members: JsonDict = {}
    if event == DENIED:
        members |= BLOCKED
    verdict = data.get("verdict")
    if event in VERDICTS:
        members |= OUTCOMES.get(verdict, {})
    if verdict:
        members["authorizations"] = [{"decision": verdict}]
    if data.get("policy_version") is not None:
        rule = {"name": data["rule"]} if data.get("rule") else {}
        version = str(data["policy_version"])
        members["policy"] = {"type": "Rule", "version": version} | rule
    if data.get("for"):
        absent = {"name": "unmapped.data.for", "value": data["for"]}
        members["observables"] = [absent | {"type_id": 4, "type": "User Name"}]
    return members


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) else ""
