"""Give and use grants in tests: an agent with a key of Alice asks, Bob approves with terms."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.actions.asking import ask_for_client
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.asking.origins import Origin
from approvals.models import ApprovalRequest, Grant
from approvals.models.actors import Actor
from approvals.policy.grants import GrantTerms
from approvals.states import Audience, Door, Kind, Verdict, Width

REFUND = {"amount": 120, "order": "4711"}


def call(value: dict[str, Any] | None = None, *, tool: str = "refund", **changes: Any) -> Ask:
    """A call that is asked for."""
    fields = {"kind": Kind.APPROVAL, "title": "Refund?", "tool_name": tool, "input": REFUND if value is None else value}
    return Ask(**fields | changes)


def ask(
    by: Actor,
    value: dict[str, Any] | None = None,
    *,
    agent: str = "billing",
    scope: str = "key:1",
    workflow: str = "",
    thread: str = "",
    **changes: Any,
) -> ApprovalRequest:
    """Ask for an approval of a call, as a program does; `changes` are those of `call`."""
    wanted = call(value, **changes)
    origin = Origin(scope=scope, digest="sha256:0", agent=agent, workflow=workflow, thread_id=thread)
    return ask_for_client(wanted, origin, by=by).request


def terms(width: Width = Width.INPUT, audience: Audience = Audience.AGENT, **changes: Any) -> GrantTerms:
    """Terms of ten uses, unless a time or other uses are given."""
    return GrantTerms(width=width, audience=audience, **(changes or {"uses": 10}))


def in_an_hour() -> Any:
    return timezone.now() + timedelta(hours=1)


def approve(request: ApprovalRequest, by: Actor, terms: GrantTerms | None = None, **said: Any) -> actions.Outcome:
    answer = Answer(Verdict.APPROVE, grant=terms, **said)
    return actions.decide(request.pk, answer, by=by, via=Door.DASHBOARD)


def give(by: User, asker: User, terms: GrantTerms, value: dict[str, Any] | None = None, **asked: Any) -> Grant:
    """Give a grant, with the approval of a request that was asked for it."""
    approve(ask(asker, value, **asked), by, terms)
    return Grant.objects.latest("given_at")


def statuses(requests: list[ApprovalRequest]) -> list[str]:
    return [ApprovalRequest.objects.get(pk=request.pk).status for request in requests]
