"""What is known of a request for a grant that is given with it: among others, how the same call would be asked now."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Now
from django.utils import timezone

from approvals.access import permissions
from approvals.access.keys import KEY_SCOPE
from approvals.access.standing import Standing
from approvals.asking.asks import most_urgent
from approvals.models import ApprovalRequest, ToolSettings, Workflow
from approvals.policy.grants import Bar, Case, Limits, bar_of
from approvals.policy.rules import Policy, Requester, Verdict, evaluate
from approvals.policy.terms import NO_TERMS, Terms, terms_of
from approvals.queries.policy.ruling import live_rules, requester_of, rule_facts
from approvals.queries.preferences import settings_of_tools
from approvals.record.amounts import amount_under
from approvals.states import CLIENT, PROGRAMS, Control, Width


@dataclass(frozen=True, slots=True)
class AskedNow:
    """A call as it would be asked now.

    `call` is its request with the priority, the control and the amount of today, and `verdict` what the live policy says.
    """

    call: ApprovalRequest
    verdict: Verdict

    @property
    def rule(self) -> str:
        """The name of the rule; empty if none matches."""
        return "" if self.verdict.rule is None else self.verdict.rule.name

    def bar(self, giver: Standing, terms: Terms = NO_TERMS) -> Bar | None:
        """Return why a grant of this person would not approve the call; None if it would.

        `terms` are those of the request that it is given with, as long as that waits.
        """
        call = self.call
        bar = bar_of(call.kind, call.priority, call.tool_name, verdict=self.verdict, terms=terms)
        if bar is not None or permissions.may_decide(giver, call):
            return bar
        runs = call.control == Control.FOUR_EYES and permissions.is_interested(giver, call)
        return Bar.FOUR_EYES if runs else Bar.NO_RIGHT


def bar_of_waiting(request: ApprovalRequest) -> Bar | None:
    """Return why no grant approves a request that waits, as far as the request itself says; None if one can."""
    return bar_of(request.kind, request.priority, request.tool_name, terms=terms_of(request.terms))


def asked_now(
    request: ApprovalRequest, settings: ToolSettings, rules: Policy, who: Callable[[], Requester] | None = None
) -> AskedNow:
    """Return a call as it would be asked now, under these settings of its tool and these rules. `who` reads the requester."""
    asked_with = most_urgent(request.asked_priority or request.priority, settings.min_priority)
    facts = rule_facts(
        agent=request.agent,
        tool=request.tool_name,
        kind=request.kind,
        source=request.workflow.source,
        requester=request.requested_by_id,
        priority=asked_with,
        value=request.input,
        context=request.context,
        at=timezone.now(),
        who=who or (lambda: requester_of(request.requested_by)),
        has_files=bool(request.attachments),
    )
    verdict = evaluate(rules, facts)
    call = copy(request)
    call.priority = most_urgent(asked_with, verdict.asking.priority)
    call.control = verdict.control_with(settings.control)
    call.amount_pointer, call.amount = amount_under(verdict.askings, request.input, settings.key_fields)
    return AskedNow(call, verdict)


def case_of(request: ApprovalRequest, workflow: Workflow, giver: Standing, rules: Policy | None = None) -> Case:
    """Return what has to be known of a request for a grant that this person gives; `rules` are the live ones, if they were read.

    Two statements, or one if the rules were read; one more if a rule has a condition about who asks.
    """
    settings = settings_of(request.tool_name)
    now = asked_now(request, settings, live_rules() if rules is None else rules)
    # A workflow of one request ends with it: that of an MCP client, and one that no client has named.
    lasting = workflow.source not in PROGRAMS or (workflow.source == CLIENT and workflow.key != str(request.pk))
    return Case(
        kind=request.kind,
        priority=request.priority,
        tool=request.tool_name,
        input=request.input,
        key_fields=settings.key_fields,
        has_files=bool(request.attachments),
        agent=request.agent,
        by_key=request.scope.startswith(KEY_SCOPE),
        lasting=lasting,
        thread=workflow.thread_id,
        limits=limits_of(settings),
        bar=now.bar(giver, terms_of(request.terms)),
        rule=now.rule,
    )


def settings_of(tool: str) -> ToolSettings:
    """Return the settings of a tool; the defaults if it has none."""
    return settings_of_tools([tool]).get(tool) or ToolSettings()


def limits_of(settings: ToolSettings) -> Limits:
    """Return the limits of grants that the settings of a tool choose."""
    return Limits(
        seconds=settings.grant_seconds,
        uses=settings.grant_uses,
        width=None if settings.grant_width is None else Width(settings.grant_width),
        never=settings.no_grants,
    )


def database_time(request: ApprovalRequest) -> datetime:
    """Return the time of the database, by which grants end."""
    now: datetime = ApprovalRequest.objects.filter(pk=request.pk).values_list(Now(), flat=True).get()
    return now
