"""The data of the command palette: views, people and requests, as JSON. The pages and actions are in `palette.js`."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals.exceptions import Invalid
from approvals.http import SignedIn, refusals_as_pages
from approvals.queries.filters import Filters
from approvals.queries.lists.saved_views import views_for
from approvals.queries.palette import people_for, requests_found
from approvals.queries.search_words import MAX_SEARCH
from approvals.states import outcome_label
from approvals.text.text import visible


@require_GET
@refusals_as_pages
def palette(request: SignedIn) -> HttpResponse:
    """Return `{"items": [{"label", "hint", "icon", "url"}]}`: views and people, or with `q` the matching requests."""
    q = request.GET.get("q", "").strip()
    home = reverse("approvals:dashboard")
    if len(q) > MAX_SEARCH or "\x00" in q:
        raise Invalid(
            _("Search for at most %(most)d characters.") % {"most": MAX_SEARCH}
        )
    if q:
        items = [
            {
                "label": found_request.title,
                "hint": outcome_label(
                    found_request, getattr(found_request, "decision", None)
                ),
                "icon": "file-text",
                "url": found_request.get_absolute_url(),
            }
            for found_request in requests_found(request.standing, q)
        ]
        return JsonResponse({"items": items})
    items = [
        {
            "label": view.name,
            "hint": _("View"),
            "icon": "list-filter",
            "url": home + view.query,
        }
        for view in views_for(request.user)
    ]
    items += [
        {
            "label": visible(name),
            "hint": _("Requests of this person"),
            "icon": "user",
            "url": home + Filters(person=name, status="any").query,
        }
        for name in people_for(request.user, request.standing)
    ]
    return JsonResponse({"items": items})
