"""The page of SCIM: its address and keys, the groups of the provider, and the last refused changes."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from approvals.administration.guards import administrators_only
from approvals.administration.scim import queries
from approvals.http import SignedIn
from approvals.models.keys import WARNINGS


@administrators_only
@require_safe
def scim(request: SignedIn) -> HttpResponse:
    """What administrators see of SCIM."""
    now = timezone.now()
    context = {
        "here": "scim",
        "address": f"{settings.PUBLIC_URL}/scim/v2",
        "keys": queries.scim_keys(),
        "now": now,
        "soon": now + max(WARNINGS),
        "counts": queries.counts(),
        "groups": queries.groups_with_effects(),
        "refusals": queries.refusals(),
    }
    return render(request, "approvals/administration/scim/scim.html", context)
