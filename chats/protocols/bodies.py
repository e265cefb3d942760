"""What the bodies of all chat clients have in common."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.db.canonical_json import NotCanonical, canonical
from approvals.text.translation import translated

MAX_ID = 200


def text_problem(value: object) -> str:
    """Return what is wrong with an id, or ""."""
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_ID:
        return _("must be text of 1 to %(limit)s characters") % {"limit": MAX_ID}
    try:
        canonical(value)
    except NotCanonical as error:
        return translated(error)
    return ""
