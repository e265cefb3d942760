"""Template filters of grants: their terms and uses in words."""

from __future__ import annotations

from django import template

from approvals.models import Grant
from approvals.pages.grants import wording
from approvals.queries.policy.grants.ledger import use_words

register = template.Library()

register.filter("use", use_words)


@register.filter
def covers(grant: Grant) -> str:
    """Describe the calls that a grant covers."""
    return wording.what(grant.width, map(wording.name_of, grant.fields or ()))


@register.filter
def for_whom(grant: Grant, person: str) -> str:
    """Describe the audience of a grant; `person` is the user who asks."""
    return wording.for_whom(grant.audience, grant.agent, person)


@register.filter
def how_long(grant: Grant) -> str:
    """Describe when a grant ends by itself."""
    return wording.how_long(grant.until, grant.uses)
