"""Render entries of the audit log as events of OCSF, the schema of security tools. `docs/decisions/ocsf.md` has the reasons.

An event is computed from the entry as JSONL has it, so it contains no value that JSONL masks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from approvals.json_types import JsonDict, JsonMapping
from approvals.models import AuditEntry
from approvals.models.actors import key_and_username
from approvals.record.audit import export_row
from approvals.record.events import DENIED, OTHER_INPUT, VERDICTS
from approvals.record.ocsf_classes import (
    ACCESS,
    AUTHENTICATION,
    CALL,
    CATEGORIES,
    ENTITIES,
    ENTITY,
    GROUP,
    OTHER,
    EventClass,
    class_of,
    privileges,
)
from approvals.states import Priority, Verdict

VERSION = "1.8.0"
NAME = "Pausepoint"
#: The members of `metadata` that all events share. The profile has the attributes of decisions, such as `disposition`.
METADATA = {
    "version": VERSION,
    "profiles": ["security_control"],
    "product": {"name": NAME, "vendor_name": NAME},
    "log_name": "audit",
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
STATUSES = {"Success": 1, "Failure": 2}
FAILURES = dict.fromkeys(
    (
        "login.failed",
        "turn.failed",
        "turn.refused",
        "resume.lost",
        "duty.unreadable",
        DENIED,
        OTHER_INPUT,
    ),
    "Failure",
)
#: The status by the state of a result.
RESULTS = {"succeeded": "Success", "failed": "Failure"}
APPROVED = (1, "Allowed", 8, "Approved")
BLOCKED = (2, "Denied", 2, "Blocked")
#: Action and disposition for the call; an answer to a question neither allows nor denies anything.
OUTCOMES: Mapping[str, tuple[int, str, int, str]] = {
    Verdict.APPROVE: APPROVED,
    Verdict.EDIT: APPROVED,
    Verdict.REJECT: (2, "Denied", 25, "Rejected"),
    Verdict.CANCEL: BLOCKED,
    Verdict.EXPIRE: BLOCKED,
}


def ocsf_line(entry: AuditEntry) -> str:
    return json.dumps(ocsf_event(export_row(entry)), ensure_ascii=False) + "\n"


def ocsf_event(row: JsonMapping) -> JsonDict:
    """Return the OCSF event of an entry as `export_row` returns it."""
    event = row["event"]
    data = row["data"]
    event_class, activity = class_of(event, data)
    activity_id = event_class.activities.get(activity, 99)
    category = event_class.uid // 1000
    severity = ALERTS.get(event) or PRIORITIES.get(data.get("priority"), 1)
    moment = datetime.fromisoformat(row["at"])
    members = {
        "category_uid": category,
        "category_name": CATEGORIES[category],
        "class_uid": event_class.uid,
        "class_name": event_class.name,
        "activity_id": activity_id,
        "activity_name": event if activity == OTHER else activity,
        "type_uid": event_class.uid * 100 + activity_id,
        "type_name": f"{event_class.name}: {activity}",
        "time": (moment - EPOCH) // timedelta(milliseconds=1),
        "severity_id": severity,
        "severity": SEVERITIES[severity],
        "is_alert": event in ALERTS,
        "metadata": METADATA
        | {
            "event_code": event,
            "uid": row["digest"],
            "sequence": row["id"],
            "original_time": row["at"],
        },
        "actor": _actor(row),
        **_status(event, data),
        **_subject(event_class, row),
        **_decision(event, data),
    }
    entry = {name: value for name, value in row.items() if value not in (None, "")}
    return _without_empty(members) | {"unmapped": entry}


def _actor(row: JsonMapping) -> JsonDict:
    """Return the person; with an API key, also its name as the application; without a person, Pausepoint."""
    key, username = key_and_username(row["person"])
    if not username:
        return {"app_name": NAME}
    return {"user": _user(username, row["actor_id"]), "app_name": key}


def _user(name: str, pk: int | None) -> JsonDict:
    return {"name": name, "uid": _text(pk), "type_id": 1, "type": "User"}


def _status(event: str, data: JsonMapping) -> JsonDict:
    status = FAILURES.get(event, "Success")
    if event == "tool.result":
        state = _text(data.get("state"))
        status = RESULTS.get(state, state or OTHER)
    detail = _text(data.get("error_text")) or _text(data.get("reason"))
    return {
        "status_id": STATUSES.get(status, 99),
        "status": status,
        "status_detail": detail if status == "Failure" else "",
    }


def _subject(event_class: EventClass, row: JsonMapping) -> JsonDict:
    """Return the members about what the event changes, which differ between classes."""
    data = row["data"]
    source = {"src_endpoint": {"ip": data.get("address")}}
    if event_class is CALL:
        return {
            "api": {
                "operation": row["tool"] or "unknown",
                "request": {"uid": row["tool_call_id"]},
            },
            "src_endpoint": {"uid": row["scope"], "svc_name": row["agent"]},
            "resources": [_without_empty(_entity("request", row))]
            if row["request_id"]
            else [],
        }
    if event_class is GROUP:
        return {"group": {"name": data.get("team") or data.get("group") or "unknown"}}
    if event_class is ENTITY:
        entity = _entity(row["event"].partition(".")[0], row)
        entity["type_id"] = 5 if entity["type"] == "Policy" else 99
        return source | {"entity": entity, "comment": data.get("comment")}
    # No username contains a bracket.
    name = data.get("user") or data.get("name") or "(unknown)"
    user = _user(name, data.get("user_id"))
    if "user" not in data and row["person"]:
        user = _actor(row)["user"]
    members: JsonDict = source | {"user": user}
    if event_class is ACCESS:
        members["privileges"] = sorted(set.union(*privileges(data)))
    if event_class is AUTHENTICATION:
        members |= {"service": {"name": NAME}, "is_mfa": "factor" in data}
        if "provider" in data:
            members |= {"auth_protocol_id": 4, "auth_protocol": "OpenID"}
    return members


def _entity(area: str, row: JsonMapping) -> JsonDict:
    noun, uid_member, name_member = ENTITIES[area]
    members = {**row, **row["data"]}
    uid = _text(members.get(uid_member))
    name = _text(members.get(name_member))
    return {"type": noun, "uid": uid, "name": name or ("" if uid else noun)}


def _decision(event: str, data: JsonMapping) -> JsonDict:
    """Return the decision or vote, the policy rule, and the absent person on whose behalf someone decided."""
    verdict = data.get("verdict")
    members: JsonDict = {"authorizations": [{"decision": verdict}] if verdict else []}
    outcome = OUTCOMES.get(str(verdict)) if event in VERDICTS else None
    if event == DENIED:
        outcome = BLOCKED
    if outcome:
        names = ("action_id", "action", "disposition_id", "disposition")
        members |= dict(zip(names, outcome, strict=True))
    if version := data.get("policy_version"):
        rule = {"type": "Policy", "name": data.get("rule"), "version": str(version)}
        members["policy"] = rule
    if absent := data.get("for"):
        observable = {"name": "unmapped.data.for", "value": absent}
        members["observables"] = [observable | {"type_id": 4, "type": "User Name"}]
    return members


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) else ""


def _without_empty(members: JsonMapping) -> JsonDict:
    """Return the members without nulls, which OCSF refuses, and without empty texts, lists and objects."""
    pruned = {
        name: _without_empty(value) if isinstance(value, Mapping) else value
        for name, value in members.items()
    }
    return {
        name: value for name, value in pruned.items() if value not in (None, "", [], {})
    }
