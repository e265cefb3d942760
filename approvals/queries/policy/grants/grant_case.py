"""The facts about a request for a grant given with it, such as how the same call would be asked now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.db.models.functions import Now
from django.utils import timezone

from approvals.access import permissions
from approvals.access.callers import KEY_SCOPE
from approvals.access.standing import Standing
from approvals.asking.asks import most_urgent
from approvals.models import ApprovalRequest, ToolSettings, Workflow
from approvals.policy.grant_bars import Bar, bar_of
from approvals.policy.grants import GrantCase, GrantLimits
from approvals.policy.rules import Policy, PolicyVerdict, Requester, evaluate
from approvals.policy.terms import NO_TERMS, Terms, terms_of
from approvals.queries.policy.rules.facts import requester_of, rule_facts
from approvals.queries.policy.rules.policy_versions import live_rules
from approvals.queries.preferences import settings_of_tools
from approvals.record.amounts import amount_under
from approvals.states import CLIENT, PROGRAMS, Control, Width


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNow:
    """The part of a call that grants depend on, with the current priority, control and amount."""

    kind: str
    tool_name: str
    priority: str
    control: str | None
    amount: float | None
    scope_set_id: int | None
    runners: frozenset[int]
    interested: frozenset[int]


@dataclass(frozen=True, slots=True)
class AskedNow:
    """A call as it would be asked now, and what the live policy says of it."""

    call: CallNow
    verdict: PolicyVerdict

    @property
    def rule(self) -> str:
        """The name of the rule; empty if none matches."""
        return "" if self.verdict.rule is None else self.verdict.rule.name

    def bar(self, giver: Standing, terms: Terms = NO_TERMS) -> Bar | None:
        """Return why a grant of this person would not approve the call; None if it would.

        `terms` are those of the request that it is given with, while that is pending.
        """
        call = self.call
        bar = bar_of(
            call.kind, call.priority, call.tool_name, verdict=self.verdict, terms=terms
        )
        if bar is not None or permissions.may_decide(giver, call):
            return bar
        runs = call.control == Control.FOUR_EYES and permissions.is_interested(
            giver, call
        )
        return Bar.FOUR_EYES if runs else Bar.NO_RIGHT


class _Waiting(Protocol):
    """The part of a waiting request that says whether a grant could approve it."""

    @property
    def kind(self) -> str: ...

    @property
    def priority(self) -> str: ...

    @property
    def tool_name(self) -> str: ...

    @property
    def terms(self) -> Any: ...


def bar_of_waiting(request: _Waiting) -> Bar | None:
    """Return why no grant can approve a waiting request, judged by the request alone; None if one can."""
    return bar_of(
        request.kind, request.priority, request.tool_name, terms=terms_of(request.terms)
    )


def asked_now(
    request: ApprovalRequest,
    settings: ToolSettings,
    rules: Policy,
    who: Callable[[], Requester] | None = None,
) -> AskedNow:
    """Return a call as it would be asked now, under these tool settings and rules. The requester comes from `who`."""
    asked_with = most_urgent(
        request.asked_priority or request.priority, settings.min_priority
    )
    facts = rule_facts(
        agent=request.agent,
        tool=request.tool_name,
        kind=request.kind,
        source=request.workflow.source,
        requester=request.requested_by_id,
        on_behalf_of=request.on_behalf_of,
        priority=asked_with,
        value=request.input,
        context=request.context,
        at=timezone.now(),
        who=who or (lambda: requester_of(request.requested_by)),
        has_files=bool(request.attachments),
    )
    verdict = evaluate(rules, facts)
    _pointer, amount = amount_under(verdict.askings, request.input, settings.key_fields)
    call = CallNow(
        kind=request.kind,
        tool_name=request.tool_name,
        priority=most_urgent(asked_with, verdict.asking.priority),
        control=verdict.control_with(settings.control),
        amount=amount,
        scope_set_id=request.scope_set_id,
        runners=request.runners,
        interested=request.interested,
    )
    return AskedNow(call, verdict)


def case_of(
    request: ApprovalRequest,
    workflow: Workflow,
    giver: Standing,
    rules: Policy | None = None,
) -> GrantCase:
    """Return the facts about a request for a grant by this person; `rules` are the live ones, if already read.

    Two statements, or one if the rules were read; one more if a rule has a condition about the requester.
    """
    settings = settings_of(request.tool_name)
    now = asked_now(request, settings, live_rules() if rules is None else rules)
    # A workflow of one request ends with it: that of an MCP client, and one that no client has named.
    lasting = workflow.source not in PROGRAMS or (
        workflow.source == CLIENT and workflow.key != str(request.pk)
    )
    return GrantCase(
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


def limits_of(settings: ToolSettings) -> GrantLimits:
    """Return the limits of grants in a tool's settings."""
    return GrantLimits(
        seconds=settings.grant_seconds,
        uses=settings.grant_uses,
        width=None if settings.grant_width is None else Width(settings.grant_width),
        never=settings.no_grants,
    )


def database_time(request: ApprovalRequest) -> datetime:
    """Return the time of the database, by which grants end."""
    now: datetime = (
        ApprovalRequest.objects.filter(pk=request.pk)
        .values_list(Now(), flat=True)
        .get()
    )
    return now
