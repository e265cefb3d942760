"""Why a grant that goes on would not be used for a call like the one it was given with, in words for people.

Such a grant has not ended: scopes, the control of its tool and its settings can change back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, Grant, ToolSettings
from approvals.queries.preferences import settings_of_tools
from approvals.states import Control, Priority, Width
from approvals.text.confusables import marked_name


def why_unusable(grants: Sequence[Grant]) -> Mapping[UUID, str]:
    """Return why grants would not be used now, by their id; those that would, and those that have ended, are missing.

    A constant number of statements, none if all have ended.
    """
    live = [grant for grant in grants if grant.ended_at is None]
    if not live:
        return {}
    settings = settings_of_tools({grant.tool_name for grant in live})
    requests = ApprovalRequest.objects.select_related("workflow").only(
        "kind",
        "priority",
        "requested_by",
        "assigned_to",
        "scope_set",
        "amount",
        "control",
        "key_made_by_id",
        "workflow__owner",
    )
    given_with = requests.in_bulk({grant.request_id for grant in live})
    givers = {user.pk: user for user in User.objects.filter(pk__in=any_of({grant.given_by_id for grant in live}, int))}
    permissions.load_permissions(list(givers.values()))
    reasons = {}
    for grant in live:
        reason = _reason(
            grant,
            settings.get(grant.tool_name) or ToolSettings(),
            givers.get(grant.given_by_id),
            given_with.get(grant.request_id),
        )
        if reason:
            reasons[grant.pk] = reason
    return reasons


def _reason(grant: Grant, settings: ToolSettings, giver: User | None, request: ApprovalRequest | None) -> str:
    if settings.min_priority == Priority.CRITICAL:
        return _("Not used now: requests of this tool are critical, so a person decides each one.")
    if grant.width == Width.FIELDS and sorted(set(settings.key_fields)) != grant.fields:
        return _("Not used now: an administrator has changed the key fields of this tool.")
    if giver is None or request is None:
        # The sweep ends a grant without its giver.
        return ""
    values = {"name": marked_name(grant.given_by_name)}
    # A call of now, which is under the control that the tool has now.
    call = copy(request)
    call.control = settings.control or None
    if permissions.may_decide(giver, call):
        return ""
    if call.control == Control.FOUR_EYES and permissions.is_interested(giver, call):
        return _("Not used now: this tool needs four eyes, and %(name)s runs the agent.") % values
    return _("Not used now: %(name)s may not decide calls like the one it was given with.") % values
