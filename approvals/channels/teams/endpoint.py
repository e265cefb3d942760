"""The address to which Teams posts activities. A token of Microsoft is the only way in."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt

from approvals.access.rate_limits import TooMany, client_address, count_wrong_key
from approvals.channels.bodies import raw_body
from approvals.channels.teams.activities import ForeignActivity, MalformedActivity
from approvals.channels.teams.receive import receive
from approvals.db.canonical_json import NotCanonical, parse
from approvals.exceptions import WrongMethod
from approvals.http import problem, refusal_page
from approvals.models import ChannelConnection

MAX_BYTES = 1_000_000
#: The refusals, in words and as a code.
REFUSALS = {
    400: (_("This is not an activity of Microsoft Teams."), "bad_body"),
    401: (_("The token is not one of Microsoft for this bot."), "wrong_token"),
    403: (
        _("This is for another bot, or from another tenant, than the connected one."),
        "other_app",
    ),
    404: (_("Microsoft Teams is not connected."), "not_connected"),
    413: (_("The body is larger than 1 MB."), "too_large"),
}


@csrf_exempt
@login_not_required
def messages(request: HttpRequest) -> HttpResponse:
    """Take an activity: a click is answered with its outcome, any other with nothing."""
    if request.method != "POST":
        return refusal_page(request, WrongMethod("POST"))
    connections = ChannelConnection.objects.filter(kind=ChannelConnection.Kind.TEAMS)
    connection = connections.first()
    if connection is None:
        return _refused(request, 404)
    body = raw_body(request, MAX_BYTES)
    if body is None:
        return _refused(request, 413)
    activity = _activity(body)
    if not _is_from_teams(request, connection, activity):
        try:
            count_wrong_key(client_address(request))
        except TooMany as refusal:
            return refusal_page(request, refusal)
        return _refused(request, 401)
    try:
        return JsonResponse(receive(connection, activity))
    except MalformedActivity:
        return _refused(request, 400)
    except ForeignActivity:
        return _refused(request, 403)


def _activity(body: bytes) -> Mapping[str, object]:
    """Return the activity in a body; empty if it holds none."""
    try:
        activity = parse(body.decode())
    except (ValueError, NotCanonical):
        return {}
    return activity if isinstance(activity, Mapping) else {}


def _is_from_teams(
    request: HttpRequest,
    connection: ChannelConnection,
    activity: Mapping[str, object],
) -> bool:
    from approvals.channels.teams import tokens  # noqa: PLC0415 - loaded late

    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    bears = scheme.lower() == "bearer" and bool(token)
    return bears and tokens.is_from_teams(connection, token, activity)


def _refused(request: HttpRequest, status: int) -> HttpResponse:
    words, code = REFUSALS[status]
    return problem(request, HTTPStatus(status), str(words), code)
