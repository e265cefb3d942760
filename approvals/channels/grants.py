"""The terms of a grant, as a dialog carries them and a click stores them."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils.translation import gettext as _

from approvals.actions.policy.grants.events import WIDTH_OF, WIDTHS
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict, JsonMapping
from approvals.policy.grants import GrantTerms
from approvals.states import Audience


def stored_terms(terms: GrantTerms) -> JsonDict:
    return {
        "covers": WIDTHS[terms.width],
        "audience": terms.audience.value,
        "until": terms.until.isoformat() if terms.until else None,
        "uses": terms.uses,
        "reason": terms.reason,
    }


def terms_from(stored: JsonMapping) -> GrantTerms:
    """Return the terms in `stored_terms`; whether they are possible is checked with the decision. Raise Invalid."""
    try:
        until = stored["until"]
        uses = stored["uses"]
        reason = stored["reason"]
        if not (uses is None or type(uses) is int) or not isinstance(reason, str):
            raise ValueError
        return GrantTerms(
            width=WIDTH_OF[stored["covers"]],
            audience=Audience(stored["audience"]),
            until=None
            if until is None
            else datetime.fromisoformat(until).astimezone(UTC),
            uses=uses,
            reason=reason,
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Invalid(_("The grant is invalid.")) from error
