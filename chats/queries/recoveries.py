"""Recoveries: what people were asked when nobody knew whether a call had happened."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from approvals.models import ApprovalRequest
from approvals.states import Kind
from chats.models import Chat, ToolCall


def doubts_of(chat: Chat, calls: QuerySet[ToolCall]) -> QuerySet[ApprovalRequest]:
    """Every recovery of these calls of a chat's, in no order. A call knows its latest only; it may have had several.

    Of a branch's calls those too that were over, in the chat that it goes on from, before it began.
    """
    doubted = calls.filter(recovery__isnull=False)
    before = Q(scope__in=doubted.values("recovery__scope")) | Q(scope__in=doubted.values("approval__scope"))
    return ApprovalRequest.objects.filter(
        Q(scope=chat.scope) | before & Q(decision__decided_at__lt=chat.created_at),
        kind=Kind.RECOVERY,
        tool_call_id__in=doubted.values("tool_call_id"),
    )
