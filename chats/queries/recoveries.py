"""Recoveries: requests about calls whose outcome is unknown."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from approvals.models import ApprovalRequest
from approvals.states import Kind
from chats.models import Chat, ToolCall


def recoveries_of(chat: Chat, calls: QuerySet[ToolCall]) -> QuerySet[ApprovalRequest]:
    """Return all recoveries of these calls of a chat, unordered; a call itself refers only to its latest.

    For a branch, includes those that were decided in the original chat before the branch.
    """
    recovered = calls.filter(recovery__isnull=False)
    before = Q(scope__in=recovered.values("recovery__scope")) | Q(
        scope__in=recovered.values("approval__scope")
    )
    return ApprovalRequest.objects.filter(
        Q(scope=chat.scope) | before & Q(decision__decided_at__lt=chat.created_at),
        kind=Kind.RECOVERY,
        tool_call_id__in=recovered.values("tool_call_id"),
    )
