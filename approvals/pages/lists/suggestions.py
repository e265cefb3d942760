"""Suggestions for person and tool fields, as JSON for `static/pausepoint/combobox.js`."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals.access import permissions
from approvals.exceptions import Invalid, NotFound
from approvals.http import SignedIn, refusals_as_pages
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.queries.suggestions import people_with, tools_with

KINDS = {"people": people_with, "tools": tools_with}


@require_GET
@refusals_as_pages
def suggested(request: SignedIn, kind: str) -> HttpResponse:
    """Return `{"values": [...]}`: names that contain `q`, for people who may list them."""
    standing = request.standing
    text = request.GET.get("q", "").strip()
    if (
        not (permissions.reads_record(standing) or permissions.may_administer(standing))
        or kind not in KINDS
    ):
        raise NotFound(
            _("Page not found. It may not exist, or you may not have access.")
        )
    if len(text) > MAX_ACTOR_NAME or "\x00" in text:
        raise Invalid(
            _("Search for at most %(most)d characters.") % {"most": MAX_ACTOR_NAME}
        )
    return JsonResponse({"values": KINDS[kind](text)})
