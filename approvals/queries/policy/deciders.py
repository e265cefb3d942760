"""Whether anyone may decide a request, said at once to who asks for it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.models import ApprovalRequest
from approvals.states import ASKS, Control


def warnings_of(request: ApprovalRequest) -> list[str]:
    """Return a sentence if no one, or no one but superusers, may decide a waiting request; read only if that is possible."""
    is_limited = request.scoped_upto is not None or request.control == Control.FOUR_EYES
    if not request.pending or request.kind in ASKS or not is_limited:
        return []
    # False comes first, so this is True only if there is no one else.
    only_superusers = (
        permissions.deciders_of(request).order_by("is_superuser").values_list("is_superuser", flat=True).first()
    )
    if only_superusers is False:
        return []
    problem = _("Only superusers may decide this request.") if only_superusers else _("No one may decide this request.")
    advice = _("Ask an administrator to check the approver scopes, and who decides for this tool.")
    return [f"{problem} {advice}"]
