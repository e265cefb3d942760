"""The page of Microsoft Teams: its set-up for administrators."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.administration.changes.views import say_saved
from approvals.administration.channels import actions
from approvals.administration.forms import form_page, sent
from approvals.administration.guards import administrators_only
from approvals.channels.pages import post_test_card, setup_context
from approvals.channels.teams import manifest
from approvals.channels.teams.connector import TeamsError, access_token
from approvals.channels.teams.forms import BotForm, ChannelLinkForm
from approvals.channels.teams.issuers import issuers_of
from approvals.channels.teams.states import state_of, words_of
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import ChannelConnection

TEAMS = ChannelConnection.Kind.TEAMS


@sensitive_post_parameters("client_secret")
@administrators_only
@require_safe_or_POST
def setup(request: SignedIn) -> HttpResponse:
    """The steps in Azure, the form of the connection, and its state."""
    form = BotForm(sent(request))
    if not form.is_valid():
        return _page(request, form=form)
    fields = form.cleaned_data
    tenant, app_id = fields["tenant"], fields["app_id"]
    try:
        access_token(tenant, app_id, fields["client_secret"])
    except TeamsError as error:
        form.add_error("client_secret", words_of(error.code))
        return _page(request, form=form)
    stored = {
        "kind": TEAMS.value,
        "app_id": app_id,
        "team_id": tenant,
        "team_name": tenant,
        "bot_id": f"28:{app_id}",
        "secret": encrypted(ChannelSecrets(client_secret=fields["client_secret"])),
        "issuers": issuers_of(tenant),
    }
    waits = actions.connect(stored, by=request.user)
    saved = _("Microsoft Teams is connected. Download the app package.")
    say_saved(request, waits=waits is not None, saved=saved)
    return redirect("teams:setup")


@administrators_only
@require_safe
def package(request: SignedIn) -> HttpResponse:
    """The app package that is uploaded in Teams."""
    connection = get_object_or_404(ChannelConnection, kind=TEAMS)
    content = manifest.package(connection.app_id)
    response = HttpResponse(content, content_type="application/zip")
    response.headers["Content-Disposition"] = 'attachment; filename="pausepoint.zip"'
    return response


@administrators_only
@require_POST
def send_test(request: SignedIn) -> HttpResponse:
    form = ChannelLinkForm(request.POST)
    return post_test_card(request, TEAMS, form, lambda: _page(request, test=form))


def _page(
    request: SignedIn,
    *,
    form: BotForm | None = None,
    test: ChannelLinkForm | None = None,
) -> HttpResponse:
    form = form or BotForm()
    context = setup_context(TEAMS, request.user)
    connection = context["connection"]
    context |= {
        "state": state_of(connection) if connection else "",
        "form": test if test is not None and test.errors else form,
        "connection_form": form,
        "test_form": test or ChannelLinkForm(),
        "endpoint": settings.PUBLIC_URL + reverse("teams:messages"),
    }
    return form_page(request, "channels/teams.html", context)
