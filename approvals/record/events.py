"""The events of the audit log."""

from __future__ import annotations

#: Every event name of the log.
EVENTS = (
    "request.created",
    "request.voted",
    "request.decided",
    "request.cancelled",
    "request.expired",
    "request.claimed",
    "request.released",
    "request.assigned",
    "request.commented",
    *("request.reminded", "request.escalated"),
    "request.advised",
    "request.undecidable",
    "request.taken",
    "request.secret_shown",
    "resume.taken",
    "resume.released",
    "resume.lost",
    "resume.completed",
    "tool.result",
    "tool.other_input",
    "tool.denied",
    "turn.stopped",
    "turn.failed",
    "turn.refused",
    "chat.branched",
    "event.resent",
    "key.created",
    "key.revoked",
    "key.changed",
    "retention.pruned",
    "login.succeeded",
    "login.failed",
    "password.changed",
    "password.reset",
    "person.created",
    "person.invited",
    "invitation.accepted",
    "person.changed",
    *("change.waiting", "change.alone"),
    "team.changed",
    *("absence.set", "absence.ended"),
    *("duty.set", "duty.unreadable", "duty.readable"),
    "admin.changed",
    "webhook.changed",
    "rule.changed",
    *("scope.created", "scope.changed", "scope.deleted"),
    "tool.changed",
    "priority.changed",
    *("grant.given", "grant.used", "grant.revoked", "grant.ended", "grant.stopped", "grant.resumed"),
    *("policy.proposed", "policy.applied", "policy.declined"),
    "agent.flooded",
    *("check.changed", "check.answered"),
)

#: A report of a call that ran with a different input than the approved one.
OTHER_INPUT = "tool.other_input"

#: A call that the lists of its key have denied.
DENIED = "tool.denied"

#: The events with what a call did.
RESULTS = ("tool.result", OTHER_INPUT)

#: The events that `record_once` records: every entry of them has a dedup key, and no other entry has one.
ONCE = (*RESULTS, DENIED)

#: The events that end a request, whose data has a verdict.
VERDICTS = ("request.decided", "request.cancelled", "request.expired")
