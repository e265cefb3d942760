"""The class and activity of OCSF for each event of the audit log. `docs/decisions/ocsf.md` has the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from approvals.json_types import JsonMapping

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
        (GROUP, OTHER, "team.changed group.changed"),
        (CALL, OTHER, "tool.result tool.other_input tool.denied"),
        (ENTITY, "Create", "request.created chat.branched key.created absence.set"),
        (ENTITY, "Create", "scope.created grant.given policy.proposed"),
        (ENTITY, "Create", "account.linked"),
        (ENTITY, "Read", "request.secret_shown"),
        (ENTITY, "Update", "request.decided request.cancelled request.expired"),
        (ENTITY, "Update", "request.claimed request.released request.assigned"),
        (ENTITY, "Update", "key.changed sign_in.changed duty.set admin.changed"),
        (ENTITY, "Update", "webhook.changed rule.changed scope.changed tool.changed"),
        (ENTITY, "Update", "priority.changed token_issuer.changed channel.changed"),
        (ENTITY, "Update", "engine.changed"),
        (
            ENTITY,
            "Delete",
            "key.revoked scope.deleted account.unlinked retention.pruned",
        ),
        (ENTITY, "Activate", "policy.applied"),
        (ENTITY, "Deactivate", "grant.revoked grant.ended absence.ended"),
        (ENTITY, "Suspend", "grant.stopped"),
        (ENTITY, "Resume", "grant.resumed"),
        (ENTITY, OTHER, "request.voted request.commented request.reminded"),
        (ENTITY, OTHER, "request.escalated request.advised request.undecidable"),
        (ENTITY, OTHER, "request.taken resume.taken resume.released resume.lost"),
        (ENTITY, OTHER, "resume.completed turn.stopped turn.failed turn.refused"),
        (ENTITY, OTHER, "event.resent duty.unreadable duty.readable grant.used"),
        (ENTITY, OTHER, "callback.not_taken callback.unknown callback.settled"),
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
    "deleted": "Delete",
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
    "token_issuer": ("Token issuer", "issuer", "name"),
    "channel": ("Channel", "team_id", "team_name"),
    "account": ("Account in a channel", "account", "user"),
    "absence": ("Absence", "", "person"),
    "duty": ("On call", "", "team"),
    "admin": ("Row", "row_id", "name"),
    "webhook": ("Webhook", "webhook_id", "name"),
    "engine": ("Engine", "engine_id", "name"),
    "callback": ("Callback", "id", "engine"),
    "rule": ("Notification rule", "rule_id", ""),
    "scope": ("Approver scope", "scope_id", ""),
    "tool": ("Tool", "", "tool"),
    "priority": ("Priorities", "", ""),
    "grant": ("Grant", "grant_id", "tool_name"),
    "policy": ("Policy", "digest", "version"),
    "agent": ("Agent", "", "agent"),
}


def class_of(event: str, data: JsonMapping) -> tuple[EventClass, str]:
    """Return the class and the activity of an entry."""
    event_class, activity = EVENT_CLASSES[event]
    change = str(data.get("change", ""))
    if event == "person.changed":
        gained, lost = privileges(data)
        if gained and lost:
            return ACCESS, OTHER
        if gained or lost:
            return ACCESS, "Assign Privileges" if gained else "Revoke Privileges"
        if change == "factors":
            return ACCOUNT, "MFA Factor Disable"
        if "active" in data:
            return ACCOUNT, "Enable" if data["active"] else "Disable"
        return ACCOUNT, OTHER
    changed = CHANGES.get(change.rpartition(" ")[2], activity)
    changes = event_class in (ENTITY, GROUP) and changed in event_class.activities
    return event_class, changed if changes else activity


def privileges(data: JsonMapping) -> tuple[set[str], set[str]]:
    """Return the roles and rights that a change of a person gives and takes; one that still waits does neither."""
    if data.get("change") == "confirmed":
        of = data.get("of")
        gained = data["value"] if of in ("roles", "rights") else ()
        lost = data["value"] if of == "role_taken" else ()
        return set(gained), set(lost)
    before, after = (data.get(when) or {} for when in ("before", "after"))
    held = {*before.get("roles", ()), *before.get("rights", ())}
    holds = {*after.get("roles", ()), *after.get("rights", ())}
    return holds - held, held - holds
