"""The endpoint for secret scanners, which revokes a leaked API key. Its text proves the leak."""

from __future__ import annotations

from http import HTTPMethod, HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy

from approvals.access.rate_limits import client_address, count_wrong_key
from approvals.administration.keys.actions import revoke_leaked_key
from approvals.api.bodies import Body, Text, json_object
from approvals.db.canonical_json import clean_text
from approvals.exceptions import WrongMethod
from approvals.http import refusals_as_pages

MAX_URL = 500


class LeakedKey(Body):
    refusal = gettext_lazy("The report is invalid.")

    token: Text
    #: Where it was found.
    url: Text = ""


@login_not_required
@refusals_as_pages
def leaked_keys(request: HttpRequest) -> HttpResponse:
    """Revoke a key. The response is the same whether or not it exists."""
    if request.method != HTTPMethod.POST:
        raise WrongMethod("POST")
    address = client_address(request)
    count_wrong_key(address)
    report = LeakedKey.read(json_object(request))
    url = clean_text(report.url)[:MAX_URL]
    revoke_leaked_key(report.token.strip(), address=address, url=url)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)
