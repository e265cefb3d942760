"""Programs' advice on a request."""

from __future__ import annotations

from collections.abc import Sequence

from approvals.models import Advice, ApprovalRequest


def advice_on(request: ApprovalRequest) -> Sequence[Advice]:
    """Return the advice on a request, oldest first, without a read if it has none."""
    return (
        list(Advice.objects.filter(request_id=request.pk).order_by("id"))
        if request.advised
        else ()
    )
