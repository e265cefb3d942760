"""What the policy says about a request that is about to be stored, and what becomes of the request by it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from approvals.asking.answers import ABSENT, Answer
from approvals.asking.asks import Ask, most_urgent
from approvals.db.canonical_json import utc
from approvals.models import Workflow
from approvals.policy.asks import AtDeadline
from approvals.policy.rules import Then, Verdict, evaluate
from approvals.queries.policy.repeats import Rejection, earlier_rejection
from approvals.queries.policy.ruling import amount_under, requester_of, rule_facts, rules_of
from approvals.queries.preferences import AskingRules
from approvals.states import ASKS, Kind, Priority
from approvals.states import Verdict as Decided

#: The comment of a call that a rule denies without a message of its own.
DENIED = "The rule “{name}” of the policy denies this."

#: The comment of a call that was rejected before.
REPEATED = "{name} rejected the same call on {at}{comment}"

#: What no policy says.
UNRULED = Verdict()


def judge(rules: AskingRules, ask: Ask, workflow: Workflow, *, by: User, now: datetime) -> Verdict:
    """Return what the live policy says about a request."""
    if rules.policy_version is None:
        return UNRULED
    facts = rule_facts(
        agent=workflow.agent,
        tool=ask.tool_name,
        kind=ask.kind,
        source=workflow.source,
        requester=by.pk,
        priority=ask.priority,
        value=ask.input,
        context=ask.context,
        at=now,
        who=lambda: requester_of(by),
        has_files=bool(ask.attachments),
        # As for grants: while everything is to be asked, and after the deadline, nothing is allowed.
        may_allow=not rules.asks_always and (ask.deadline_at is None or ask.deadline_at > now),
    )
    return evaluate(rules_of(rules.policy_version, rules.policy_digest), facts)


def answer_of(verdict: Verdict) -> Answer | None:
    """Return the decision that a rule makes; None if people are asked."""
    if verdict.then == Then.ASK or verdict.rule is None:
        return None
    if verdict.then == Then.ALLOW:
        return Answer(Decided.APPROVE)
    return Answer(Decided.REJECT, comment=verdict.rule.message or DENIED.format(name=verdict.rule.name))


def rejected_before(
    verdict: Verdict,
    rules: AskingRules,
    ask: Ask,
    workflow: Workflow,
    fingerprints: Sequence[str],
    *,
    by: User,
    now: datetime,
) -> Rejection | None:
    """Return the earlier rejection that answers a request too, if the policy says so; None if people are to be asked.

    Not while the user who asks has a grant for the tool: someone may have changed their mind.
    """
    if verdict.then != Then.ASK or ask.kind != Kind.APPROVAL or not ask.tool_name or ask.attachments:
        return None
    if rules.policy_version is None or rules.asks_always or rules.granted:
        return None
    if not rules_of(rules.policy_version, rules.policy_digest).repeat_rejections:
        return None
    return earlier_rejection(fingerprints, requester=by.pk, tool=ask.tool_name, agent=workflow.agent, now=now)


def repeated_answer(earlier: Rejection) -> Answer:
    """Return the earlier rejection as the decision on the same call."""
    comment = f": {earlier.comment}" if earlier.comment else "."
    message = REPEATED.format(name=earlier.by_name, at=utc(earlier.at), comment=comment)
    return Answer(Decided.REJECT, comment=message)


def fields_of(verdict: Verdict, rules: AskingRules, ask: Ask, now: datetime) -> dict[str, Any]:
    """Return what the policy and the settings of the tool make of a request, by column."""
    asking = verdict.asking
    pointer, amount = amount_under(verdict, ask.input, rules.key_fields)
    fields: dict[str, Any] = {
        "amount_pointer": pointer,
        "amount": amount,
        "control": (rules.control or None) if ask.kind in ASKS else verdict.control_with(rules.control),
        "terms": asking.terms.document() or None,
        "policy_version": rules.policy_version,
        "rule": verdict.rule.name if verdict.rule is not None else None,
        "other_rules": [rule.name for rule in verdict.others] or None,
        "asked_priority": ask.priority if priority_of(verdict, ask) != ask.priority else None,
    }
    if (deadline := asking.deadline) is not None:
        at = now + timedelta(seconds=deadline.after)
        fields["deadline_at"] = at if ask.deadline_at is None else min(at, ask.deadline_at)
        if deadline.then != AtDeadline.DEFAULT and ask.default is not ABSENT:
            fields |= {"has_default": False, "default_response": None}
    return fields


def priority_of(verdict: Verdict, ask: Ask) -> Priority:
    """Return the priority of a request: a rule can raise it."""
    return most_urgent(ask.priority, verdict.asking.priority)
