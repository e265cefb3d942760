"""Template filters of grants: their terms, and a use of one, in words."""

from __future__ import annotations

from django import template

from approvals.models import Grant
from approvals.pages.policy import wording
from approvals.queries.policy.grants import use_words

register = template.Library()

register.filter("use", use_words)


@register.filter
def covers(grant: Grant) -> str:
    """Return what a grant covers."""
    return wording.what(grant.width, map(wording.name_of, grant.fields or ()))


@register.filter
def for_whom(grant: Grant, person: str) -> str:
    """Return for whose calls a grant is; `person` is the user who asks."""
    return wording.for_whom(grant.audience, grant.agent, person)


@register.filter
def how_long(grant: Grant) -> str:
    """Return when a grant ends by itself."""
    return wording.how_long(grant.until, grant.uses)
