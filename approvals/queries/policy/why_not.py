"""Explain to someone who sees a request why they may not decide it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.rights import DECIDE
from approvals.access.scopes import ChangedInput, NamedScope
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest
from approvals.models.policy.scopes import May
from approvals.policy.documents import match_from
from approvals.policy.input_conditions import MatchReason
from approvals.policy.match import Facts, Match
from approvals.queries.policy.scopes.matching import facts_of
from approvals.states import ASKS, Control
from approvals.text.numbers import grouped
from approvals.text.text import visible
from approvals.text.translation import quoted, translated

#: Maximum number of scopes named as not matching.
NAMED = 3


def why_not(viewer: Standing, request: ApprovalRequest) -> str:
    """Return why this person may not decide or answer a request that they see; empty if they may.

    It reads the scopes that name them, once per call, only for people limited by more than an amount.
    """
    if permissions.may_close(viewer, request):
        return ""
    if (
        request.control == Control.FOUR_EYES
        and request.kind not in ASKS
        and permissions.is_interested(viewer, request)
    ):
        return _(
            "The two-person rule applies to this tool: someone other than the requester must decide."
        )
    if not viewer.is_limited or DECIDE not in viewer.rights:
        return _("You can see this request, but you cannot decide it.")
    reach = viewer.reach
    fitting = (
        {term.scope: term for term in reach.terms.get(request.scope_set_id or 0, ())}
        if reach
        else {}
    )
    limits = [
        term.limit
        for term in fitting.values()
        if term.may == May.DECIDE and term.limit is not None
    ]
    if limits and request.kind not in ASKS:
        return limit_words(max(limits), missing=request.amount is None)
    own = reach.own if reach else ()
    if fitting:
        listed = _quoted([scope for scope in own if scope.pk in fitting])
        return _(
            "Your approver scopes let you see this request, but not decide it: %(names)s."
        ) % {"names": listed}
    if not own:
        return _(
            "You can see this request, but you cannot decide it: no approver scope names you."
        )
    facts = facts_of(request)
    reasons = [
        why_unfit(scope.name, match_from(scope.match), facts) for scope in own[:NAMED]
    ]
    text = _(
        "You can see this request, but you cannot decide it: none of your approver scopes matches it."
    )
    return " ".join([text, *filter(None, reasons)])


def limit_words(limit: float, *, missing: bool) -> str:
    """Return why a person with this limit may not decide, without the amount, which may be hidden."""
    values = {"limit": amount_words(limit)}
    if missing:
        return (
            _(
                "You cannot decide this request: it has no amount, and you decide only up to %(limit)s."
            )
            % values
        )
    return (
        _(
            "You cannot decide this request: its amount is above your limit of %(limit)s."
        )
        % values
    )


def edit_words(viewer: Standing, request: ApprovalRequest, change: ChangedInput) -> str:
    """Return why a person who may decide a request may not do so with a changed input."""
    reach = viewer.reach
    terms = reach.terms.get(request.scope_set_id or 0, ()) if reach else ()
    if not any(
        term.may == May.DECIDE and term.scope in change.scopes for term in terms
    ):
        return _(
            "You cannot approve these changes: none of your approver scopes matches the changed input."
        )
    limits = [
        term.limit
        for term in terms
        if term.may == May.DECIDE and term.limit is not None
    ]
    values = {"limit": amount_words(max(limits, default=0))}
    return (
        _(
            "You cannot approve this amount: it is above your limit of %(limit)s, or missing."
        )
        % values
    )


def why_unfit(name: str, match: Match, facts: Facts) -> str:
    """Return why a scope does not match a request, in words; empty if it does."""
    unfit = [reason for reason in match.reasons(facts) if not reason.fits]
    if not unfit:
        return ""
    return _("“%(name)s” does not match: %(reasons)s.") % {
        "name": visible(name),
        "reasons": "; ".join(map(_part, unfit)),
    }


def _part(reason: MatchReason) -> str:
    if reason.about == "requesters":
        # Ids mean nothing to people.
        return _("it was requested by someone else")
    labels = {
        "tools": _("tool"),
        "agents": _("agent"),
        "servers": _("MCP server"),
        "on_behalf_of": _("on behalf of"),
        "kinds": _("kind"),
        "priorities": _("priority"),
        "sources": _("source"),
    }
    label = labels.get(reason.about)
    sentence = translated(reason.sentence)
    return (
        f"{visible(reason.about)} {sentence}"
        if label is None
        else f"{label}: {sentence}"
    )


def amount_words(amount: float) -> str:
    """Return a limit with the separators of the reader's language."""
    return grouped(Decimal(f"{amount:.10g}"))


def _quoted(named: Sequence[NamedScope]) -> str:
    return ", ".join(quoted(visible(scope.name)) for scope in named[:NAMED])
