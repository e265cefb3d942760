"""The events of the audit log."""

from __future__ import annotations

#: All event names of the log.
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
    "login.break_glass",
    "login.new_address",
    "password.changed",
    "password.reset",
    *("factor.added", "factor.removed"),
    "person.created",
    "person.invited",
    "invitation.accepted",
    "person.changed",
    *("change.waiting", "change.alone"),
    "team.changed",
    "group.changed",
    "sign_in.changed",
    "token_issuer.changed",
    *("absence.set", "absence.ended"),
    *("duty.set", "duty.unreadable", "duty.readable"),
    "admin.changed",
    "webhook.changed",
    "engine.changed",
    *("callback.not_taken", "callback.unknown", "callback.settled"),
    "rule.changed",
    *("channel.changed", "account.linked", "account.unlinked"),
    *("scope.created", "scope.changed", "scope.deleted"),
    "tool.changed",
    "priority.changed",
    *(
        "grant.given",
        "grant.used",
        "grant.revoked",
        "grant.ended",
        "grant.stopped",
        "grant.resumed",
    ),
    *("policy.proposed", "policy.applied", "policy.declined"),
    "agent.flooded",
)

#: A report that a call ran with a different input than the approved one.
OTHER_INPUT = "tool.other_input"

#: A call denied by the tool lists of its key.
DENIED = "tool.denied"

#: Events with the result of a call.
RESULTS = ("tool.result", OTHER_INPUT)

#: Events of `record_once`: only their entries have a dedup key.
ONCE = (*RESULTS, DENIED)

#: The events that end a request, whose data has a verdict.
VERDICTS = ("request.decided", "request.cancelled", "request.expired")
