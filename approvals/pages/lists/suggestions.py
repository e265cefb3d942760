"""Suggestions for person and tool fields, and completed searches, as JSON for `static/pausepoint/combobox.js`."""

from __future__ import annotations

from collections import Counter

from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.asking.secrets import masked_input
from approvals.exceptions import Invalid, NotFound
from approvals.http import SignedIn, refusals_as_pages
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.pages.key_fields import read_beginning
from approvals.queries.filters import ANY, Filters
from approvals.queries.request_list import page_of
from approvals.queries.search_words import FACTS, FIELD, MAX_PAIRED, texts_in
from approvals.queries.suggestions import people_with, tools_with

KINDS = {"people": people_with, "tools": tools_with}
#: How many completed searches are suggested.
MAX_COMPLETED = 8


@require_GET
@refusals_as_pages
def suggested(request: SignedIn, kind: str) -> HttpResponse:
    """Return `{"values": [...]}`: names that contain `q`, for people who may list them, or completed searches."""
    standing = request.standing
    text = request.GET.get("q", "")
    if len(text) > MAX_ACTOR_NAME or "\x00" in text:
        raise Invalid(
            _("Search for at most %(most)d characters.") % {"most": MAX_ACTOR_NAME}
        )
    if kind == "searches":
        return JsonResponse({"values": _completed(standing, text)})
    if (
        not (permissions.reads_record(standing) or permissions.may_administer(standing))
        or kind not in KINDS
    ):
        raise NotFound(
            _("Page not found. It may not exist, or you may not have access.")
        )
    return JsonResponse({"values": KINDS[kind](text.strip())})


def _completed(viewer: Standing, text: str) -> list[str]:
    """Return searches that complete the last term, by the fields and values of the first requests that the person sees."""
    begin, space, term = text.rpartition(" ")
    counted = Counter[str]()
    for filters in (Filters(), Filters(status=ANY)) if term else ():
        for request in page_of(viewer, filters)[0]:
            shown = masked_input(request, read_beginning(request.gist))
            facts = [("tool", request.tool_name), ("agent", request.agent)]
            for names, value in (*facts, *texts_in(shown)):
                # Values have the name of the outer field, too.
                name = names.rpartition(" ")[2]
                own = name in FACTS and " " in names
                if own or not (FIELD.fullmatch(name) and 0 < len(value) <= MAX_PAIRED):
                    continue
                quoted = f'"{value}"' if " " in value else value
                counted.update([f"{name}:", f"{name}:{quoted}"])
    matching = [
        f"{begin}{space}{each}"
        for each in ("amount>", *dict(counted.most_common()))
        if term
        and each.casefold().startswith(term.casefold())
        and (":" in term or each.endswith((":", ">")))
    ]
    return [each for each in matching if each != text][:MAX_COMPLETED]
