"""The models of the product. `approvals.actions` writes their rows."""

from __future__ import annotations

from approvals.models.attachments import RequestAttachment
from approvals.models.attention import Advice, Flood
from approvals.models.audit import AuditEntry
from approvals.models.channels import (
    ChannelAccount,
    ChannelCard,
    ChannelClick,
    ChannelConnection,
    ChannelIssuer,
    ChannelLinkOffer,
)
from approvals.models.comments import RequestComment
from approvals.models.decisions import Decision
from approvals.models.engines import EngineConnection
from approvals.models.keys import ApiKey, TokenIssuer
from approvals.models.outbox import OutboxEvent
from approvals.models.people import (
    BreakGlassAccount,
    GroupMapping,
    Invitation,
    PendingChange,
    PersonSession,
    ProviderSession,
    Role,
    UsedLogOutToken,
)
from approvals.models.policy.absence import Absence, FollowUp, TeamSettings
from approvals.models.policy.grants import AskAlways, Grant
from approvals.models.policy.rules import PolicyVersion, SavedDraft
from approvals.models.policy.scopes import (
    ApproverScope,
    ScopeSet,
    ScopeSetMember,
    ScopeWalk,
)
from approvals.models.policy.votes import Vote, VoteRecount
from approvals.models.preferences import (
    Preferences,
    PrioritySettings,
    SavedView,
    Snooze,
    ToolSettings,
)
from approvals.models.processes import Worker
from approvals.models.push import PushSubscription
from approvals.models.relays import Relay, RelayMessage
from approvals.models.requests import ApprovalRequest, Workflow
from approvals.models.resuming import ResumeState, Resumption
from approvals.models.scim import ScimGroup, ScimPerson, ScimRefusal
from approvals.models.search import SearchText
from approvals.models.subscriptions import EventStream, LastNotice, NotificationRule

__all__ = [
    "Absence",
    "Advice",
    "ApiKey",
    "ApprovalRequest",
    "ApproverScope",
    "AskAlways",
    "AuditEntry",
    "BreakGlassAccount",
    "ChannelAccount",
    "ChannelCard",
    "ChannelClick",
    "ChannelConnection",
    "ChannelIssuer",
    "ChannelLinkOffer",
    "Decision",
    "EngineConnection",
    "EventStream",
    "Flood",
    "FollowUp",
    "Grant",
    "GroupMapping",
    "Invitation",
    "LastNotice",
    "NotificationRule",
    "OutboxEvent",
    "PendingChange",
    "PersonSession",
    "PolicyVersion",
    "Preferences",
    "PrioritySettings",
    "ProviderSession",
    "PushSubscription",
    "Relay",
    "RelayMessage",
    "RequestAttachment",
    "RequestComment",
    "ResumeState",
    "Resumption",
    "Role",
    "SavedDraft",
    "SavedView",
    "ScimGroup",
    "ScimPerson",
    "ScimRefusal",
    "ScopeSet",
    "ScopeSetMember",
    "ScopeWalk",
    "SearchText",
    "Snooze",
    "TeamSettings",
    "TokenIssuer",
    "ToolSettings",
    "UsedLogOutToken",
    "Vote",
    "VoteRecount",
    "Worker",
    "Workflow",
]
