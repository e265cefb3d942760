"""Explain why an active grant would not be used for a call like the one it was given with.

Such a grant has not ended: scopes, the policy, and the tool's control and settings can change back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from approvals.access.standing import Standing, standings_of
from approvals.models import ApprovalRequest, Grant, ToolSettings
from approvals.policy.grant_bars import Bar
from approvals.policy.rules import Policy, Requester
from approvals.queries.policy.grants.grant_case import asked_now
from approvals.queries.policy.rules.facts import reader_of_requesters
from approvals.queries.policy.rules.policy_versions import live_rules
from approvals.queries.preferences import settings_of_tools
from approvals.states import Width
from approvals.text.names import marked_name
from approvals.text.translatable import Sentence, gettext_noop
from approvals.text.translation import translated

_FIELDS_CHANGED = Sentence(
    gettext_noop(
        "Not used now: an administrator has changed the key fields of this tool."
    )
)
_UNUSED: Mapping[Bar, Sentence] = {
    Bar.KIND: Sentence(gettext_noop("Not used now: each such request needs a person.")),
    Bar.CRITICAL: Sentence(
        gettext_noop(
            "Not used now: requests of this tool are critical, so each one needs a person."
        )
    ),
    Bar.NO_TOOL: Sentence(
        gettext_noop("Not used now: each such request needs a person.")
    ),
    Bar.DENIED: Sentence(
        gettext_noop("Not used now: the policy rule “%(rule)s” denies such calls.")
    ),
    Bar.ALLOWED: Sentence(
        gettext_noop(
            "Not used now: the policy rule “%(rule)s” allows such calls without a grant."
        )
    ),
    Bar.FILES: Sentence(
        gettext_noop(
            "Not used now: the policy rule “%(rule)s” asks people about each call with files."
        )
    ),
    Bar.UNCERTAIN: Sentence(
        gettext_noop(
            "Not used now: it is not certain which policy rule matches such calls, so people decide each one."
        )
    ),
    Bar.STOPPED: Sentence(gettext_noop("Not used now: “Ask about everything” is on.")),
    Bar.PEOPLE: Sentence(
        gettext_noop(
            "Not used now: the policy rule “%(rule)s” sets how people decide such calls."
        )
    ),
    Bar.FOUR_EYES: Sentence(
        gettext_noop(
            "Not used now: the two-person rule applies to such calls, and %(name)s is the requester."
        )
    ),
    Bar.NO_RIGHT: Sentence(
        gettext_noop(
            "Not used now: %(name)s may not decide calls like the one it was given with."
        )
    ),
}


def why_unusable(grants: Sequence[Grant]) -> Mapping[UUID, str]:
    """Return why grants would not be used now, by their id; usable and ended ones are missing.

    A constant number of statements, none if all have ended.
    """
    live = [grant for grant in grants if grant.ended_at is None]
    if not live:
        return {}
    settings = settings_of_tools({grant.tool_name for grant in live})
    rules = live_rules()
    who = reader_of_requesters({grant.requested_by_id for grant in live})
    requests = ApprovalRequest.objects.select_related("workflow").only(
        "kind",
        "priority",
        "asked_priority",
        "tool_name",
        "agent",
        "input",
        "context",
        "attachments",
        "requested_by",
        "on_behalf_of",
        "assigned_to",
        "scope_set",
        "amount",
        "control",
        "key_made_by_id",
        "workflow__owner",
        "workflow__source",
    )
    given_with = requests.in_bulk({grant.request_id for grant in live})
    givers = standings_of({grant.given_by_id for grant in live})
    reasons = {}
    for grant in live:
        giver = givers.get(grant.given_by_id)
        request = given_with.get(grant.request_id)
        # The sweep ends a grant without its giver.
        if giver is None or request is None:
            continue
        reason = _reason(
            grant,
            settings.get(grant.tool_name) or ToolSettings(),
            giver,
            request,
            rules,
            who,
        )
        if reason is not None:
            reasons[grant.pk] = translated(reason)
    return reasons


def _reason(
    grant: Grant,
    settings: ToolSettings,
    giver: Standing,
    request: ApprovalRequest,
    rules: Policy,
    who: Callable[[int], Requester],
) -> Sentence | None:
    now = asked_now(request, settings, rules, lambda: who(request.requested_by_id))
    bar = now.bar(giver)
    if (
        bar is None
        and grant.width == Width.FIELDS
        and sorted(set(settings.key_fields)) != grant.fields
    ):
        return _FIELDS_CHANGED
    if bar is None:
        return None
    return replace(
        _UNUSED[bar],
        values={"rule": now.rule, "name": marked_name(grant.given_by_name)},
    )
