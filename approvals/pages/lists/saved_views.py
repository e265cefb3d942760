"""Save, delete and count the named views of the inbox."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from approvals.actions.lists.saved_views import delete_view, save_view
from approvals.http import SignedIn, refusals_as_pages
from approvals.models.preferences import ListPage
from approvals.queries import COUNT_LIMIT
from approvals.queries.filters import filters_from
from approvals.queries.lists.saved_views import counts_of, views_for


@require_POST
@refusals_as_pages
def save(request: SignedIn) -> HttpResponse:
    """Store the filters of the page under a name, and show them."""
    sent = request.POST
    query = (
        filters_from(QueryDict(sent.get("query", "").removeprefix("?"))).at(None).query
    )
    save_view(
        request.user,
        ListPage.INBOX,
        name=sent.get("name", ""),
        query=query,
        shared=sent.get("shared") == "1",
    )
    return HttpResponseRedirect(reverse("approvals:dashboard") + query)


@require_POST
@refusals_as_pages
def delete(request: SignedIn, pk: int) -> HttpResponse:
    delete_view(request.user, ListPage.INBOX, pk)
    return HttpResponseRedirect(reverse("approvals:dashboard"))


@require_GET
def counts(request: SignedIn) -> HttpResponse:
    """Return the number beside each view, which the page requests after it is shown."""
    context = {
        "counts": counts_of(request.standing, views_for(request.user)),
        "count_limit": COUNT_LIMIT,
    }
    return render(request, "approvals/inbox/_view_counts.html", context)
